/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_prov.h>

#include "capture.h"
#include "core/params/conf.h"
#include "core/init.h"
#include "core/params/param.h"
#include "sys/compiler.h"

static struct fi_provider tcp = { .name = "tcp" };

void wf_core_init(void)
{
}

/* Make the library read @text as its configuration file. */
static void use(const char *text, size_t len)
{
	char path[] = "/tmp/weft-conf-XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, len), (ssize_t)len);
	assert_int_equal(close(fd), 0);
	wf_conf_use_file(path);
	assert_int_equal(unlink(path), 0);
}

static void use_text(const char *text)
{
	use(text, strlen(text));
}

static int setup(void **state)
{
	(void)unsetenv("FI_TCP_IFACE");
	(void)unsetenv("FI_PREFER_SYSCONFIG");
	return fi_param_define(&tcp, "iface", FI_PARAM_STRING, "h");
}

static void expect_iface(const char *expected)
{
	char *text = NULL;

	assert_int_equal(fi_param_get_str(&tcp, "iface", &text), 0);
	assert_string_equal(text, expected);
}

/* PRV-033 */
static void file_fills_what_is_unset(void **state)
{
	char *text;

	use_text("# site defaults\n\n  FI_TCP_IFACE = ib0 \nFI_X=a=b\n");
	expect_iface("ib0");
	assert_string_equal(wf_conf_value("FI_X"), "a=b");
	assert_int_equal(setenv("FI_TCP_IFACE", "eth0", 1), 0);
	expect_iface("eth0");
	use_text("");
	expect_iface("eth0");
	assert_int_equal(unsetenv("FI_TCP_IFACE"), 0);
	assert_int_equal(fi_param_get_str(&tcp, "iface", &text), -FI_ENODATA);
}

/* PRV-033 */
static void file_may_be_preferred(void **state)
{
	assert_int_equal(setenv("FI_TCP_IFACE", "eth0", 1), 0);
	assert_int_equal(setenv("FI_PREFER_SYSCONFIG", "1", 1), 0);
	use_text("FI_TCP_IFACE=ib0\n");
	expect_iface("ib0");
	use_text("FI_OTHER=ib0\n");
	expect_iface("eth0");

	assert_int_equal(setenv("FI_PREFER_SYSCONFIG", "0", 1), 0);
	use_text("FI_TCP_IFACE=ib0\nFI_PREFER_SYSCONFIG=1\n");
	expect_iface("eth0");
	assert_int_equal(unsetenv("FI_PREFER_SYSCONFIG"), 0);
	use_text("FI_TCP_IFACE=ib0\nFI_PREFER_SYSCONFIG=1\n");
	expect_iface("ib0");
}

/* PRV-033, PRV-034 */
static void listed_values_include_the_file(void **state)
{
	struct fi_param *params;
	int count, i, seen = 0;

	use_text("FI_TCP_IFACE=ib7\n");
	assert_int_equal(fi_getparams(&params, &count), 0);
	for (i = 0; i < count; i++) {
		if (strcmp(params[i].name, "FI_TCP_IFACE") == 0) {
			assert_string_equal(params[i].value, "ib7");
			seen++;
		}
	}
	assert_int_equal(seen, 1);
	fi_freeparams(params);
}

static void shapes_of_lines(void **state)
{
	use_text("FI_A=1\nFI_A=2\n\t#x\nFI_B=\n=5\nno equals\nFI C=3\nFI_D=\"x y\"\r\n"
		 "FI_LAST=end");
	assert_string_equal(wf_conf_value("FI_A"), "2");
	assert_string_equal(wf_conf_value("FI_B"), "");
	assert_string_equal(wf_conf_value("FI_D"), "\"x y\"");
	assert_string_equal(wf_conf_value("FI_LAST"), "end");
	assert_null(wf_conf_value("FI C"));
	assert_null(wf_conf_value(""));
	assert_string_equal(wf_conf_file_var(0), "FI_A");
	assert_null(wf_conf_file_var(5));
	capture_start();
	wf_conf_report();
	assert_non_null(strstr(capture_end(), " line 5 is not VAR=value"));
}

/* Neither first nor second: the environment stays first, and it is told. */
static void preference_that_is_none(void **state)
{
	static const struct {
		const char *value;
		bool told;
	} rows[] = { { "maybe", true }, { "no", false }, { "yes", false } };

	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		setenv("FI_PREFER_SYSCONFIG", rows[i].value, 1);
		setenv("FI_TCP_IFACE", "eth0", 1);
		use_text("FI_TCP_IFACE=ib0\n");
		expect_iface(strcmp(rows[i].value, "yes") ? "eth0" : "ib0");
		capture_start();
		wf_conf_report();
		assert_int_equal(strstr(capture_end(), "FI_PREFER_SYSCONFIG") != NULL,
			rows[i].told);
	}
}

/* Bytes of all sorts are only more or less sensible text. */
static void rubbish(void **state)
{
	char bytes[20000];
	unsigned int seed = 1, i, round;

	for (round = 0; round < 20; round++) {
		for (i = 0; i < sizeof(bytes); i++) {
			seed = seed * 1103515245 + 12345;
			bytes[i] = "FI_A=\n\0#\t \xff\"x"[(seed >> 16) % 14];
		}
		use(bytes, sizeof(bytes));
		(void)wf_conf_value("FI_A");
		for (i = 0; wf_conf_file_var(i); i++)
			assert_true(*wf_conf_file_var(i) != '\0');
	}
	memset(bytes, 'A', sizeof(bytes));
	use(bytes, sizeof(bytes));
	assert_null(wf_conf_file_var(0));
}

static void absent_file_is_no_problem(void **state)
{
	wf_conf_use_file("/nonexistent/libfabric.conf");
	assert_null(wf_conf_file_var(0));
	capture_start();
	wf_conf_report();
	assert_string_equal(capture_end(), "");
	wf_conf_use_file("/");
	assert_null(wf_conf_file_var(0));
}

/* A misspelt name in the file is reported like one in the environment. */
static void unknown_names_in_the_file(void **state)
{
	static const char twice[] = "FI_UTTERLY_OTHER is set";
	const char *text, *first;

	use_text("FI_TCP_IFCAE=ib0\nFI_LOG_LEVEL=info\nFI_UTTERLY_OTHER=1\n");
	assert_int_equal(setenv("FI_UTTERLY_OTHER", "2", 1), 0);
	capture_start();
	wf_params_warn_unknown();
	text = capture_end();
	assert_non_null(strstr(text, "FI_TCP_IFCAE is set, but nothing reads it; "
				     "did you mean FI_TCP_IFACE?"));
	assert_null(strstr(text, "FI_LOG_LEVEL is set"));
	/* Set in both places, it has one line. */
	first = strstr(text, twice);
	assert_non_null(first);
	assert_null(strstr(first + 1, twice));
	assert_int_equal(unsetenv("FI_UTTERLY_OTHER"), 0);
}

static int teardown(void **state)
{
	wf_conf_fini();
	wf_params_fini();
	return 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(file_fills_what_is_unset, setup),
		cmocka_unit_test_setup(file_may_be_preferred, setup),
		cmocka_unit_test_setup(listed_values_include_the_file, setup),
		cmocka_unit_test_setup(shapes_of_lines, setup),
		cmocka_unit_test_setup(preference_that_is_none, setup),
		cmocka_unit_test_setup(rubbish, setup),
		cmocka_unit_test_setup(absent_file_is_no_problem, setup),
		cmocka_unit_test_setup(unknown_names_in_the_file, setup),
	};

	return cmocka_run_group_tests(tests, NULL, teardown);
}
