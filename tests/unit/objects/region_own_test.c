/* SPDX-License-Identifier: BSD-2-Clause */
/* Regions of a provider of its own, and the regions that they are parts of. */
#include "domain_fixture.h"

#include "objects/absent/absent.h"
#include "objects/region/own.h"

static struct fi_ops own_ops =
	WF_FID_OPS(wf_absent_close, wf_absent_bind, wf_absent_control);
static struct fi_ops other_ops =
	WF_FID_OPS(wf_absent_close, wf_absent_bind, wf_absent_control);

enum { KEY = 7 };

static void a_region_has_key_and_context(void **state)
{
	struct domain_fixture *f = *state;
	struct fi_mr_attr attr = { .context = &attr };
	struct wf_mr_own mr;

	wf_mr_own_init(&mr, &f->domain, &attr, &own_ops, KEY, f);
	assert_int_equal(mr.fid.fid.fclass, FI_CLASS_MR);
	assert_ptr_equal(mr.fid.fid.context, &attr);
	assert_ptr_equal(mr.fid.fid.ops, &own_ops);
	assert_int_equal(fi_mr_key(&mr.fid), KEY);
	assert_ptr_equal(fi_mr_desc(&mr.fid), f);
}

static void no_base_is_none(void **state)
{
	struct domain_fixture *f = *state;
	struct fi_mr_attr attr = { .base_mr = NULL };
	struct wf_mr_own *base = (struct wf_mr_own *)&attr;

	assert_int_equal(wf_mr_own_base(&f->domain, &attr, &own_ops, &base), 0);
	assert_null(base);
}

static void only_own_regions_of_the_domain_have_parts(void **state)
{
	struct domain_fixture *f = *state;
	static struct wf_domain other_domain;
	struct fi_mr_attr none = { .base_mr = NULL }, attr = none;
	struct wf_mr_own mr, *base = NULL;

	attr.base_mr = &mr.fid;
	wf_mr_own_init(&mr, &f->domain, &none, &own_ops, KEY, NULL);
	assert_int_equal(wf_mr_own_base(&f->domain, &attr, &own_ops, &base), 0);
	assert_ptr_equal(base, &mr);
	base = NULL;
	wf_mr_own_init(&mr, &f->domain, &none, &other_ops, KEY, NULL);
	assert_int_equal(
		wf_mr_own_base(&f->domain, &attr, &own_ops, &base), -FI_EINVAL);
	wf_mr_own_init(&mr, &other_domain, &none, &own_ops, KEY, NULL);
	assert_int_equal(
		wf_mr_own_base(&f->domain, &attr, &own_ops, &base), -FI_EINVAL);
	wf_mr_own_init(&mr, &f->domain, &none, &own_ops, KEY, NULL);
	mr.fid.fid.fclass = FI_CLASS_EP;
	assert_int_equal(
		wf_mr_own_base(&f->domain, &attr, &own_ops, &base), -FI_EINVAL);
	assert_null(base);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DOMAIN_TEST(a_region_has_key_and_context),
		DOMAIN_TEST(no_base_is_none),
		DOMAIN_TEST(only_own_regions_of_the_domain_have_parts),
	};

	return cmocka_run_group_tests_name("region_own", tests, NULL, NULL);
}
