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

static void formats_fix_the_family(void **state)
{
	static const struct {
		const char *text;
		int err, family;
	} rows[] = {
		{ "fi_sockaddr_in://192.0.2.1:80", 0, AF_INET },
		{ "fi_sockaddr_in6", 0, AF_INET6 },
		{ "FI_SOCKADDR://192.0.2.1", 0, AF_UNSPEC },
		{ "fi_sockaddr_ip://[fd00::1]:80", 0, AF_UNSPEC },
		{ "fi_sockaddr_ib://[::1]:1", -EAFNOSUPPORT, 0 },
		{ "fi_shm://name", -EAFNOSUPPORT, 0 },
	};
	struct wf_addrstr str;
	int family;

	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		family = 0;
		assert_int_equal(wf_addrstr_parse(rows[i].text, &str), 0);
		assert_int_equal(wf_addrstr_family(&str, &family), rows[i].err);
		assert_int_equal(family, rows[i].family);
	}
}

static void parts_are_copied_or_refused(void **state)
{
	char text[2 * WF_ADDRSTR_NODE_MAX] = "fi_sockaddr_in://";
	char node[WF_ADDRSTR_NODE_MAX], service[WF_ADDRSTR_SERVICE_MAX];
	struct wf_addrstr str;
	size_t used = strlen(text);

	assert_int_equal(
		wf_addrstr_parse("fi_sockaddr_in://192.0.2.1:80?qos=3", &str), 0);
	assert_int_equal(wf_addrstr_copy(&str.node, node, sizeof(node)), 0);
	assert_string_equal(node, "192.0.2.1");
	assert_int_equal(wf_addrstr_copy(&str.service, service, sizeof(service)), 0);
	assert_string_equal(service, "80");
	assert_int_equal(wf_addrstr_parse("fi_sockaddr_in://192.0.2.1\n:80", &str), 0);
	assert_int_equal(wf_addrstr_copy(&str.node, node, sizeof(node)), -EINVAL);
	memset(text + used, '1', WF_ADDRSTR_NODE_MAX);
	assert_int_equal(wf_addrstr_parse(text, &str), 0);
	assert_int_equal(wf_addrstr_copy(&str.node, node, sizeof(node)), -EINVAL);
	text[used + 1] = ':';
	assert_int_equal(wf_addrstr_parse(text, &str), 0);
	assert_int_equal(
		wf_addrstr_copy(&str.service, service, sizeof(service)), -EINVAL);
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
		cmocka_unit_test(formats_fix_the_family),
		cmocka_unit_test(parts_are_copied_or_refused),
		cmocka_unit_test(names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
