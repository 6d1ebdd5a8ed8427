/* SPDX-License-Identifier: BSD-2-Clause */
/* Counters of regions run the endpoints of their domain, as long as there are both. */
#include "domain_fixture.h"

#include <rdma/fi_domain.h>

#include "objects/cntr/cntr.h"
#include "objects/endpoint/endpoint.h"

/* Something of an endpoint's that makes progress. */
struct source {
	struct wf_counted_ep ep;
	struct wf_progress item;
	unsigned int runs;
};

static void run(struct wf_progress *item)
{
	wf_container_of(item, struct source, item)->runs++;
}

static struct source *attach(struct domain_fixture *f)
{
	struct source *source = calloc(1, sizeof(*source));

	assert_non_null(source);
	source->item.run = run;
	assert_int_equal(wf_counted_attach(&f->domain, &source->ep, &source->item), 0);
	return source;
}

static struct fid_cntr *open_cntr(struct domain_fixture *f)
{
	struct fi_cntr_attr attr = { .wait_obj = FI_WAIT_NONE };
	struct fid_cntr *cntr;

	assert_int_equal(wf_cntr_open(&f->domain.fid, &attr, &cntr, NULL), 0);
	return cntr;
}

/* Does a read of the counter run it? */
static void expect_run(struct fid_cntr *cntr, struct source *source, bool wanted)
{
	unsigned int before = source->runs;

	assert_int_equal(fi_cntr_read(cntr), 0);
	assert_int_equal(source->runs > before, wanted);
}

static void endpoints_come_and_go(void **state)
{
	struct domain_fixture *f = *state;
	struct source *early = attach(f), *late;
	struct fid_cntr *cntr = open_cntr(f);

	expect_run(cntr, early, false);
	assert_int_equal(wf_counted_bind(&f->domain, wf_cntr_of(cntr)), 0);
	expect_run(cntr, early, true);
	late = attach(f);
	expect_run(cntr, late, true);
	wf_counted_detach(&f->domain, &early->ep);
	expect_run(cntr, early, false);
	expect_run(cntr, late, true);
	wf_counted_detach(&f->domain, &late->ep);
	expect_run(cntr, late, false);
	wf_counted_unbind(&f->domain, wf_cntr_of(cntr));
	assert_int_equal(fi_close(&cntr->fid), 0);
	free(early);
	free(late);
}

/* The last region that it counts takes it out. */
static void regions_come_and_go(void **state)
{
	struct domain_fixture *f = *state;
	struct source *source = attach(f);
	struct fid_cntr *cntr = open_cntr(f);

	assert_int_equal(wf_counted_bind(&f->domain, wf_cntr_of(cntr)), 0);
	assert_int_equal(wf_counted_bind(&f->domain, wf_cntr_of(cntr)), 0);
	wf_counted_unbind(&f->domain, wf_cntr_of(cntr));
	expect_run(cntr, source, true);
	wf_counted_unbind(&f->domain, wf_cntr_of(cntr));
	expect_run(cntr, source, false);
	assert_int_equal(wf_counted_bind(&f->domain, wf_cntr_of(cntr)), 0);
	expect_run(cntr, source, true);
	wf_counted_unbind(&f->domain, wf_cntr_of(cntr));
	assert_int_equal(fi_close(&cntr->fid), 0);
	wf_counted_detach(&f->domain, &source->ep);
	free(source);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DOMAIN_TEST(endpoints_come_and_go),
		DOMAIN_TEST(regions_come_and_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
