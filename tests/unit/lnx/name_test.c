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
		assert_int_equal(lnx_name_pack(&name, packed), 62);
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
		assert_true(lnx_name_pack(&name, packed) > 62);
		assert_true(lnx_name_unpack(packed, &out));
		assert_string_equal(out.link[0].addr, texts[i]);
	}
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

/* Every byte is changed to every value, from memory that ends with the address. */
static void no_bytes_lead_out_of_the_address(void **state)
{
	struct lnx_name name = { 3,
		{ link_of(1, 1, 40), link_of(2, 2, 0), link_of(3, 3, 16) } };
	uint8_t *packed = malloc(LNX_NAME_LEN);
	uint32_t words[WF_AV_ADDR_WORDS];
	struct lnx_name out;
	char text[WF_AV_TEXT_LEN];

	assert_non_null(packed);
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
				assert_true((const uint8_t *)out.link[i].addr +
						    out.link[i].len <=
					    packed + LNX_NAME_LEN);
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
