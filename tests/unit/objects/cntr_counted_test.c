/* SPDX-License-Identifier: BSD-2-Clause */
/* Counters of regions run the endpoints of their domain, as long as there are both. */
#include "domain_fixture.h"

#include "shortage.h"

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

static struct domain_fixture *fixture;
static struct fid_cntr *cntrs[2];

static ssize_t attach_step(void *arg)
{
	struct source *source = arg;
	ssize_t ret;

	ret = wf_counted_attach(&fixture->domain, &source->ep, &source->item);
	(void)refuse_end();
	assert_int_equal(wf_list_empty(&fixture->domain.counted.eps), ret != 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(wf_cntr_of(cntrs[i])->progress.count, !ret);
	wf_counted_detach(&fixture->domain, &source->ep);
	assert_null(source->item.refs);
	return ret;
}

static struct source *sources[2];

static ssize_t bind_step(void *arg)
{
	struct wf_cntr *cntr = arg;
	ssize_t ret = wf_counted_bind(&fixture->domain, cntr);

	(void)refuse_end();
	assert_int_equal(cntr->counted.regions, !ret);
	assert_int_equal(wf_list_empty(&fixture->domain.counted.cntrs), ret != 0);
	assert_int_equal(cntr->progress.count, ret ? 0 : 2);
	if (!ret)
		wf_counted_unbind(&fixture->domain, cntr);
	return ret;
}

/* An endpoint is run by all counters, or by none; a counter runs all endpoints, or
 * none. */
static void without_memory(void **state)
{
	struct source source = { .item.run = run };
	struct fid_cntr *cntr;

	fixture = *state;
	for (int i = 0; i < 2; i++) {
		cntrs[i] = open_cntr(fixture);
		assert_int_equal(
			wf_counted_bind(&fixture->domain, wf_cntr_of(cntrs[i])), 0);
	}
	assert_int_equal(shortage_each(attach_step, &source), 3);
	for (int i = 0; i < 2; i++) {
		wf_counted_unbind(&fixture->domain, wf_cntr_of(cntrs[i]));
		assert_int_equal(fi_close(&cntrs[i]->fid), 0);
		sources[i] = attach(fixture);
	}
	cntr = open_cntr(fixture);
	assert_int_equal(shortage_each(bind_step, wf_cntr_of(cntr)), 3);
	assert_int_equal(fi_close(&cntr->fid), 0);
	for (int i = 0; i < 2; i++) {
		wf_counted_detach(&fixture->domain, &sources[i]->ep);
		free(sources[i]);
	}
}

/* Does a counter of a region sleep? */
static void who_may_sleep(void **state)
{
	struct domain_fixture *f = *state;
	struct fi_cntr_attr attr = { .wait_obj = FI_WAIT_FD };
	struct fid_cntr *none = open_cntr(f), *fd;

	assert_int_equal(wf_cntr_open(&f->domain.fid, &attr, &fd, NULL), 0);
	assert_false(wf_counted_may_sleep(&f->domain));
	assert_int_equal(wf_counted_bind(&f->domain, wf_cntr_of(none)), 0);
	assert_false(wf_counted_may_sleep(&f->domain));
	assert_int_equal(wf_counted_bind(&f->domain, wf_cntr_of(fd)), 0);
	assert_true(wf_counted_may_sleep(&f->domain));
	wf_counted_unbind(&f->domain, wf_cntr_of(none));
	assert_true(wf_counted_may_sleep(&f->domain));
	wf_counted_unbind(&f->domain, wf_cntr_of(fd));
	assert_false(wf_counted_may_sleep(&f->domain));
	assert_int_equal(fi_close(&none->fid), 0);
	assert_int_equal(fi_close(&fd->fid), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DOMAIN_TEST(endpoints_come_and_go),
		DOMAIN_TEST(regions_come_and_go),
		DOMAIN_TEST(without_memory),
		DOMAIN_TEST(who_may_sleep),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
