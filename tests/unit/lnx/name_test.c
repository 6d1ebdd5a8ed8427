/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include <netinet/in.h>
#include <rdma/fabric.h>

#include "providers/lnx/name.h"

/* Addresses, which come from peers. */

static const uint8_t some[64] = { 1, 2, 3 };

static struct lnx_name_link link_of(uint16_t provider, uint64_t locality, uint16_t len)
{
	return (struct lnx_name_link){ .provider = provider,
		.format = FI_ADDR_STR,
		.len = len,
		.locality = locality,
		.addr = some };
}

static void what_is_packed_comes_out(void **state)
{
	struct lnx_name name = { 2,
		{ link_of(1, 0x112233445566, 5), link_of(2, 3, 40) } };
	uint8_t packed[LNX_NAME_LEN];
	struct lnx_name out;

	assert_true(lnx_name_pack(&name, packed));
	assert_true(lnx_name_unpack(packed, &out));
	assert_int_equal(out.count, 2);
	assert_int_equal(out.link[0].provider, 1);
	assert_true(out.link[0].locality == 0x112233445566);
	/* Text is padded. */
	assert_int_equal(out.link[0].len, 32);
	assert_int_equal(out.link[0].format, FI_ADDR_STR);
	assert_memory_equal(out.link[0].addr, some, 5);
	assert_int_equal(out.link[1].len, 40);
	assert_memory_equal(out.link[1].addr, some, 40);
}

/* Names that shm gives itself are short: some applications have 64 bytes for three
 * links. */
static void numbers_are_packed(void **state)
{
	static const char *const names[] = {
		"fi_shm://1:0:0",
		"fi_shm://4294967295:4294967295:4294967295",
	};
	static const char *const texts[] = {
		"fi_shm://",
		"fi_shm://12a",
		"fi_ns://1:2",
		"fi_shm://14294967295:4294967295:4294967295",
	};
	uint8_t packed[LNX_NAME_LEN];
	uint32_t words[WF_AV_ADDR_WORDS];
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(7) };
	struct lnx_name name = { 3, { link_of(1, 1, 0), link_of(2, 2, sizeof(in)),
					    link_of(2, 3, sizeof(in)) } };
	struct lnx_name out;

	name.link[1].addr = name.link[2].addr = &in;
	name.link[1].format = name.link[2].format = FI_SOCKADDR_IN;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		name.link[0].addr = names[i];
		name.link[0].len = (uint16_t)(strlen(names[i]) + 1);
		assert_int_equal(lnx_name_pack(&name, packed), 59);
		assert_true(lnx_name_unpack(packed, &out));
		assert_int_equal(out.link[0].format, FI_ADDR_STR);
		assert_int_equal(out.link[0].len, strlen(names[i]));
		assert_memory_equal(out.link[0].addr, names[i], strlen(names[i]));
		assert_true(lnx_av_format.spell(words, packed));
		assert_memory_equal(words, packed, LNX_NAME_LEN);
	}
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		name.link[0].addr = texts[i];
		name.link[0].len = (uint16_t)(strlen(texts[i]) + 1);
		assert_true(lnx_name_pack(&name, packed) > 59);
		assert_true(lnx_name_unpack(packed, &out));
		assert_string_equal(out.link[0].addr, texts[i]);
	}
}

/* ---- links of private endpoints ---- */

struct ports {
	struct sockaddr_in in[4];
	struct sockaddr_in6 in6[2];
};

/* shm, two rails over IPv4, each with its private endpoint behind it. */
static void fill_rails(struct lnx_name *name, struct ports *ports)
{
	static const char shm[] = "fi_shm://1:2:3";

	*name = (struct lnx_name){ .count = 5, .link = { link_of(1, 1, sizeof(shm)) } };
	name->link[0].addr = shm;
	for (unsigned int i = 0; i < 4; i++) {
		ports->in[i] = (struct sockaddr_in){ .sin_family = AF_INET,
			.sin_port = htons((uint16_t)(1000 + i)) };
		ports->in[i].sin_addr.s_addr = htonl(0x0a000001 + i / 2);
		name->link[1 + i] = link_of(i % 2 ? 7 ^ LNX_NAME_PRIVATE : 7, 5 + i / 2,
			sizeof(ports->in[i]));
		name->link[1 + i].format = FI_SOCKADDR_IN;
		name->link[1 + i].addr = &ports->in[i];
	}
}

static void assert_links(const struct lnx_name *name, const struct lnx_name *wanted)
{
	assert_int_equal(name->count, wanted->count);
	for (unsigned int i = 0; i < wanted->count; i++) {
		const struct lnx_name_link *link = &wanted->link[i];

		assert_int_equal(name->link[i].provider, link->provider);
		assert_true(name->link[i].locality == link->locality);
		assert_int_equal(name->link[i].format, link->format);
		/* Text loses its NUL. */
		assert_int_equal(name->link[i].len, link->len - !i);
		assert_memory_equal(name->link[i].addr, link->addr, name->link[i].len);
	}
}

/* shm and two rails with striping have a name that 64 bytes hold. */
static void private_ports_are_short(void **state)
{
	uint32_t words[WF_AV_ADDR_WORDS];
	uint8_t packed[LNX_NAME_LEN];
	struct lnx_name name, out;
	struct ports ports;

	fill_rails(&name, &ports);
	assert_int_equal(lnx_name_pack(&name, packed), 63);
	assert_true(lnx_name_unpack(packed, &out));
	assert_links(&out, &name);
	assert_true(lnx_av_format.spell(words, packed));
	assert_memory_equal(words, packed, LNX_NAME_LEN);
}

static void private_ports_of_ipv6_are_short(void **state)
{
	uint8_t packed[LNX_NAME_LEN];
	struct lnx_name name, out;
	struct ports ports;

	fill_rails(&name, &ports);
	for (unsigned int i = 0; i < 2; i++) {
		ports.in6[i] = (struct sockaddr_in6){ .sin6_family = AF_INET6,
			.sin6_port = htons((uint16_t)(1 + i)),
			.sin6_scope_id = 3 };
		ports.in6[i].sin6_addr.s6_addr[15] = 9;
		name.link[1 + i].format = FI_SOCKADDR_IN6;
		name.link[1 + i].addr = &ports.in6[i];
		name.link[1 + i].len = sizeof(ports.in6[i]);
	}
	assert_int_equal(lnx_name_pack(&name, packed), 63 + 16);
	assert_true(lnx_name_unpack(packed, &out));
	assert_links(&out, &name);
	ports.in6[1].sin6_scope_id++;
	assert_int_equal(lnx_name_pack(&name, packed), 63 + 16 + 29);
	assert_true(lnx_name_unpack(packed, &out));
	assert_links(&out, &name);
}

/* What differs by more than the port and the provider has an entry of its own. */
static void other_private_endpoints_are_whole(void **state)
{
	uint8_t packed[LNX_NAME_LEN];
	struct lnx_name name, out;
	struct ports ports;

	for (int what = 0; what < 4; what++) {
		fill_rails(&name, &ports);
		if (what == 0)
			ports.in[1].sin_addr.s_addr++;
		else if (what == 1)
			name.link[2].locality++;
		else if (what == 2)
			name.link[2].provider++;
		else
			name.link[1].provider++;
		assert_int_equal(lnx_name_pack(&name, packed), 63 + 13);
		assert_true(lnx_name_unpack(packed, &out));
		assert_links(&out, &name);
	}
}

/* Entries that are no address: a second link of shm, and more links than allowed. */
static void wrong_second_links_are_refused(void **state)
{
	enum { FORMAT = 4 + 8, IN_FORMAT = 4 + 25 + 8 };
	struct lnx_name name, many = { .count = LNX_MAX_LINKS };
	uint8_t packed[LNX_NAME_LEN];
	struct ports ports;
	struct lnx_name *out = malloc(sizeof(*out));

	assert_non_null(out);
	fill_rails(&name, &ports);
	assert_true(lnx_name_pack(&name, packed));
	packed[FORMAT] |= 0x40;
	assert_false(lnx_name_unpack(packed, out));
	packed[FORMAT] &= ~0x40;
	assert_true(lnx_name_unpack(packed, out));
	packed[IN_FORMAT] &= ~0x40;
	assert_false(lnx_name_unpack(packed, out));

	for (unsigned int i = 0; i < LNX_MAX_LINKS; i++)
		many.link[i] = name.link[1 + i % 2];
	assert_int_equal(lnx_name_pack(&many, packed), 4 + 4 * 17);
	assert_true(lnx_name_unpack(packed, out));
	assert_int_equal(out->count, LNX_MAX_LINKS);
	for (unsigned int i = 0; i < LNX_MAX_LINKS; i++)
		many.link[i] = name.link[1];
	assert_int_equal(lnx_name_pack(&many, packed), 4 + 8 * 15);
	/* The last of eight has a second one. */
	packed[4 + 7 * 15 + 8] |= 0x40;
	packed[3] += 2;
	assert_false(lnx_name_unpack(packed, out));
	free(out);
}

/* An IP address has the length of its kind. */
static void addresses_of_another_length_are_not_packed(void **state)
{
	uint8_t packed[LNX_NAME_LEN];
	struct lnx_name name;
	struct ports ports;

	fill_rails(&name, &ports);
	name.link[3].len--;
	assert_false(lnx_name_pack(&name, packed));
}

/* A format that only its provider knows: some of its bits are stored, and compared. */
static void formats_meet(void **state)
{
	const bool local[LNX_MAX_LINKS] = { false };
	struct lnx_name mine = { 1, { link_of(1, 1, 5) } }, theirs;
	uint8_t packed[LNX_NAME_LEN];
	int pair[LNX_MAX_LINKS];

	mine.link[0].format = 0x80000185;
	assert_true(lnx_name_pack(&mine, packed));
	assert_true(lnx_name_unpack(packed, &theirs));
	lnx_name_pair(&mine, &theirs, local, pair);
	assert_int_equal(pair[0], 0);
	/* It is no address of IP, though its lowest bits are those of one. */
	mine.link[0].format = 0x80000000 | FI_SOCKADDR_IN;
	assert_true(lnx_name_pack(&mine, packed));
	assert_true(lnx_name_unpack(packed, &theirs));
	assert_int_equal(theirs.link[0].len, 5);
	lnx_name_pair(&mine, &theirs, local, pair);
	assert_int_equal(pair[0], 0);
}

static void too_much_does_not_fit(void **state)
{
	struct lnx_name name = { .count = 4 };
	uint8_t packed[LNX_NAME_LEN];

	for (int i = 0; i < 4; i++)
		name.link[i] = link_of(1, 1, 49);
	assert_true(lnx_name_pack(&name, packed));
	name.link[3].len = 50;
	assert_false(lnx_name_pack(&name, packed));
}

/* The address is in the packed name, or in its link. */
static void assert_within(const struct lnx_name_link *link, const uint8_t *packed)
{
	const uint8_t *addr = link->addr, *buf = (const uint8_t *)link->buf;

	if (addr == buf)
		assert_true(link->len <= sizeof(link->buf));
	else
		assert_true(
			addr >= packed && addr + link->len <= packed + LNX_NAME_LEN);
}

/* Every byte is changed to every value, from memory that ends with the address. */
static void no_bytes_lead_out_of_the_address(void **state)
{
	uint8_t *packed = malloc(LNX_NAME_LEN);
	uint32_t words[WF_AV_ADDR_WORDS];
	struct lnx_name name, out;
	char text[WF_AV_TEXT_LEN];
	struct ports ports;

	assert_non_null(packed);
	fill_rails(&name, &ports);
	name.link[name.count++] = link_of(1, 1, 40);
	name.link[name.count++] = link_of(2, 2, 0);
	for (size_t at = 0; at < LNX_NAME_LEN; at++) {
		assert_true(lnx_name_pack(&name, packed));
		for (int value = 0; value < 256; value++) {
			packed[at] = (uint8_t)value;
			lnx_av_format.print(packed, text, sizeof(text));
			assert_true(strlen(text) < sizeof(text));
			(void)lnx_av_format.spell(words, packed);
			if (!lnx_name_unpack(packed, &out))
				continue;
			for (unsigned int i = 0; i < out.count; i++)
				assert_within(&out.link[i], packed);
		}
	}
	free(packed);
}

/* What means nothing is not compared. */
static void there_is_one_spelling(void **state)
{
	struct lnx_name name = { 1, { link_of(1, 1, 5) } };
	uint32_t a[WF_AV_ADDR_WORDS], b[WF_AV_ADDR_WORDS];
	uint8_t packed[LNX_NAME_LEN];

	assert_true(lnx_name_pack(&name, packed));
	assert_true(lnx_av_format.spell(a, packed));
	packed[LNX_NAME_LEN - 1] = 0xff;
	assert_true(lnx_av_format.spell(b, packed));
	assert_memory_equal(a, b, LNX_NAME_LEN);
}

static void addresses_print(void **state)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons(7) };
	struct lnx_name name = { 2, { link_of(1, 1, 6), link_of(2, 2, sizeof(in)) } };
	uint8_t packed[LNX_NAME_LEN];
	char text[WF_AV_TEXT_LEN];

	name.link[0].addr = "fi://a";
	in.sin_addr.s_addr = htonl(0x0a000001);
	name.link[1].addr = &in;
	name.link[1].format = FI_SOCKADDR_IN;
	assert_true(lnx_name_pack(&name, packed));
	lnx_av_format.print(packed, text, sizeof(text));
	assert_string_equal(text, "lnx://fi://a+fi_sockaddr_in://10.0.0.1:7");
	lnx_av_format.print(some, text, 12);
	assert_string_equal(text, "(no address");
}

/* ---- pairs ---- */

static void check(const struct lnx_name *mine, const struct lnx_name *theirs,
	const bool *local, const int *wanted)
{
	int got[LNX_MAX_LINKS], back[LNX_MAX_LINKS];

	lnx_name_pair(mine, theirs, local, got);
	for (unsigned int i = 0; i < mine->count; i++)
		assert_int_equal(got[i], wanted[i]);
	/* The other side agrees, if its links are of the same kinds. */
	lnx_name_pair(theirs, mine, local, back);
	for (unsigned int i = 0; i < mine->count; i++)
		if (got[i] >= 0)
			assert_int_equal(back[got[i]], i);
}

static void links_of_one_locality_meet(void **state)
{
	struct lnx_name mine = { 3,
		{ link_of(1, 9, 4), link_of(2, 10, 4), link_of(2, 20, 4) } };
	struct lnx_name theirs = { 3,
		{ link_of(1, 9, 4), link_of(2, 20, 4), link_of(2, 10, 4) } };
	const bool local[LNX_MAX_LINKS] = { true };

	check(&mine, &theirs, local, (int[]){ 0, 2, 1 });
	/* Other localities of a network may be reached all the same, other machines
	 * not. */
	theirs.link[0].locality = 8;
	theirs.link[1].locality = 30;
	check(&mine, &theirs, local, (int[]){ -1, 2, 1 });
}

static void links_of_one_kind_meet_only(void **state)
{
	struct lnx_name mine = { 2, { link_of(1, 1, 4), link_of(2, 1, 4) } };
	struct lnx_name theirs = { 2, { link_of(3, 1, 4), link_of(2, 1, 4) } };
	const bool local[LNX_MAX_LINKS] = { false };

	theirs.link[1].format = FI_SOCKADDR_IN;
	check(&mine, &theirs, local, (int[]){ -1, -1 });
	theirs.link[1].format = FI_ADDR_STR;
	check(&mine, &theirs, local, (int[]){ -1, 1 });
}

static void equal_links_keep_their_order(void **state)
{
	struct lnx_name mine = { 2, { link_of(1, 1, 4), link_of(1, 1, 4) } };
	struct lnx_name theirs = { 1, { link_of(1, 1, 4) } };
	const bool local[LNX_MAX_LINKS] = { true, true };

	check(&mine, &mine, local, (int[]){ 0, 1 });
	check(&mine, &theirs, local, (int[]){ 0, -1 });
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_packed_comes_out),
		cmocka_unit_test(numbers_are_packed),
		cmocka_unit_test(private_ports_are_short),
		cmocka_unit_test(private_ports_of_ipv6_are_short),
		cmocka_unit_test(other_private_endpoints_are_whole),
		cmocka_unit_test(wrong_second_links_are_refused),
		cmocka_unit_test(addresses_of_another_length_are_not_packed),
		cmocka_unit_test(formats_meet),
		cmocka_unit_test(too_much_does_not_fit),
		cmocka_unit_test(no_bytes_lead_out_of_the_address),
		cmocka_unit_test(there_is_one_spelling),
		cmocka_unit_test(addresses_print),
		cmocka_unit_test(links_of_one_locality_meet),
		cmocka_unit_test(links_of_one_kind_meet_only),
		cmocka_unit_test(equal_links_keep_their_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
