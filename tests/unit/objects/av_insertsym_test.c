/* SPDX-License-Identifier: BSD-2-Clause */
#include "av_fixture.h"

#include <netdb.h>
#include <stdio.h>

/*
 * A resolver of our own, in place of the C library's: knows n7 to n12 and n007 to n012
 * as 10.0.0.<number>, rack1.example and rack2.example, numeric hosts, and the service
 * "web", port 80. No host gives the loopback address.
 */

static int host_of(const char *node, struct sockaddr_in *in)
{
	static const char *const patterns[] = { "n%u", "n%03u", "rack%u.example" };
	char name[64];

	in->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	if (!node || inet_pton(AF_INET, node, &in->sin_addr) == 1)
		return 0;
	for (unsigned int p = 0; p < 3; p++) {
		for (unsigned int i = p == 2 ? 1 : 7; i <= (p == 2 ? 2 : 12); i++) {
			snprintf(name, sizeof(name), patterns[p], i);
			in->sin_addr.s_addr = htonl(0x0a000000 + (p << 8) + i);
			if (!strcmp(name, node))
				return 0;
		}
	}
	return EAI_NONAME;
}

int getaddrinfo(const char *node, const char *service, const struct addrinfo *hints,
	struct addrinfo **ret)
{
	struct sockaddr_in *in;
	struct addrinfo *info;

	assert_int_equal(hints->ai_family, AF_INET);
	info = calloc(1, sizeof(*info) + sizeof(*in));
	in = (struct sockaddr_in *)(info + 1);
	in->sin_family = AF_INET;
	if (host_of(node, in)) {
		free(info);
		return EAI_NONAME;
	}
	if (service)
		in->sin_port =
			htons(strcmp(service, "web") ? (uint16_t)atoi(service) : 80);
	if (service && !in->sin_port) {
		free(info);
		return EAI_SERVICE;
	}
	info->ai_addr = (struct sockaddr *)in;
	info->ai_addrlen = sizeof(*in);
	*ret = info;
	return 0;
}

void freeaddrinfo(struct addrinfo *info)
{
	free(info);
}

static void assert_stored(
	struct fid_av *av, fi_addr_t addr, uint32_t host, uint16_t port)
{
	struct sockaddr_in want = in_addr_of(host, port), got;
	size_t len = sizeof(got);

	assert_int_equal(fi_av_lookup(av, addr, &got, &len), 0);
	assert_memory_equal(&got, &want, sizeof(got));
}

/* AV-024, AV-025 */
static void one_service(void **state)
{
	struct fid_av *av = av_fixture_open(*state, (struct fi_av_attr){ 0 });
	fi_addr_t addr = 5;

	assert_int_equal(fi_av_insertsvc(av, "10.1.1.1", "5000", &addr, 0, NULL), 1);
	assert_int_equal(addr, 0);
	assert_stored(av, 0, 0x0a010101, 5000);
	assert_int_equal(fi_av_insertsvc(av, "n10", "web", &addr, 0, NULL), 1);
	assert_stored(av, 1, 0x0a00000a, 80);
	assert_int_equal(fi_av_insertsvc(av, NULL, "81", &addr, 0, NULL), 1);
	assert_stored(av, 2, INADDR_LOOPBACK, 81);
	assert_int_equal(fi_av_insertsvc(av, "fi_sockaddr_in://10.2.2.2:90", NULL,
				 &addr, 0, NULL),
		1);
	assert_stored(av, 3, 0x0a020202, 90);
	assert_int_equal(fi_av_insertsvc(av, "fi_sockaddr_in://10.2.2.2:90", "90",
				 &addr, 0, NULL),
		-FI_EINVAL);
	assert_int_equal(
		fi_av_insertsvc(av, "fi_sockaddr_in6://[::1]:90", NULL, &addr, 0, NULL),
		-FI_EINVAL);
	assert_int_equal(fi_av_insertsvc(av, NULL, NULL, &addr, 0, NULL), -FI_EINVAL);
	addr = 5;
	assert_int_equal(
		fi_av_insertsvc(av, "nowhere", "1", &addr, 0, NULL), -FI_ENODATA);
	assert_true(addr == FI_ADDR_NOTAVAIL);
	/* No port: an address that no peer can have. */
	addr = 5;
	assert_int_equal(fi_av_insertsvc(av, "10.1.1.1", NULL, &addr, 0, NULL), 0);
	assert_true(addr == FI_ADDR_NOTAVAIL);
	assert_int_equal(
		fi_av_insertsvc(av, "10.1.1.1", "1", &addr, FI_COMPLETION, NULL),
		-FI_EBADFLAGS);
	assert_int_equal(fi_close(&av->fid), 0);
}

/* AV-026: the example of the man page. */
static void numeric_nodes(void **state)
{
	struct fid_av *av = av_fixture_open(*state, (struct fi_av_attr){ 0 });
	fi_addr_t addr[4];

	assert_int_equal(
		fi_av_insertsym(av, "10.1.1.1", 2, "5000", 2, addr, 0, NULL), 4);
	for (unsigned int i = 0; i < 4; i++) {
		assert_int_equal(addr[i], i);
		assert_stored(av, i, 0x0a010101 + i / 2, (uint16_t)(5000 + i % 2));
	}
	/* Across the bytes of the address; more than a batch of services. */
	assert_int_equal(
		fi_av_insertsym(av, "10.1.0.255", 2, "100", 150, NULL, 0, NULL), 300);
	assert_stored(av, 4 + 149, 0x0a0100ff, 249);
	assert_stored(av, 4 + 150, 0x0a010100, 100);
	assert_stored(av, 4 + 299, 0x0a010100, 249);
	assert_int_equal(fi_close(&av->fid), 0);
}

/* AV-026: a range may end with the last port, and with the last address. */
static void last_of_their_kind(void **state)
{
	struct fid_av *av = av_fixture_open(*state, (struct fi_av_attr){ 0 });

	assert_int_equal(
		fi_av_insertsym(av, "255.255.255.254", 2, "65534", 2, NULL, 0, NULL),
		4);
	assert_stored(av, 0, 0xfffffffe, 65534);
	assert_stored(av, 3, 0xffffffff, 65535);
	assert_int_equal(fi_close(&av->fid), 0);
}

/* AV-027 */
static void named_nodes(void **state)
{
	struct fid_av *av = av_fixture_open(*state, (struct fi_av_attr){ 0 });
	fi_addr_t addr[8];

	assert_int_equal(fi_av_insertsym(av, "n9", 2, "web", 2, addr, 0, NULL), 4);
	for (unsigned int i = 0; i < 4; i++)
		assert_stored(av, i, 0x0a000009 + i / 2, (uint16_t)(80 + i % 2));
	assert_int_equal(fi_av_insertsym(av, "n009", 2, "1", 1, addr, 0, NULL), 2);
	assert_stored(av, 4, 0x0a000109, 1);
	assert_stored(av, 5, 0x0a00010a, 1);
	assert_int_equal(
		fi_av_insertsym(av, "rack1.example", 2, "1", 1, addr, 0, NULL), 2);
	assert_stored(av, 6, 0x0a000201, 1);
	assert_stored(av, 7, 0x0a000202, 1);
	assert_int_equal(fi_close(&av->fid), 0);
}

/* AV-014, AV-018: nodes without address are failures of their entries. */
static void unknown_nodes(void **state)
{
	struct fid_av *av = av_fixture_open(*state, (struct fi_av_attr){ 0 });
	fi_addr_t addr[6];
	int err[6];

	assert_int_equal(
		fi_av_insertsym(av, "n11", 3, "1", 2, addr, FI_SYNC_ERR, err), 4);
	for (unsigned int i = 0; i < 4; i++) {
		assert_int_equal(addr[i], i);
		assert_int_equal(err[i], 0);
	}
	for (unsigned int i = 4; i < 6; i++) {
		assert_true(addr[i] == FI_ADDR_NOTAVAIL);
		assert_int_equal(err[i], FI_EADDRNOTAVAIL);
	}
	assert_int_equal(fi_close(&av->fid), 0);
}

/* AV-028 */
static void bad_ranges(void **state)
{
	static const struct {
		const char *node;
		size_t nodecnt;
		const char *service;
		size_t svccnt;
	} bad[] = {
		{ "10.1.1.1", 1, "65535", 2 },
		{ "255.255.255.255", 2, "1", 1 },
		{ "host", 2, "1", 1 },
		{ "n1", 1, "no-service", 1 },
		{ "n1", 1, NULL, 1 },
		{ NULL, 1, "1", 1 },
		{ "::1", 1, "1", 1 },
		{ "n1234567890123456789", 2, "1", 1 },
		{ "10.1.1.1", SIZE_MAX / 2, "1", 4 },
		{ "10.1.1.1", 65536, "1", 65535 },
	};
	struct fid_av *av = av_fixture_open(*state, (struct fi_av_attr){ 0 });

	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(fi_av_insertsym(av, bad[i].node, bad[i].nodecnt,
					 bad[i].service, bad[i].svccnt, NULL, 0, NULL),
			-FI_EINVAL);
	assert_int_equal(fi_av_insertsym(av, "n9", 0, "1", 1, NULL, 0, NULL), 0);
	assert_int_equal(fi_av_insertsym(av, "n9", 1, "1", 0, NULL, 0, NULL), 0);
	assert_int_equal(fi_close(&av->fid), 0);
}

static void ipv6_nodes(void **state)
{
	struct av_fixture *f = *state;
	struct sockaddr_in6 want = in6_addr_of("2001:db8::1:0", 7), got;
	size_t len = sizeof(got);
	struct fid_av *av;

	f->info.addr_format = FI_SOCKADDR_IN6;
	av = av_fixture_open(f, (struct fi_av_attr){ 0 });
	assert_int_equal(
		fi_av_insertsym(av, "2001:db8::ffff", 2, "7", 1, NULL, 0, NULL), 2);
	assert_int_equal(fi_av_lookup(av, 1, &got, &len), 0);
	assert_memory_equal(&got, &want, sizeof(got));
	assert_int_equal(fi_av_insertsym(av, "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff",
				 2, "7", 1, NULL, 0, NULL),
		-FI_EINVAL);
	assert_int_equal(fi_close(&av->fid), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		AV_TEST(one_service),
		AV_TEST(numeric_nodes),
		AV_TEST(last_of_their_kind),
		AV_TEST(named_nodes),
		AV_TEST(unknown_nodes),
		AV_TEST(bad_ranges),
		AV_TEST(ipv6_nodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
