/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_prov.h>

#include "capture.h"
#include "core/params/conf.h"
#include "core/init.h"
#include "sys/nearest.h"
#include "core/params/param.h"
#include "sys/compiler.h"

static struct fi_provider tcp = { .name = "tcp" };
static struct fi_provider rxm = { .name = "ofi_rxm" };
static int init_calls;

/* What the library's start would do, for fi_getparams. */
void wf_core_init(void)
{
	if (init_calls++ == 0)
		assert_int_equal(
			fi_param_define(&rxm, "from_init", FI_PARAM_BOOL, "h"), 0);
}

static const struct fi_param *row(const struct fi_param *params, const char *name)
{
	for (; params->name; params++) {
		if (strcmp(params->name, name) == 0)
			return params;
	}
	return NULL;
}

/* PRV-025 */
static void define_checks_and_copies(void **state)
{
	char name[] = "copied", fmt[] = "help %d";
	struct fi_provider nameless = { 0 };
	struct fi_param *params;
	int count;

	assert_int_equal(fi_param_define(&tcp, NULL, FI_PARAM_INT, "h"), -FI_EINVAL);
	assert_int_equal(fi_param_define(&tcp, "x", FI_PARAM_INT, NULL), -FI_EINVAL);
	assert_int_equal(fi_param_define(&tcp, "x", FI_PARAM_INT, ""), -FI_EINVAL);
	assert_int_equal(
		fi_param_define(&tcp, "x", (enum fi_param_type)9, "h"), -FI_EINVAL);
	assert_int_equal(
		fi_param_define(&nameless, "x", FI_PARAM_INT, "h"), -FI_EINVAL);

	assert_int_equal(fi_param_define(&tcp, name, FI_PARAM_INT, fmt, 5), 0);
	memset(name, 'x', sizeof(name) - 1);
	memset(fmt, 'x', sizeof(fmt) - 1);
	assert_int_equal(wf_params_list(&params, &count), 0);
	assert_non_null(row(params, "FI_TCP_COPIED"));
	assert_string_equal(row(params, "FI_TCP_COPIED")->help_string, "tcp: help 5");
	fi_freeparams(params);
	wf_params_forget(&tcp);
}

/* PRV-026, PRV-027, PRV-034 */
static void list(void **state)
{
	struct fi_param *params;
	int count, i, n = 0;

	assert_int_equal(fi_param_define(&rxm, "tx_size", FI_PARAM_SIZE_T, "depth"), 0);
	assert_int_equal(
		fi_param_define(NULL, "unit_core", FI_PARAM_BOOL, "switch"), 0);
	assert_int_equal(setenv("FI_UNIT_CORE", "yes", 1), 0);
	assert_int_equal(fi_getparams(&params, &count), 0);
	for (i = 0; i < count; i++) {
		assert_non_null(params[i].name);
		assert_non_null(params[i].help_string);
	}
	assert_null(params[count].name);
	assert_string_equal(
		row(params, "FI_OFI_RXM_TX_SIZE")->help_string, "ofi_rxm: depth");
	assert_int_equal(row(params, "FI_OFI_RXM_TX_SIZE")->type, FI_PARAM_SIZE_T);
	assert_null(row(params, "FI_OFI_RXM_TX_SIZE")->value);
	assert_string_equal(row(params, "FI_UNIT_CORE")->help_string, "switch");
	assert_string_equal(row(params, "FI_UNIT_CORE")->value, "yes");
	/* The list is the caller's own. */
	assert_int_equal(setenv("FI_UNIT_CORE", "no", 1), 0);
	wf_params_forget(&rxm);
	assert_string_equal(row(params, "FI_UNIT_CORE")->value, "yes");
	assert_string_equal(
		row(params, "FI_OFI_RXM_TX_SIZE")->help_string, "ofi_rxm: depth");
	fi_freeparams(params);
	fi_freeparams(NULL);

	/* Defined again: one entry, the new text. */
	assert_int_equal(fi_param_define(&tcp, "twice", FI_PARAM_INT, "one"), 0);
	assert_int_equal(fi_param_define(&tcp, "twice", FI_PARAM_BOOL, "two"), 0);
	assert_int_equal(wf_params_list(&params, &count), 0);
	for (i = 0; i < count; i++)
		n += strcmp(params[i].name, "FI_TCP_TWICE") == 0;
	assert_int_equal(n, 1);
	assert_string_equal(row(params, "FI_TCP_TWICE")->help_string, "tcp: two");
	fi_freeparams(params);
	assert_int_equal(fi_getparams(NULL, &count), -FI_EINVAL);
	assert_int_equal(fi_getparams(&params, NULL), -FI_EINVAL);
	assert_int_equal(unsetenv("FI_UNIT_CORE"), 0);
	wf_params_forget(&tcp);
}

/* PRV-035 */
static void list_starts_the_library(void **state)
{
	struct fi_param *params;
	int count;

	init_calls = 0;
	wf_params_forget(&rxm);
	assert_int_equal(fi_getparams(&params, &count), 0);
	assert_int_equal(init_calls, 1);
	assert_non_null(row(params, "FI_OFI_RXM_FROM_INIT"));
	fi_freeparams(params);
}

/* PRV-028, PRV-029 */
static void get_refuses(void **state)
{
	int value = 77;

	assert_int_equal(fi_param_define(&tcp, "known", FI_PARAM_BOOL, "h"), 0);
	assert_int_equal(unsetenv("FI_TCP_KNOWN"), 0);
	assert_int_equal(fi_param_get(&tcp, "unknown", &value), -FI_ENOENT);
	assert_int_equal(fi_param_get(&rxm, "known", &value), -FI_ENOENT);
	assert_int_equal(fi_param_get(&tcp, "known", &value), -FI_ENODATA);
	assert_int_equal(setenv("FI_TCP_KNOWN", "perhaps", 1), 0);
	assert_int_equal(fi_param_get(&tcp, "known", &value), -FI_EINVAL);
	assert_int_equal(value, 77);
	assert_int_equal(fi_param_get(&tcp, NULL, &value), -FI_EINVAL);
	assert_int_equal(fi_param_get(&tcp, "known", NULL), -FI_EINVAL);
	assert_int_equal(unsetenv("FI_TCP_KNOWN"), 0);
	wf_params_forget(&tcp);
	assert_int_equal(fi_param_get(&tcp, "known", &value), -FI_ENOENT);
}

/* PRV-030 */
static void booleans(void **state)
{
	static const struct {
		const char *text;
		int ret, value;
	} rows[] = {
		{ "0", 0, 0 },
		{ "1", 0, 1 },
		{ "no", 0, 0 },
		{ "YES", 0, 1 },
		{ "Off", 0, 0 },
		{ "oN", 0, 1 },
		{ "false", 0, 0 },
		{ "True", 0, 1 },
		{ "2", -FI_EINVAL, 77 },
		{ "", -FI_EINVAL, 77 },
		{ "yes ", -FI_EINVAL, 77 },
		{ "-1", -FI_EINVAL, 77 },
	};
	size_t i;
	int value;

	assert_int_equal(fi_param_define(&tcp, "b", FI_PARAM_BOOL, "h"), 0);
	for (i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		value = 77;
		assert_int_equal(setenv("FI_TCP_B", rows[i].text, 1), 0);
		assert_int_equal(fi_param_get_bool(&tcp, "b", &value), rows[i].ret);
		assert_int_equal(value, rows[i].value);
	}
	assert_int_equal(unsetenv("FI_TCP_B"), 0);
	wf_params_forget(&tcp);
}

/* PRV-031 */
static void numbers(void **state)
{
	static const struct {
		const char *text;
		int int_ret, int_value, size_ret;
		size_t size_value;
	} rows[] = {
		{ "12", 0, 12, 0, 12 },
		{ "0x10", 0, 16, 0, 16 },
		{ "010", 0, 8, 0, 8 },
		{ "-5", 0, -5, 0, SIZE_MAX - 4 },
		{ "-1", 0, -1, 0, SIZE_MAX },
		{ "", 0, 0, 0, 0 },
		{ "abc", 0, 0, 0, 0 },
		{ "12abc", 0, 12, 0, 12 },
		{ "2147483647", 0, INT_MAX, 0, INT_MAX },
		{ "2147483648", -FI_EINVAL, 77, 0, 2147483648u },
		{ "-2147483648", 0, INT_MIN, 0, SIZE_MAX - INT_MAX },
		{ "-2147483649", -FI_EINVAL, 77, 0, SIZE_MAX - INT_MAX - 1 },
		{ "-99999999999999999999", -FI_EINVAL, 77, -FI_EINVAL, 77 },
		{ "18446744073709551615", -FI_EINVAL, 77, 0, SIZE_MAX },
		{ "99999999999999999999", -FI_EINVAL, 77, -FI_EINVAL, 77 },
	};
	size_t i, size;
	int value;

	assert_int_equal(fi_param_define(&tcp, "i", FI_PARAM_INT, "h"), 0);
	assert_int_equal(fi_param_define(&tcp, "s", FI_PARAM_SIZE_T, "h"), 0);
	for (i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		value = 77;
		size = 77;
		assert_int_equal(setenv("FI_TCP_I", rows[i].text, 1), 0);
		assert_int_equal(setenv("FI_TCP_S", rows[i].text, 1), 0);
		assert_int_equal(fi_param_get_int(&tcp, "i", &value), rows[i].int_ret);
		assert_int_equal(value, rows[i].int_value);
		assert_int_equal(
			fi_param_get_size_t(&tcp, "s", &size), rows[i].size_ret);
		assert_true(size == rows[i].size_value);
	}
	assert_int_equal(unsetenv("FI_TCP_I"), 0);
	assert_int_equal(unsetenv("FI_TCP_S"), 0);
	wf_params_forget(&tcp);
}

/* PRV-032 */
static void strings_belong_to_the_environment(void **state)
{
	char *text = NULL;

	assert_int_equal(fi_param_define(&tcp, "iface", FI_PARAM_STRING, "h"), 0);
	assert_int_equal(setenv("FI_TCP_IFACE", "eth0", 1), 0);
	assert_int_equal(fi_param_get_str(&tcp, "iface", &text), 0);
	assert_ptr_equal(text, getenv("FI_TCP_IFACE"));
	assert_int_equal(unsetenv("FI_TCP_IFACE"), 0);
	wf_params_forget(&tcp);
}

/* PRV-028: a strange value is not taken in silence. */
static void odd_values_are_logged(void **state)
{
	const char *text;
	int value;

	assert_int_equal(fi_param_define(&tcp, "i", FI_PARAM_INT, "h"), 0);
	assert_int_equal(setenv("FI_TCP_I", "12abc", 1), 0);
	wf_log_forget_notices();
	capture_start();
	assert_int_equal(fi_param_get_int(&tcp, "i", &value), 0);
	text = capture_end();
	assert_non_null(strstr(text, "tcp 0 0 FI_TCP_I is \"12abc\": "));
	assert_int_equal(unsetenv("FI_TCP_I"), 0);
	wf_params_forget(&tcp);
}

/* Every variable of the core is listed, and named as the table says. PRV-026 */
static void core_table(void **state)
{
	struct fi_param *params;
	char var[64];
	size_t i, c;
	int count;

	assert_int_equal(wf_params_list(&params, &count), 0);
	assert_true((size_t)count >= wf_core_param_count);
	for (i = 0; i < wf_core_param_count; i++) {
		(void)snprintf(var, sizeof(var), "FI_%s", wf_core_params[i].name);
		assert_int_equal(strcasecmp(params[i].name, var), 0);
		for (c = 0; params[i].name[c]; c++)
			assert_false(
				params[i].name[c] >= 'a' && params[i].name[c] <= 'z');
		assert_int_equal(params[i].type, wf_core_params[i].type);
		assert_non_null(
			strstr(params[i].help_string, wf_core_params[i].default_text));
	}
	fi_freeparams(params);
}

static void distance(void **state)
{
	assert_int_equal(wf_edit_distance("", ""), 0);
	assert_int_equal(wf_edit_distance("", "abc"), 3);
	assert_int_equal(wf_edit_distance("abc", ""), 3);
	assert_int_equal(wf_edit_distance("abc", "abc"), 0);
	assert_int_equal(wf_edit_distance("abc", "abd"), 1);
	assert_int_equal(wf_edit_distance("abcd", "acbd"), 1);
	assert_int_equal(wf_edit_distance("abcd", "bcd"), 1);
	assert_int_equal(wf_edit_distance("kitten", "sitting"), 3);
}

static size_t count_of(const char *text, const char *part)
{
	size_t n = 0;

	while ((text = strstr(text, part))) {
		n++;
		text += strlen(part);
	}
	return n;
}

static void unknown_variables(void **state)
{
	char longest[300] = "FI_";
	const char *text;

	/* Too long for a name of the library. */
	memset(longest + 3, 'L', sizeof(longest) - 4);
	assert_int_equal(setenv(longest, "1", 1), 0);

	assert_int_equal(fi_param_define(&tcp, "iface", FI_PARAM_STRING, "h"), 0);
	assert_int_equal(setenv("FI_LOG_LEVLE", "info", 1), 0);
	assert_int_equal(setenv("FI_TCP_IFCAE", "eth0", 1), 0);
	assert_int_equal(setenv("FI_TCP_IFACE", "eth0", 1), 0);
	assert_int_equal(setenv("FI_QUITE_DIFFERENT_THING", "1", 1), 0);
	assert_int_equal(setenv("FI_EFA_USE_DEVICE_RDMA", "1", 1), 0);
	assert_int_equal(setenv("FI_MR_CUDA_CACHE_MONITOR_ENABLED", "0", 1), 0);
	assert_int_equal(setenv("FI_", "1", 1), 0);
	assert_int_equal(setenv("UFI_X", "1", 1), 0);
	capture_start();
	wf_params_warn_unknown();
	wf_params_warn_unknown();
	text = capture_end();
	assert_non_null(
		strstr(text, "core 0 0 FI_LOG_LEVLE is set, but nothing reads it; "
			     "did you mean FI_LOG_LEVEL?\n"));
	assert_int_equal(count_of(text, "FI_LOG_LEVLE"), 1);
	assert_non_null(strstr(text, "did you mean FI_TCP_IFACE?\n"));
	assert_non_null(strstr(
		text, "FI_QUITE_DIFFERENT_THING is set, but nothing reads it\n"));
	assert_non_null(strstr(text, "core 2 0 FI_EFA_USE_DEVICE_RDMA is set"));
	assert_non_null(
		strstr(text, "core 2 0 FI_MR_CUDA_CACHE_MONITOR_ENABLED is set"));
	assert_null(strstr(text, "UFI_X"));
	assert_null(strstr(text, "LLL"));
	assert_null(strstr(text, "FI_TCP_IFACE is set"));
	wf_params_forget(&tcp);
}

static void *hammer(void *arg)
{
	struct fi_provider own = { .name = arg };
	struct fi_param *params;
	int i, count, value;

	for (i = 0; i < 200; i++) {
		if (fi_param_define(&own, "x", FI_PARAM_INT, "h %d", i) ||
			fi_param_get_int(&own, "x", &value) != -FI_ENODATA ||
			wf_params_list(&params, &count))
			return arg;
		fi_freeparams(params);
		wf_params_forget(&own);
	}
	return NULL;
}

static void threads(void **state)
{
	static char names[4][4] = { "p1", "p2", "p3", "p4" };
	pthread_t workers[4];
	void *failed;
	int i;

	for (i = 0; i < 4; i++)
		assert_int_equal(
			pthread_create(&workers[i], NULL, hammer, names[i]), 0);
	for (i = 0; i < 4; i++) {
		assert_int_equal(pthread_join(workers[i], &failed), 0);
		assert_null(failed);
	}
}

static void fini_frees_all(void **state)
{
	struct fi_param *params;
	int count;

	wf_params_fini();
	/* The core's come back with the next use. */
	assert_int_equal(wf_params_list(&params, &count), 0);
	assert_int_equal((size_t)count, wf_core_param_count);
	fi_freeparams(params);
	wf_params_fini();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(define_checks_and_copies),
		cmocka_unit_test(list),
		cmocka_unit_test(list_starts_the_library),
		cmocka_unit_test(get_refuses),
		cmocka_unit_test(booleans),
		cmocka_unit_test(numbers),
		cmocka_unit_test(strings_belong_to_the_environment),
		cmocka_unit_test(odd_values_are_logged),
		cmocka_unit_test(core_table),
		cmocka_unit_test(distance),
		cmocka_unit_test(unknown_variables),
		cmocka_unit_test(threads),
		cmocka_unit_test(fini_frees_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
