/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake.h"

const struct wf_known_prov wf_known_provs[] = {
	{ "first" },
	{ "second" },
	{ "second;ofi_up" },
	{ NULL },
};
const wf_prov_ini_fn wf_builtin_providers[] = { NULL };
const struct wf_stand_in wf_stand_ins[] = { { NULL } };

static char cleaned[64];

static int no_results(uint32_t version, const char *node, const char *service,
	uint64_t flags, const struct fi_info *hints, struct fi_info **info)
{
	return -FI_ENODATA;
}

/* Value of a provider's parameter when the provider's cleanup is called. */
static int param_at_cleanup;
static struct fi_provider with_param = { .name = "x" };

static void cleanup_a(void)
{
	char *value;

	(void)strcat(cleaned, "a");
	param_at_cleanup = fi_param_get(&with_param, "knob", &value);
}

static void cleanup_b(void)
{
	(void)strcat(cleaned, "b");
}

/* The registry lets go of them only when the next test starts. */
static struct fi_provider pool[4];

static struct fi_provider *provider(
	unsigned int i, const char *name, uint32_t version, void (*cleanup)(void))
{
	pool[i] = (struct fi_provider){ .name = name,
		.version = version,
		.fi_version = FAKE_VERSION,
		.getinfo = no_results,
		.fabric = fake_fabric,
		.cleanup = cleanup };
	return &pool[i];
}

static int add(struct fi_provider *prov, bool preferred, bool first_wins)
{
	struct wf_prov_source source = { .origin = "a place", .preferred = preferred };

	return wf_registry_add(prov, &source, first_wins);
}

static struct fi_provider *found(const char *name)
{
	struct wf_prov_entry *entry =
		wf_registry_find(&(struct wf_layer){ name, strlen(name) });

	return entry ? entry->prov : NULL;
}

static int start(void **state)
{
	struct fi_provider *const none[] = { NULL };

	fake_start(NULL, none);
	cleaned[0] = '\0';
	return 0;
}

static void refused(struct fi_provider *prov, const char *why)
{
	cleaned[0] = '\0';
	assert_int_equal(add(prov, false, false), -FI_EINVAL);
	assert_string_equal(cleaned, "a");
	assert_logged("warning core: provider from a place is refused: ");
	assert_logged(why);
}

/* PRV-009, PRV-011, PRV-012 */
static void defects(void **state)
{
	struct fi_provider *p = provider(0, NULL, 1, cleanup_a);

	refused(p, "its name is not");
	p->name = "a;b";
	refused(p, "its name is not");
	p->name = "fine";
	p->fi_version = FI_VERSION(1, 2);
	refused(p, "older than 1.3");
	p->fi_version = FI_VERSION(1, 3);
	p->fabric = NULL;
	refused(p, "no fabric callback");
	assert_null(found("fine"));
	p->fabric = fake_fabric;
	p->getinfo = NULL;
	assert_int_equal(add(p, false, false), 0);
	assert_ptr_equal(found("FINE"), p);
}

/* PRV-019 */
static void newest_wins(void **state)
{
	struct fi_provider *a = provider(0, "x", FI_VERSION(1, 0), cleanup_a);
	struct fi_provider *b = provider(1, "X", FI_VERSION(1, 1), cleanup_b);
	struct fi_provider *same = provider(2, "x", FI_VERSION(1, 1), cleanup_a);

	assert_int_equal(add(a, false, false), 0);
	assert_int_equal(add(b, false, false), 0);
	assert_ptr_equal(found("x"), b);
	assert_string_equal(cleaned, "a");
	assert_int_equal(add(same, false, false), -FI_EALREADY);
	assert_ptr_equal(found("x"), b);
	assert_string_equal(cleaned, "aa");
	assert_logged("provider X: 1.1 from a place is used");
}

/* PRV-019 */
static void first_wins(void **state)
{
	struct fi_provider *a = provider(0, "x", FI_VERSION(1, 0), cleanup_a);
	struct fi_provider *b = provider(1, "x", FI_VERSION(1, 1), cleanup_b);

	assert_int_equal(add(a, false, true), 0);
	assert_int_equal(add(b, false, true), -FI_EALREADY);
	assert_ptr_equal(found("x"), a);
	assert_string_equal(cleaned, "b");
}

/* PRV-020 */
static void preferred_wins(void **state)
{
	struct fi_provider *a = provider(0, "x", FI_VERSION(9, 0), cleanup_a);
	struct fi_provider *b = provider(1, "x", FI_VERSION(1, 1), cleanup_b);

	assert_int_equal(add(a, false, true), 0);
	assert_int_equal(add(b, true, true), 0);
	assert_ptr_equal(found("x"), b);
	assert_int_equal(add(a, false, false), -FI_EALREADY);
	assert_int_equal(add(a, true, false), -FI_EALREADY);
	assert_ptr_equal(found("x"), b);
}

static unsigned int rank(const char *name)
{
	struct wf_layers layers;

	assert_true(wf_layers_parse(name, strlen(name), &layers));
	return wf_prov_rank(&layers);
}

/* GI-050, GI-051 */
static void fixed_order(void **state)
{
	static const char *const added[] = { "zz", "second", "aa", "FIRST" };
	static const char *const order[] = { "FIRST", "second", "zz", "aa" };
	unsigned int i;

	for (i = 0; i < 4; i++)
		assert_int_equal(add(provider(i, added[i], 1, NULL), false, false), 0);
	i = 0;
	wf_registry_foreach(entry) assert_string_equal(entry->prov->name, order[i++]);
	assert_int_equal(i, 4);
	assert_int_equal(rank("first"), 0);
	assert_int_equal(rank("second"), 1);
	assert_int_equal(rank("second;ofi_up"), 2);
	assert_int_equal(rank("other;second"), 1);
	assert_int_equal(rank("second;other"), 3);
	assert_int_equal(rank("other"), 3);
}

/* PRV-013 */
static void parameters_go_before_the_provider(void **state)
{
	char *value;

	with_param = *provider(0, "x", 1, cleanup_a);
	assert_int_equal(
		fi_param_define(&with_param, "knob", FI_PARAM_STRING, "help"), 0);
	assert_int_equal(add(&with_param, false, false), 0);
	assert_int_equal(fi_param_get(&with_param, "knob", &value), -FI_ENODATA);
	param_at_cleanup = 1;
	wf_registry_done();
	assert_int_equal(param_at_cleanup, -FI_ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(defects, start),
		cmocka_unit_test_setup(newest_wins, start),
		cmocka_unit_test_setup(first_wins, start),
		cmocka_unit_test_setup(preferred_wins, start),
		cmocka_unit_test_setup(fixed_order, start),
		cmocka_unit_test_setup(parameters_go_before_the_provider, start),
	};

	(void)setenv("FI_PROVIDER_PATH", "/nonexistent", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
