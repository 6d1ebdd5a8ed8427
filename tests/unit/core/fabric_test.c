/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake.h"

const struct wf_known_prov wf_known_provs[] = { { NULL } };
const wf_prov_ini_fn wf_builtin_providers[] = { NULL };
const struct wf_stand_in wf_stand_ins[] = { { NULL } };

static struct fid_fabric base_fabric, layer_fabric, eye_fabric, ear_fabric;
static struct fi_fabric_attr seen;
static struct fid_fabric *eye_sits_on, *ear_sits_on;
static int eye_answer;

static int no_results(uint32_t version, const char *node, const char *service,
	uint64_t flags, const struct fi_info *hints, struct fi_info **info)
{
	return -FI_ENODATA;
}

static int base_open(
	struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
	seen = *attr;
	base_fabric = (struct fid_fabric){ .fid.context = context };
	*fabric = &base_fabric;
	return 0;
}

static int layer_open(
	struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
	*fabric = &layer_fabric;
	return 0;
}

static int eye_open(
	struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
	eye_sits_on = attr->fabric;
	*fabric = &eye_fabric;
	return eye_answer;
}

static int ear_open(
	struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
	ear_sits_on = attr->fabric;
	*fabric = &ear_fabric;
	return 0;
}

static int no_fabric(
	struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
	return 0;
}

static int blind_open(
	struct fi_fabric_attr *attr, struct fid_fabric **fabric, void *context)
{
	return 0;
}

#define PROVIDER(var, label, call, open)                                               \
	static struct fi_provider var = { .name = (label),                             \
		.fi_version = FAKE_VERSION,                                            \
		.getinfo = (call),                                                     \
		.fabric = (open) }

PROVIDER(base, "base", no_results, base_open);
PROVIDER(layer, "ofi_layer", no_results, layer_open);
PROVIDER(failing, "failing", no_results, fake_fabric);
PROVIDER(empty, "empty", no_results, no_fabric);
PROVIDER(eye, "ofi_hook_eye", NULL, eye_open);
PROVIDER(ear, "ofi_hook_ear", NULL, ear_open);
PROVIDER(blind, "ofi_hook_blind", NULL, blind_open);
static struct fi_provider old = { .name = "old",
	.fi_version = FI_VERSION(1, 4),
	.getinfo = no_results,
	.fabric = base_open };

static struct fi_provider *const all[] = { &base, &layer, &failing, &empty, &eye, &ear,
	&blind, &old, NULL };

static void start_with(const char *var, const char *value)
{
	const char *const env[] = { var, value, NULL };

	fake_start(var ? env : NULL, all);
	eye_sits_on = ear_sits_on = NULL;
	eye_answer = 0;
}

static int open_prov(char *prov_name, struct fid_fabric **fabric)
{
	struct fi_fabric_attr attr = {
		.name = "net", .prov_name = prov_name, .api_version = FI_VERSION(1, 9)
	};

	*fabric = NULL;
	return fi_fabric(&attr, fabric, &seen);
}

/* FAB-001 */
static void arguments(void **state)
{
	struct fi_fabric_attr attr = { 0 };
	struct fid_fabric *fabric;

	start_with(NULL, NULL);
	assert_int_equal(fi_fabric(NULL, &fabric, NULL), -FI_EINVAL);
	assert_int_equal(fi_fabric(&attr, &fabric, NULL), -FI_EINVAL);
	attr.name = "net";
	assert_int_equal(fi_fabric(&attr, &fabric, NULL), -FI_EINVAL);
	attr.prov_name = "base";
	assert_int_equal(fi_fabric(&attr, NULL, NULL), -FI_EINVAL);
	attr.name = NULL;
	assert_int_equal(fi_fabric(&attr, &fabric, NULL), -FI_EINVAL);
}

/* FAB-002 */
static void unknown_provider(void **state)
{
	struct fid_fabric *fabric;

	start_with("FI_PROVIDER", "^base");
	assert_int_equal(open_prov("nobody", &fabric), -FI_ENODEV);
	assert_int_equal(open_prov("", &fabric), -FI_ENODEV);
	assert_int_equal(open_prov("ofi_hook_eye", &fabric), -FI_ENODEV);
	assert_int_equal(open_prov("base", &fabric), -FI_ENODEV);
	assert_null(fabric);
	assert_logged("provider base is ruled out by FI_PROVIDER, which is ^base");
	assert_int_equal(open_prov("empty", &fabric), -FI_EOTHER);
	assert_int_equal(open_prov("failing", &fabric), -FI_ENODEV);
	assert_logged("failing: fabric net was not opened");
}

/* FAB-002: a layer in the list opens what it sits on, which the list leaves out. */
static void members_of_a_wanted_layer(void **state)
{
	struct fid_fabric *fabric;

	start_with("FI_PROVIDER", "failing");
	assert_int_equal(open_prov("base", &fabric), 0);
	assert_ptr_equal(fabric, &base_fabric);
}

/* FAB-003, FAB-004 */
static void opened_by_the_provider_on_top(void **state)
{
	struct fid_fabric *fabric;

	start_with(NULL, NULL);
	assert_int_equal(open_prov("BASE", &fabric), 0);
	assert_ptr_equal(fabric, &base_fabric);
	assert_int_equal(fabric->api_version, FI_VERSION(1, 9));
	assert_ptr_equal(fabric->fid.context, &seen);
	assert_string_equal(seen.name, "net");
	assert_int_equal(open_prov("base;ofi_layer", &fabric), 0);
	assert_ptr_equal(fabric, &layer_fabric);
	/* Its struct fid_fabric ends before api_version. */
	assert_int_equal(open_prov("old", &fabric), 0);
	assert_int_equal(fabric->api_version, 0);
}

/* FAB-005 */
static void by_info(void **state)
{
	struct fi_fabric_attr attr = { .name = "net", .prov_name = "base" };
	struct fi_info info = { .fabric_attr = &attr }, bare = { 0 };
	struct fid_fabric *fabric = NULL;

	start_with(NULL, NULL);
	assert_int_equal(fi_fabric2(NULL, &fabric, 0, NULL), -FI_EINVAL);
	assert_int_equal(fi_fabric2(&info, &fabric, 1, NULL), -FI_EINVAL);
	assert_int_equal(fi_fabric2(&bare, &fabric, 0, NULL), -FI_EINVAL);
	assert_int_equal(fi_fabric2(&info, &fabric, 0, NULL), 0);
	assert_ptr_equal(fabric, &base_fabric);
}

/* PRV-050 */
static void hooks_in_order(void **state)
{
	struct fid_fabric *fabric;

	start_with("FI_HOOK", "eye;;nobody;base;OFI_HOOK_EAR");
	assert_int_equal(open_prov("base", &fabric), 0);
	assert_ptr_equal(eye_sits_on, &base_fabric);
	assert_ptr_equal(ear_sits_on, &eye_fabric);
	assert_ptr_equal(fabric, &ear_fabric);
	assert_logged("warning core: FI_HOOK: there is no hook nobody");
	assert_logged("warning core: FI_HOOK: there is no hook base");
}

static void hook_that_fails_is_left_out(void **state)
{
	struct fid_fabric *fabric;

	start_with("FI_HOOK", "eye");
	eye_answer = -FI_ENOMEM;
	assert_int_equal(open_prov("base", &fabric), 0);
	assert_ptr_equal(fabric, &base_fabric);
	assert_logged("warning ofi_hook_eye: FI_HOOK: this hook is left out");
}

/* The hook returns success without a fabric: the fabric below it is kept. */
static void hook_without_a_fabric_is_left_out(void **state)
{
	struct fid_fabric *fabric;

	start_with("FI_HOOK", "blind;ear");
	assert_int_equal(open_prov("base", &fabric), 0);
	assert_ptr_equal(fabric, &ear_fabric);
	assert_ptr_equal(ear_sits_on, &base_fabric);
	assert_logged("warning ofi_hook_blind: FI_HOOK: this hook is left out");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arguments),
		cmocka_unit_test(unknown_provider),
		cmocka_unit_test(members_of_a_wanted_layer),
		cmocka_unit_test(opened_by_the_provider_on_top),
		cmocka_unit_test(by_info),
		cmocka_unit_test(hooks_in_order),
		cmocka_unit_test(hook_that_fails_is_left_out),
		cmocka_unit_test(hook_without_a_fabric_is_left_out),
	};

	(void)setenv("FI_PROVIDER_PATH", "/nonexistent", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
