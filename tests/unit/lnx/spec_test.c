/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include "providers/lnx/spec.h"

/* FI_LNX_PROV_LINKS */

static struct lnx_spec parsed(const char *text)
{
	struct lnx_text where;
	struct lnx_spec spec;
	const char *why;

	assert_true(lnx_spec_parse(text, &spec, &why, &where));
	return spec;
}

static void refused(const char *text, const char *provider)
{
	struct lnx_spec spec = { .link_count = 77 };
	struct lnx_text where;
	const char *why = NULL;

	assert_false(lnx_spec_parse(text, &spec, &why, &where));
	assert_non_null(why);
	assert_true(lnx_text_is(&where, provider));
	assert_int_equal(spec.link_count, 77);
}

static void providers_and_domains(void **state)
{
	struct lnx_spec spec =
		parsed(" shm + tcp : eth0 , eth1 | tcp;ofi_rxm+CXI:cxi0");
	const struct lnx_spec_link *first = &spec.link[0], *second = &spec.link[1];

	assert_int_equal(spec.link_count, 2);
	assert_int_equal(first->provider_count, 2);
	assert_true(lnx_text_is(&first->provider[0].name, "shm"));
	assert_int_equal(first->provider[0].domain_count, 0);
	assert_true(lnx_text_is(&first->provider[1].name, "tcp"));
	assert_int_equal(first->provider[1].domain_count, 2);
	assert_true(lnx_text_is(&first->provider[1].domain[0], "eth0"));
	assert_true(lnx_text_is(&first->provider[1].domain[1], "eth1"));
	assert_true(lnx_text_is(&second->provider[0].name, "tcp;ofi_rxm"));
	assert_true(lnx_text_is(&second->provider[1].name, "cxi"));
	assert_true(lnx_text_is(&second->provider[1].domain[0], "cxi0"));
}

static void names_may_hold_what_separates_nothing(void **state)
{
	struct lnx_spec spec = parsed("lnxish:a.b-c_d");

	assert_true(lnx_text_is(&spec.link[0].provider[0].name, "lnxish"));
	assert_true(lnx_text_is(&spec.link[0].provider[0].domain[0], "a.b-c_d"));
}

static void mistakes_are_named(void **state)
{
	refused("", "");
	refused("shm+", "");
	refused("|shm", "");
	refused("shm + lnx", "lnx");
	refused("tcp;LNX", "tcp;LNX");
	refused("tcp:", "tcp");
	refused("tcp:eth0,,eth1", "tcp");
	refused(":eth0", "");
	refused("a+a+a+a+a+a+a+a+b", "b");
	refused("a|a|a|a|a|a|a|a|b", "b");
	refused("t:1,2,3,4,5,6,7,8,9", "9");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(providers_and_domains),
		cmocka_unit_test(names_may_hold_what_separates_nothing),
		cmocka_unit_test(mistakes_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
