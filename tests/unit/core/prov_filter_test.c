/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <setjmp.h>
#include <string.h>
#include <cmocka.h>

#include "core/prov_filter.h"

static struct wf_prov_filter filter;

static void use(const char *text)
{
	wf_prov_filter_done(&filter);
	assert_int_equal(wf_prov_filter_init(&filter, text), 0);
}

static bool provider(const char *name)
{
	return wf_prov_filter_admits(&filter, name);
}

static bool result(const char *name)
{
	struct wf_layers layers;

	assert_true(wf_layers_parse(name, strlen(name), &layers));
	return wf_prov_filter_admits_result(&filter, &layers);
}

static void empty_admits_everything(void **state)
{
	static const char *const texts[] = { NULL, "", "  ", "^", "^ ,", "^;" };

	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		use(texts[i]);
		assert_true(provider("tcp"));
		assert_true(provider("ofi_rxm"));
		assert_true(result("tcp;ofi_rxm"));
	}
}

/* PRV-001 */
static void list_in_any_case(void **state)
{
	use(" TCP , shm");
	assert_true(provider("tcp"));
	assert_true(provider("Shm"));
	assert_false(provider("udp"));
	assert_false(provider("tc"));
	assert_false(provider("tcpx"));
	assert_true(result("tcp"));
	assert_false(result("udp"));
}

/* PRV-002 */
static void wanted_list_restricts_transports_only(void **state)
{
	use("tcp");
	assert_true(provider("ofi_rxm"));
	assert_true(provider("ofi_hook_perf"));
	assert_true(provider("off_coll"));
	assert_false(provider("lnx"));
	assert_true(result("tcp;ofi_rxm"));
	assert_true(result("off_coll"));
	assert_true(result("ofi_mrail"));
	assert_false(result("udp;ofi_rxd"));
}

/* PRV-001, PRV-003 */
static void unwanted_list_rules_out_any_kind(void **state)
{
	use("^tcp,OFI_RXD,off_coll,ofi_hook_perf");
	assert_false(provider("tcp"));
	assert_false(provider("ofi_rxd"));
	assert_false(provider("off_coll"));
	assert_false(provider("ofi_hook_perf"));
	assert_true(provider("udp"));
	assert_true(provider("ofi_rxm"));
	assert_false(result("tcp;ofi_rxm"));
	assert_false(result("udp;ofi_rxd"));
	assert_true(result("udp;ofi_rxm"));
}

/* PRV-004 */
static void wanted_layering_keeps_its_transport(void **state)
{
	use("tcp;ofi_rxm");
	assert_true(provider("tcp"));
	assert_true(provider("ofi_rxm"));
	assert_false(provider("udp"));
	assert_false(result("tcp"));
	assert_true(result("tcp;ofi_rxm"));
	assert_true(result("tcp;ofi_rxm;ofi_mrail"));
	assert_false(result("tcp;ofi_rxd"));
}

/* PRV-005 */
static void unwanted_layering_leaves_its_parts(void **state)
{
	use("^tcp;ofi_rxm");
	assert_true(provider("tcp"));
	assert_true(provider("ofi_rxm"));
	assert_true(result("tcp"));
	assert_false(result("tcp;ofi_rxm"));
	assert_true(result("udp;ofi_rxm"));
	assert_true(result("tcp;ofi_rxd"));
}

static void layers_in_either_order(void **state)
{
	use("ofi_rxm;tcp");
	assert_true(result("tcp;ofi_rxm"));
	assert_true(result("ofi_rxm;tcp"));
	assert_false(result("tcp"));
}

/* Of three and more the order is what it is. */
static void more_layers_stay_in_order(void **state)
{
	static const char name[] = "ofi_rxm;tcp;ofi_top";
	struct wf_layers layers;

	assert_true(wf_layers_parse(name, strlen(name), &layers));
	assert_int_equal(layers.count, 3);
	assert_true(wf_layer_is(&layers.layer[0], "ofi_rxm"));
	assert_true(wf_layer_is(&layers.layer[1], "tcp"));
	assert_true(wf_layer_is(wf_layers_top(&layers), "ofi_top"));
}

static void malformed_items_are_left_out(void **state)
{
	use("tcp,;,a;;b,^udp,a;b;c;d;e;f;g;h;i,,");
	assert_int_equal(filter.count, 1);
	assert_true(provider("tcp"));
	assert_false(provider("udp"));
	/* Asking for nothing that exists is not asking for everything. */
	use(";");
	assert_int_equal(filter.count, 0);
	assert_false(provider("tcp"));
}

static void kinds(void **state)
{
	assert_int_equal(wf_prov_kind("tcp"), WF_PROV_CORE);
	assert_int_equal(wf_prov_kind("lnx"), WF_PROV_CORE);
	assert_int_equal(wf_prov_kind("ofi"), WF_PROV_CORE);
	assert_int_equal(wf_prov_kind("OFI_rxm"), WF_PROV_UTIL);
	assert_int_equal(wf_prov_kind("ofi_hook_perf"), WF_PROV_HOOK);
	assert_int_equal(wf_prov_kind("off_coll"), WF_PROV_OFFLOAD);
}

static void names(void **state)
{
	char longest[64];

	memset(longest, 'a', sizeof(longest));
	assert_false(wf_prov_name_valid(longest));
	longest[63] = '\0';
	assert_true(wf_prov_name_valid(longest));
	assert_true(wf_prov_name_valid("ofi_x-1.0"));
	assert_false(wf_prov_name_valid(""));
	assert_false(wf_prov_name_valid("a;b"));
	assert_false(wf_prov_name_valid("a,b"));
	assert_false(wf_prov_name_valid("^a"));
	assert_false(wf_prov_name_valid("a b"));
	assert_false(wf_prov_name_valid("a\n"));
	assert_false(wf_prov_name_valid("\xc3\xa4"));
	assert_false(wf_prov_name_valid("a="));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty_admits_everything),
		cmocka_unit_test(list_in_any_case),
		cmocka_unit_test(wanted_list_restricts_transports_only),
		cmocka_unit_test(unwanted_list_rules_out_any_kind),
		cmocka_unit_test(wanted_layering_keeps_its_transport),
		cmocka_unit_test(unwanted_layering_leaves_its_parts),
		cmocka_unit_test(layers_in_either_order),
		cmocka_unit_test(more_layers_stay_in_order),
		cmocka_unit_test(malformed_items_are_left_out),
		cmocka_unit_test(kinds),
		cmocka_unit_test(names),
	};
	int failed = cmocka_run_group_tests(tests, NULL, NULL);

	wf_prov_filter_done(&filter);
	return failed;
}
