/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include <errno.h>
#include <string.h>

#include "sys/addrstr.h"
#include "sys/compiler.h"

static void assert_part(const struct wf_addrstr_part *part, const char *want)
{
	if (!want) {
		assert_null(part->text);
		assert_int_equal(part->len, 0);
		return;
	}
	assert_int_equal(part->len, strlen(want));
	assert_memory_equal(part->text, want, part->len);
}

/* GI-061 */
static void parts(void **state)
{
	static const struct {
		const char *text, *format, *node, *service, *fields, *params;
	} rows[] = {
		{ "fi_sockaddr", "fi_sockaddr", NULL, NULL, NULL, NULL },
		{ "fi_sockaddr://", "fi_sockaddr", "", NULL, NULL, NULL },
		{ "fi_sockaddr://:80", "fi_sockaddr", "", "80", NULL, NULL },
		{ "fi_sockaddr://10.31.6.12:7471", "fi_sockaddr", "10.31.6.12", "7471",
			NULL, NULL },
		{ "fi_sockaddr_in6://[fe80::6:12]:7471", "fi_sockaddr_in6",
			"fe80::6:12", "7471", NULL, NULL },
		{ "fi_sockaddr://10.31.6.12:7471?qos=3", "fi_sockaddr", "10.31.6.12",
			"7471", NULL, "qos=3" },
		{ "x://n:s/a/b?k=v&l=w", "x", "n", "s", "a/b", "k=v&l=w" },
		{ "x://n/a", "x", "n", NULL, "a", NULL },
		{ "x://n?", "x", "n", NULL, NULL, "" },
		{ "fi_ns://host:service", "fi_ns", "host", "service", NULL, NULL },
	};
	struct wf_addrstr str;

	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		assert_int_equal(wf_addrstr_parse(rows[i].text, &str), 0);
		assert_part(&str.format, rows[i].format);
		assert_part(&str.node, rows[i].node);
		assert_part(&str.service, rows[i].service);
		assert_part(&str.fields, rows[i].fields);
		assert_part(&str.params, rows[i].params);
	}
}

static void malformed(void **state)
{
	static const char *const bad[] = { "", "://x", "a b://x", "fi:", "fi:/",
		"fi:/x", "x://[::1", "x://[]:1", "x://[::1]1", "x://[::1]]", "-://" };
	struct wf_addrstr str;

	for (size_t i = 0; i < WF_ARRAY_SIZE(bad); i++)
		assert_int_equal(wf_addrstr_parse(bad[i], &str), -EINVAL);
}

static void long_form_is_recognised(void **state)
{
	assert_true(wf_addrstr_is("fi_sockaddr://"));
	assert_true(wf_addrstr_is("any_9://x"));
	assert_false(wf_addrstr_is("fi_sockaddr"));
	assert_false(wf_addrstr_is("://x"));
	assert_false(wf_addrstr_is("host.name://x"));
	assert_false(wf_addrstr_is("::1"));
	assert_false(wf_addrstr_is(""));
}

/* GI-032 */
static void numeric_addresses(void **state)
{
	static const struct {
		const char *text;
		int err;
		const char *uri;
	} rows[] = {
		{ "fi_sockaddr_in://192.0.2.1:80", 0, "fi_sockaddr_in://192.0.2.1:80" },
		{ "fi_sockaddr://192.0.2.1:80", 0, "fi_sockaddr_in://192.0.2.1:80" },
		{ "FI_SOCKADDR://192.0.2.1", 0, "fi_sockaddr_in://192.0.2.1:0" },
		{ "fi_sockaddr_ip://[fd00::1]:80", 0,
			"fi_sockaddr_in6://[fd00::1]:80" },
		{ "fi_sockaddr_in6://[fe80::1%3]:80", 0,
			"fi_sockaddr_in6://[fe80::1%3]:80" },
		{ "fi_sockaddr_in://:80", 0, "fi_sockaddr_in://0.0.0.0:80" },
		{ "fi_sockaddr_in6://", 0, "fi_sockaddr_in6://[::]:0" },
		{ "fi_sockaddr_in6", 0, "fi_sockaddr_in6://[::]:0" },
		{ "fi_sockaddr_in://192.0.2.1:80?qos=3", 0,
			"fi_sockaddr_in://192.0.2.1:80" },
		{ "fi_sockaddr://:80", -EINVAL, NULL },
		{ "fi_sockaddr_in://[::1]:80", -EAFNOSUPPORT, NULL },
		{ "fi_sockaddr_in6://192.0.2.1:80", -EAFNOSUPPORT, NULL },
		{ "fi_sockaddr_ib://[::1]:1", -EAFNOSUPPORT, NULL },
		{ "fi_shm://name", -EAFNOSUPPORT, NULL },
		{ "fi_sockaddr_in://localhost:80", -EINVAL, NULL },
		{ "fi_sockaddr_in://192.0.2.1:http", -EINVAL, NULL },
		{ "fi_sockaddr_in://192.0.2.1:65536", -EINVAL, NULL },
		{ "fi_sockaddr_in://192.0.2.1\n:80", -EINVAL, NULL },
	};
	char text[WF_SOCKADDR_STRLEN];
	union wf_sockaddr sa;

	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		assert_int_equal(
			wf_addrstr_to_sockaddr(rows[i].text, &sa), rows[i].err);
		if (!rows[i].err)
			assert_string_equal(
				wf_sockaddr_uri(&sa, text, sizeof(text)), rows[i].uri);
	}
}

static void too_long_parts_are_refused(void **state)
{
	char text[2 * WF_ADDRSTR_NODE_MAX] = "fi_sockaddr_in://";
	union wf_sockaddr sa;
	size_t used = strlen(text);

	memset(text + used, '1', WF_ADDRSTR_NODE_MAX);
	assert_int_equal(wf_addrstr_to_sockaddr(text, &sa), -EINVAL);
	text[used + 1] = ':';
	assert_int_equal(wf_addrstr_to_sockaddr(text, &sa), -EINVAL);
}

static void every_uri_of_ours_is_read(void **state)
{
	static const char *const hosts[] = { "192.0.2.9", "::", "fe80::9%4",
		"2001:db8::" };
	char text[WF_SOCKADDR_STRLEN];
	union wf_sockaddr sa, again;

	for (size_t i = 0; i < WF_ARRAY_SIZE(hosts); i++) {
		assert_int_equal(wf_sockaddr_from_host(hosts[i], &sa), 0);
		wf_sockaddr_set_port(&sa, 4242);
		wf_sockaddr_uri(&sa, text, sizeof(text));
		assert_int_equal(wf_addrstr_to_sockaddr(text, &again), 0);
		assert_true(wf_sockaddr_equal(&sa, &again));
	}
}

static void names(void **state)
{
	static const struct {
		const char *text, *spelled;
	} rows[] = {
		{ "fi_shm://a", "fi_shm://a" },
		{ "fi_ns://host:a", "fi_shm://host:a" },
		{ "my-own://a", "fi_shm://a" },
		{ "a", "fi_shm://a" },
		{ "://a", "fi_shm://://a" },
		{ "x://y://z", "fi_shm://y://z" },
		{ "", NULL },
		{ "fi_shm://", NULL },
		{ "a\nb", NULL },
	};
	char ret[WF_ADDRSTR_MAX], zeroes[WF_ADDRSTR_MAX] = "";

	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		size_t len = strlen(rows[i].text) + 1;

		memset(ret, '#', sizeof(ret));
		assert_false(wf_addrstr_spell(ret, rows[i].text, len - 1));
		assert_true(wf_addrstr_spell(ret, rows[i].text, len) ==
			    (rows[i].spelled != NULL));
		if (!rows[i].spelled)
			continue;
		len = strlen(rows[i].spelled);
		assert_memory_equal(ret, rows[i].spelled, len);
		assert_memory_equal(ret + len, zeroes, sizeof(ret) - len);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(parts),
		cmocka_unit_test(malformed),
		cmocka_unit_test(long_form_is_recognised),
		cmocka_unit_test(numeric_addresses),
		cmocka_unit_test(too_long_parts_are_refused),
		cmocka_unit_test(every_uri_of_ours_is_read),
		cmocka_unit_test(names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
