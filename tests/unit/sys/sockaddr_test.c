/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include <errno.h>
#include <net/if.h>
#include <stdio.h>
#include <string.h>

#include "sys/compiler.h"
#include "sys/sockaddr.h"

static union wf_sockaddr host(const char *text, uint16_t port)
{
	union wf_sockaddr sa;

	assert_int_equal(wf_sockaddr_from_host(text, &sa), 0);
	wf_sockaddr_set_port(&sa, port);
	return sa;
}

static void reads_only_whole_addresses(void **state)
{
	struct sockaddr_storage store;
	union wf_sockaddr sa, untouched;

	memset(&untouched, 0x5a, sizeof(untouched));
	sa = untouched;
	memset(&store, 0xff, sizeof(store));
	assert_int_equal(wf_sockaddr_read(NULL, 16, &sa), -EINVAL);
	assert_int_equal(wf_sockaddr_read(&store, 0, &sa), -EINVAL);
	assert_int_equal(wf_sockaddr_read(&store, 1, &sa), -EINVAL);
	assert_int_equal(wf_sockaddr_read(&store, sizeof(store), &sa), -EAFNOSUPPORT);
	store.ss_family = AF_INET;
	assert_int_equal(wf_sockaddr_read(&store, sizeof(sa.in) - 1, &sa), -EINVAL);
	store.ss_family = AF_INET6;
	assert_int_equal(wf_sockaddr_read(&store, sizeof(sa.in6) - 1, &sa), -EINVAL);
	store.ss_family = AF_UNIX;
	assert_int_equal(wf_sockaddr_read(&store, sizeof(store), &sa), -EAFNOSUPPORT);
	assert_memory_equal(&sa, &untouched, sizeof(sa));
}

static void reads_from_any_alignment(void **state)
{
	union wf_sockaddr want = host("192.0.2.7", 77), sa;
	char bytes[sizeof(want) + 1];

	memcpy(bytes + 1, &want, sizeof(want.in));
	assert_int_equal(wf_sockaddr_read(bytes + 1, sizeof(want.in), &sa), 0);
	assert_true(wf_sockaddr_equal(&sa, &want));
	want = host("fd00::7", 77);
	memcpy(bytes + 1, &want, sizeof(want.in6));
	assert_int_equal(wf_sockaddr_read(bytes + 1, sizeof(want.in6), &sa), 0);
	assert_true(wf_sockaddr_equal(&sa, &want));
}

/* What callers leave in sin_zero is not part of an address. */
static void padding_does_not_count(void **state)
{
	union wf_sockaddr dirty = host("192.0.2.7", 77), sa, clean = dirty;

	memset(dirty.in.sin_zero, 0xee, sizeof(dirty.in.sin_zero));
	assert_int_equal(wf_sockaddr_read(&dirty, sizeof(dirty.in), &sa), 0);
	assert_memory_equal(&sa, &clean, sizeof(sa.in));
}

static void equality_and_hash_agree(void **state)
{
	static const struct {
		const char *a, *b;
		uint16_t port_a, port_b;
		bool same_host, equal;
	} rows[] = {
		{ "192.0.2.1", "192.0.2.1", 5, 5, true, true },
		{ "192.0.2.1", "192.0.2.1", 5, 6, true, false },
		{ "192.0.2.1", "192.0.2.2", 5, 5, false, false },
		{ "fd00::1", "fd00::1", 5, 5, true, true },
		{ "fd00::1", "fd00::1%3", 5, 5, true, true },
		{ "fe80::1%2", "fe80::1%2", 5, 5, true, true },
		{ "fe80::1%2", "fe80::1%3", 5, 5, false, false },
		{ "::ffff:192.0.2.1", "192.0.2.1", 5, 5, false, false },
	};

	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		union wf_sockaddr a = host(rows[i].a, rows[i].port_a);
		union wf_sockaddr b = host(rows[i].b, rows[i].port_b);

		assert_int_equal(wf_sockaddr_same_host(&a, &b), rows[i].same_host);
		assert_int_equal(wf_sockaddr_equal(&a, &b), rows[i].equal);
		assert_int_equal(wf_sockaddr_equal(&b, &a), rows[i].equal);
		if (rows[i].equal)
			assert_true(wf_sockaddr_hash(&a) == wf_sockaddr_hash(&b));
		else
			assert_true(wf_sockaddr_hash(&a) != wf_sockaddr_hash(&b));
	}
}

/* A table of 2^16 buckets must not see neighbours fall together. */
static void hash_spreads_neighbours(void **state)
{
	static uint8_t seen[1 << 16];
	union wf_sockaddr sa = host("10.1.0.0", 4000);
	unsigned int collisions = 0;

	for (uint32_t i = 0; i < 4096; i++) {
		sa.in.sin_addr.s_addr = htonl(0x0a010000 + i);
		collisions += seen[wf_sockaddr_hash(&sa) & 0xffff]++ != 0;
	}
	/* 4096 balls in 65536 bins: 125 expected. */
	assert_in_range(collisions, 0, 250);
}

static void kinds_of_addresses(void **state)
{
	static const struct {
		const char *text;
		bool wildcard, loopback, linklocal, multicast;
	} rows[] = {
		{ "0.0.0.0", true, false, false, false },
		{ "::", true, false, false, false },
		{ "127.0.0.1", false, true, false, false },
		{ "127.8.9.10", false, true, false, false },
		{ "::1", false, true, false, false },
		{ "169.254.3.4", false, false, true, false },
		{ "fe80::5%1", false, false, true, false },
		{ "224.0.0.251", false, false, false, true },
		{ "ff05::1", false, false, false, true },
		{ "ff02::1", false, false, true, true },
		{ "192.0.2.1", false, false, false, false },
		{ "2001:db8::1", false, false, false, false },
	};

	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		union wf_sockaddr sa = host(rows[i].text, 1);

		assert_int_equal(wf_sockaddr_is_wildcard(&sa), rows[i].wildcard);
		assert_int_equal(wf_sockaddr_is_loopback(&sa), rows[i].loopback);
		assert_int_equal(wf_sockaddr_is_linklocal(&sa), rows[i].linklocal);
		assert_int_equal(wf_sockaddr_is_multicast(&sa), rows[i].multicast);
	}
}

static void hosts_that_are_none(void **state)
{
	static const char *const bad[] = { "", "localhost", "1.2.3", "1.2.3.4.5",
		"256.1.1.1", " 1.2.3.4", "1.2.3.4 ", "1.2.3.4%1", "::1%", "fe80::1%0",
		"fe80::1%4294967296", "fe80::1%no-such-link", ":::", "[::1]",
		"fe80::1%a-name-that-is-longer-than-any-interface",
		"0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0000:0001" };
	union wf_sockaddr sa;

	for (size_t i = 0; i < WF_ARRAY_SIZE(bad); i++)
		assert_int_equal(wf_sockaddr_from_host(bad[i], &sa), -EINVAL);
}

static void scopes_by_name_and_number(void **state)
{
	union wf_sockaddr sa;

	assert_int_equal(wf_sockaddr_from_host("fe80::1%lo", &sa), 0);
	assert_int_equal(sa.in6.sin6_scope_id, if_nametoindex("lo"));
	assert_int_equal(wf_sockaddr_from_host("fe80::1%4294967295", &sa), 0);
	assert_int_equal(sa.in6.sin6_scope_id, UINT32_MAX);
}

static void ports(void **state)
{
	static const char *const bad[] = { "", "65536", "-1", "+1", " 1", "1 ", "0x10",
		"http", "99999999999999999999" };
	uint16_t port = 1;

	assert_int_equal(wf_sockaddr_parse_port("0", &port), 0);
	assert_int_equal(port, 0);
	assert_int_equal(wf_sockaddr_parse_port("65535", &port), 0);
	assert_int_equal(port, 65535);
	for (size_t i = 0; i < WF_ARRAY_SIZE(bad); i++)
		assert_int_equal(wf_sockaddr_parse_port(bad[i], &port), -EINVAL);
	assert_int_equal(port, 65535);
}

/* STR-011 */
static void uris(void **state)
{
	static const struct {
		const char *host, *uri;
	} rows[] = {
		{ "192.0.2.1", "fi_sockaddr_in://192.0.2.1:7471" },
		{ "0.0.0.0", "fi_sockaddr_in://0.0.0.0:7471" },
		{ "2001:db8::1", "fi_sockaddr_in6://[2001:db8::1]:7471" },
		{ "fe80::1%7", "fi_sockaddr_in6://[fe80::1%7]:7471" },
	};
	union wf_sockaddr sa;
	char text[WF_SOCKADDR_STRLEN];

	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		sa = host(rows[i].host, 7471);
		assert_string_equal(
			wf_sockaddr_uri(&sa, text, sizeof(text)), rows[i].uri);
	}
	assert_string_equal(wf_sockaddr_uri(&sa, text, 10), "fi_sockad");
}

static void longest_uri_fits(void **state)
{
	char text[WF_SOCKADDR_STRLEN];
	union wf_sockaddr sa = host("1111:2222:3333:4444:5555:6666:7777:8888", 65535);

	sa.in6.sin6_scope_id = UINT32_MAX;
	wf_sockaddr_uri(&sa, text, sizeof(text));
	assert_string_equal(text + strlen(text) - 18, "%4294967295]:65535");
}

static void networks(void **state)
{
	static const struct {
		const char *host;
		unsigned int prefix;
		const char *network;
	} rows[] = {
		{ "192.0.2.77", 24, "192.0.2.0/24" },
		{ "192.0.2.77", 32, "192.0.2.77/32" },
		{ "192.0.2.77", 99, "192.0.2.77/32" },
		{ "192.0.2.77", 0, "0.0.0.0/0" },
		{ "10.255.255.255", 12, "10.240.0.0/12" },
		{ "fd00:1:2:3::4", 64, "fd00:1:2:3::/64" },
		{ "fe80::5%3", 64, "fe80::/64" },
		{ "::1", 128, "::1/128" },
		{ "2001:db8:ffff::1", 33, "2001:db8:8000::/33" },
	};
	char text[WF_SOCKADDR_STRLEN];

	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		union wf_sockaddr sa = host(rows[i].host, 1);

		assert_string_equal(
			wf_sockaddr_network(&sa, rows[i].prefix, text, sizeof(text)),
			rows[i].network);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_only_whole_addresses),
		cmocka_unit_test(reads_from_any_alignment),
		cmocka_unit_test(padding_does_not_count),
		cmocka_unit_test(equality_and_hash_agree),
		cmocka_unit_test(hash_spreads_neighbours),
		cmocka_unit_test(kinds_of_addresses),
		cmocka_unit_test(hosts_that_are_none),
		cmocka_unit_test(scopes_by_name_and_number),
		cmocka_unit_test(ports),
		cmocka_unit_test(uris),
		cmocka_unit_test(longest_uri_fits),
		cmocka_unit_test(networks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
