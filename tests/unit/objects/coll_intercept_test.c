/* SPDX-License-Identifier: BSD-2-Clause */
/* Which results of the first engine reach the application's CQ and counter, while
 * exchanges for the join of an offload engine may be among them. */
#include "domain_fixture.h"

#include "objects/coll/internal.h"
#include "objects/open/open.h"

/* An operation with this context is an exchange. */
static int exchange, operation;
static int last_err;
static unsigned int asked;

bool __wrap_wf_coll_boot_ended(struct wf_coll *coll, void *context, int err);

bool __wrap_wf_coll_boot_ended(struct wf_coll *coll, void *context, int err)
{
	asked++;
	last_err = err;
	return context == &exchange;
}

static struct ends {
	struct wf_coll coll;
	struct wf_coll_port port;
	struct fid_cq *cq;
	struct fid_cntr *cntr;
} ends;

static struct ends *open_ends(void **state, int boots)
{
	struct domain_fixture *f = *state;
	struct fi_cq_attr cq_attr = { .format = FI_CQ_FORMAT_DATA };
	struct fi_cntr_attr cntr_attr = { .events = FI_CNTR_EVENTS_COMP };

	memset(&ends, 0, sizeof(ends));
	asked = 0;
	f->domain.fid.ops = &wf_domain_ops;
	assert_int_equal(wf_cq_open(&f->domain.fid, &cq_attr, &ends.cq, NULL), 0);
	assert_int_equal(wf_cntr_open(&f->domain.fid, &cntr_attr, &ends.cntr, NULL), 0);
	ends.port.coll = &ends.coll;
	atomic_store(&ends.coll.boot_count, boots);
	wf_cq_export(wf_cq_of(ends.cq), &ends.port.peer_cq);
	wf_cntr_export(wf_cntr_of(ends.cntr), &ends.port.peer_cntr);
	wf_coll_intercept_cq(&ends.port);
	wf_coll_intercept_cntr(&ends.port);
	return &ends;
}

static void close_ends(struct ends *e)
{
	wf_cq_unexport(&e->port.peer_cq);
	wf_cntr_unexport(&e->port.peer_cntr);
	assert_int_equal(fi_close(&e->cq->fid), 0);
	assert_int_equal(fi_close(&e->cntr->fid), 0);
}

static void count(struct ends *e)
{
	e->port.peer_cntr.owner_ops->inc(&e->port.peer_cntr);
}

static void count_err(struct ends *e)
{
	e->port.peer_cntr.owner_ops->incerr(&e->port.peer_cntr);
}

static ssize_t complete(struct ends *e, void *context)
{
	return e->port.peer_cq.owner_ops->write(&e->port.peer_cq, context,
		FI_COLLECTIVE, 3, &operation, 4, 5, FI_ADDR_NOTAVAIL);
}

static ssize_t fails(struct ends *e, void *context)
{
	struct fi_cq_err_entry entry = { .op_context = context, .err = FI_EIO };

	return e->port.peer_cq.owner_ops->writeerr(&e->port.peer_cq, &entry);
}

static void assert_counts(struct ends *e, uint64_t successes, uint64_t errors)
{
	assert_int_equal(fi_cntr_read(e->cntr), successes);
	assert_int_equal(fi_cntr_readerr(e->cntr), errors);
}

static void assert_completion(struct ends *e)
{
	struct fi_cq_data_entry entry;

	assert_int_equal(fi_cq_read(e->cq, &entry, 1), 1);
	assert_ptr_equal(entry.op_context, &operation);
	assert_int_equal(entry.flags, FI_COLLECTIVE);
	assert_int_equal(entry.len, 3);
	assert_ptr_equal(entry.buf, &operation);
	assert_int_equal(entry.data, 4);
}

static void assert_none(struct ends *e)
{
	struct fi_cq_data_entry entry;

	assert_int_equal(fi_cq_read(e->cq, &entry, 1), -FI_EAGAIN);
}

static void assert_failure(struct ends *e)
{
	struct fi_cq_err_entry entry = { 0 };

	assert_int_equal(fi_cq_readerr(e->cq, &entry, 0), 1);
	assert_ptr_equal(entry.op_context, &operation);
	assert_int_equal(entry.err, FI_EIO);
}

/* Without exchanges every success counts at once. */
static void nothing_is_held_without_exchanges(void **state)
{
	struct ends *e = open_ends(state, 0);

	count(e);
	assert_counts(e, 1, 0);
	assert_int_equal(complete(e, &operation), 0);
	assert_int_equal(last_err, 0);
	assert_completion(e);
	assert_counts(e, 1, 0);
	wf_coll_intercept_end();
	assert_counts(e, 1, 0);
	close_ends(e);
}

/* With exchanges a success waits for its completion. */
static void successes_are_told_apart(void **state)
{
	struct ends *e = open_ends(state, 1);

	count(e);
	assert_counts(e, 0, 0);
	assert_int_equal(complete(e, &exchange), 0);
	assert_none(e);
	wf_coll_intercept_end();
	assert_counts(e, 0, 0);

	count(e);
	assert_int_equal(complete(e, &operation), 0);
	assert_counts(e, 1, 0);
	assert_completion(e);

	/* Two, the first without a completion. */
	count(e);
	count(e);
	assert_counts(e, 2, 0);
	wf_coll_intercept_end();
	assert_counts(e, 3, 0);
	wf_coll_intercept_end();
	assert_counts(e, 3, 0);
	close_ends(e);
}

static void failures_are_told_apart(void **state)
{
	struct ends *e = open_ends(state, 1);

	assert_int_equal(fails(e, &operation), 0);
	assert_int_equal(last_err, -FI_EIO);
	count_err(e);
	assert_counts(e, 0, 1);
	assert_failure(e);

	assert_int_equal(fails(e, &exchange), 0);
	count_err(e);
	assert_counts(e, 0, 1);
	assert_none(e);
	/* That was the exchange's; the next one is not. */
	count_err(e);
	assert_counts(e, 0, 2);

	/* An exchange that no counter counts does not hide what fails later. */
	assert_int_equal(fails(e, &exchange), 0);
	assert_int_equal(fails(e, &operation), 0);
	count_err(e);
	assert_counts(e, 0, 3);
	assert_failure(e);

	/* A failure ends the wait of a success before it. */
	count(e);
	assert_int_equal(fails(e, &exchange), 0);
	assert_counts(e, 1, 3);
	count_err(e);
	assert_counts(e, 1, 3);
	close_ends(e);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DOMAIN_TEST(nothing_is_held_without_exchanges),
		DOMAIN_TEST(successes_are_told_apart),
		DOMAIN_TEST(failures_are_told_apart),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
