/* SPDX-License-Identifier: BSD-2-Clause */
#include "endpoint_fixture.h"

#include "objects/absent/absent.h"
#include "objects/cntr/cntr.h"
#include "objects/open/open.h"

/* What a provider hangs into the objects: struct wf_prov and struct wf_xfer_ops. */

static unsigned int opened, closing, finished, runs;
static int answer;

static int cq_opened(struct wf_cq *cq)
{
	opened++;
	cq->prov_data = &opened;
	return answer;
}

static void cq_closing(struct wf_cq *cq)
{
	assert_ptr_equal(cq->prov_data, &opened);
	closing++;
}

static int cntr_opened(struct wf_cntr *cntr)
{
	opened++;
	cntr->prov_data = &opened;
	return answer;
}

static void cntr_closing(struct wf_cntr *cntr)
{
	assert_ptr_equal(cntr->prov_data, &opened);
	closing++;
}

static void set_hooks(struct domain_fixture *f)
{
	f->prov.cq_opened = cq_opened;
	f->prov.cq_closing = cq_closing;
	f->prov.cntr_opened = cntr_opened;
	f->prov.cntr_closing = cntr_closing;
	opened = closing = finished = runs = 0;
	answer = 0;
}

/* They come with each queue and counter, and may refuse it. */
static void test_opened_and_closing(void **state)
{
	struct domain_fixture *f = *state;
	struct fi_cq_attr cq_attr = { .wait_obj = FI_WAIT_FD };
	struct fi_cntr_attr cntr_attr = { .events = FI_CNTR_EVENTS_COMP };
	struct fid_cntr *cntr = NULL;
	struct fid_cq *cq = NULL;
	struct around a;

	set_hooks(f);
	a = open_around(f);
	assert_int_equal(opened, 2);
	close_around(&a);
	assert_int_equal(closing, 2);

	answer = -FI_ENOSPC;
	assert_int_equal(wf_cq_open(&f->domain.fid, &cq_attr, &cq, NULL), -FI_ENOSPC);
	assert_int_equal(
		wf_cntr_open(&f->domain.fid, &cntr_attr, &cntr, NULL), -FI_ENOSPC);
	assert_null(cq);
	assert_null(cntr);
	assert_int_equal(opened, 4);
	assert_int_equal(closing, 2);
}

static ssize_t own_send(struct fid_ep *fid, const void *buf, size_t len, void *desc,
	fi_addr_t dest, void *context)
{
	return -FI_EOTHER;
}

/* The skeleton's table is there, and the application does not see it yet. */
static void tables_finished(struct wf_ep *ep)
{
	assert_non_null(ep->msg_ops.send);
	assert_ptr_not_equal(ep->fid.msg, &ep->msg_ops);
	ep->msg_ops.send = own_send;
	finished++;
}

static void run(struct wf_progress *item)
{
	runs++;
}

static void run_otherwise(struct wf_progress *item)
{
	runs += 100;
}

static ssize_t barrier(struct fid_ep *ep, fi_addr_t coll_addr, void *context)
{
	return -FI_EBUSY;
}

static const struct wf_progress item = { .run = run };

static struct wf_ep *open_hooked(struct domain_fixture *f, struct around *a,
	struct wf_xfer_ops *xfer, uint64_t caps)
{
	struct fake *fake = calloc(1, sizeof(*fake));
	struct fi_info *info = new_info();

	assert_non_null(fake);
	info->caps |= caps;
	assert_int_equal(wf_ep_init(&fake->ep, &f->domain, info, xfer, fake), 0);
	fi_freeinfo(info);
	*a = open_around(f);
	assert_int_equal(
		fi_ep_bind(&fake->ep.fid, &a->cq->fid, FI_TRANSMIT | FI_RECV), 0);
	assert_int_equal(fi_ep_bind(&fake->ep.fid, &a->av->fid, 0), 0);
	assert_int_equal(fi_ep_bind(&fake->ep.fid, &a->cntr->fid, FI_SEND), 0);
	return &fake->ep;
}

static void test_tables_and_item(void **state)
{
	struct domain_fixture *f = *state;
	struct wf_xfer_ops xfer = fake_ops;
	struct around a;
	struct wf_ep *ep;

	set_hooks(f);
	xfer.tables_finished = tables_finished;
	xfer.item = &item;
	ep = open_hooked(f, &a, &xfer, 0);
	assert_int_equal(fi_send(&ep->fid, NULL, 0, NULL, 0, NULL), -FI_EOPBADSTATE);
	assert_int_equal(fi_enable(&ep->fid), 0);
	assert_int_equal(finished, 1);
	assert_int_equal(fi_send(&ep->fid, NULL, 0, NULL, 0, NULL), -FI_EOTHER);
	(void)fi_cq_read(a.cq, NULL, 0);
	assert_int_equal(runs, 1);
	assert_int_equal(fi_close(&ep->fid.fid), 0);
	close_around(&a);

	ep = open_hooked(f, &a, &xfer, 0);
	wf_ep_set_run(ep, run_otherwise);
	assert_int_equal(fi_enable(&ep->fid), 0);
	(void)fi_cq_read(a.cq, NULL, 0);
	assert_int_equal(runs, 101);
	assert_int_equal(fi_close(&ep->fid.fid), 0);
	close_around(&a);
}

/* Completions and counts show, nothing else does. */
static void test_activity(void **state)
{
	struct domain_fixture *f = *state;
	struct wf_xfer_ops xfer = fake_ops;
	struct fi_cq_tagged_entry entry;
	uint64_t before, after;
	struct around a;
	struct wf_ep *ep;

	set_hooks(f);
	ep = open_hooked(f, &a, &xfer, 0);
	assert_int_equal(fi_enable(&ep->fid), 0);
	before = wf_ep_activity(ep);
	wf_ep_tx_done(ep, WF_CNTR_SEND, NULL, 0, FI_SEND | FI_MSG, 3);
	after = wf_ep_activity(ep);
	assert_true(after != before);
	wf_ep_rx_done(ep, NULL, FI_COMPLETION, FI_RECV | FI_MSG, 3, NULL, 0, 0, 0);
	before = wf_ep_activity(ep);
	assert_true(after != before);
	assert_int_equal(fi_cq_read(a.cq, &entry, 1), 1);
	assert_true(wf_ep_activity(ep) == before);
	assert_int_equal(fi_close(&ep->fid.fid), 0);
	close_around(&a);
}

static int query_collective(struct wf_domain *domain, enum fi_collective_op coll,
	struct fi_collective_attr *attr, uint64_t flags)
{
	attr->max_members = (size_t)coll;
	return 0;
}

/* Without the slots the calls return -FI_ENOSYS, as in fi_collective(3). */
static void test_collectives(void **state)
{
	struct domain_fixture *f = *state;
	struct fi_collective_attr attr = { .max_members = 0 };
	struct fi_ops_collective ops = wf_absent_collective;
	struct wf_xfer_ops xfer = fake_ops;
	struct around a;
	struct wf_ep *ep;

	set_hooks(f);
	f->domain.fid.ops = &wf_domain_ops;
	assert_int_equal(fi_query_collective(&f->domain.fid, FI_ALLREDUCE, &attr, 0),
		-FI_ENOSYS);
	f->prov.query_collective = query_collective;
	assert_int_equal(
		fi_query_collective(&f->domain.fid, FI_ALLREDUCE, &attr, 0), 0);
	assert_int_equal(attr.max_members, FI_ALLREDUCE);

	ops.barrier = barrier;
	ep = open_hooked(f, &a, &xfer, FI_COLLECTIVE);
	assert_int_equal(fi_enable(&ep->fid), 0);
	assert_int_equal(fi_barrier(&ep->fid, 0, NULL), -FI_ENOSYS);
	assert_int_equal(fi_close(&ep->fid.fid), 0);
	close_around(&a);
	xfer.collective = &ops;
	ep = open_hooked(f, &a, &xfer, FI_COLLECTIVE);
	assert_int_equal(fi_enable(&ep->fid), 0);
	assert_int_equal(fi_barrier(&ep->fid, 0, NULL), -FI_EBUSY);
	assert_int_equal(fi_close(&ep->fid.fid), 0);
	close_around(&a);
	/* Endpoints without the capability have none. */
	ep = open_hooked(f, &a, &xfer, 0);
	assert_int_equal(fi_enable(&ep->fid), 0);
	assert_int_equal(fi_barrier(&ep->fid, 0, NULL), -FI_ENOSYS);
	assert_int_equal(fi_close(&ep->fid.fid), 0);
	close_around(&a);
}

/* A hardware queue: what it has, for each CQ once, and how often it was asked. */
static struct {
	struct wf_progress item;
	struct wf_ep *eps[4]; /* of completions that wait */
	unsigned int count, polls;
} queue;

static void poll_queue(struct wf_progress *source)
{
	assert_ptr_equal(source, &queue.item);
	queue.polls++;
	while (queue.count)
		wf_ep_tx_done(queue.eps[--queue.count], WF_CNTR_SEND, &queue,
			FI_COMPLETION, FI_SEND | FI_MSG, 1);
}

static int open_queue(struct wf_cq *cq)
{
	opened++;
	queue.item.run = poll_queue;
	queue.count = queue.polls = 0;
	cq->source = &queue.item;
	return 0;
}

static void close_queue(struct wf_cq *cq)
{
	unsigned int polls = queue.polls;

	/* It is in no list any more. */
	wf_progress_list_run(&cq->progress);
	assert_int_equal(queue.polls, polls);
	closing++;
}

static struct wf_ep *open_polled(
	struct domain_fixture *f, struct around *a, struct wf_xfer_ops *xfer)
{
	struct fake *fake = calloc(1, sizeof(*fake));
	struct fi_info *info = new_info();

	assert_non_null(fake);
	assert_int_equal(wf_ep_init(&fake->ep, &f->domain, info, xfer, fake), 0);
	fi_freeinfo(info);
	assert_int_equal(
		fi_ep_bind(&fake->ep.fid, &a->cq->fid, FI_TRANSMIT | FI_RECV), 0);
	assert_int_equal(fi_ep_bind(&fake->ep.fid, &a->av->fid, 0), 0);
	assert_int_equal(fi_ep_bind(&fake->ep.fid, &a->cntr->fid, FI_SEND), 0);
	assert_int_equal(fi_enable(&fake->ep.fid), 0);
	return &fake->ep;
}

/* One queue behind the CQ of two endpoints is polled once a read, and each completion
 * is written once. Reading a counter polls it as well. */
static void test_source_of_a_cq(void **state)
{
	struct domain_fixture *f = *state;
	struct wf_xfer_ops xfer = fake_ops;
	struct fi_cq_tagged_entry entry[4];
	struct around a;
	struct wf_ep *ep[2];

	opened = closing = runs = 0;
	f->prov.cq_opened = open_queue;
	f->prov.cq_closing = close_queue;
	xfer.item = &item;
	xfer.run_by_cqs = true;
	a = open_around(f);
	ep[0] = open_polled(f, &a, &xfer);
	ep[1] = open_polled(f, &a, &xfer);

	queue.eps[queue.count++] = ep[0];
	queue.eps[queue.count++] = ep[1];
	assert_int_equal(fi_cq_read(a.cq, entry, 4), 2);
	assert_int_equal(queue.polls, 1);
	assert_int_equal(fi_cq_read(a.cq, entry, 4), -FI_EAGAIN);
	assert_int_equal(queue.polls, 2);
	queue.eps[queue.count++] = ep[1];
	assert_int_equal(fi_cntr_read(a.cntr), 3);
	assert_int_equal(queue.polls, 3);
	assert_int_equal(runs, 0);

	/* The counter of the endpoint that is left still polls. */
	assert_int_equal(fi_close(&ep[0]->fid.fid), 0);
	queue.eps[queue.count++] = ep[1];
	assert_int_equal(fi_cntr_read(a.cntr), 4);
	assert_int_equal(fi_close(&ep[1]->fid.fid), 0);
	assert_int_equal(fi_cntr_read(a.cntr), 4);
	assert_int_equal(queue.polls, 4);
	assert_int_equal(fi_cq_read(a.cq, entry, 4), 2);
	close_around(&a);
	assert_int_equal(closing, 1);
}

/* An endpoint with progress of its own is run beside the source. */
static void test_source_and_item(void **state)
{
	struct domain_fixture *f = *state;
	struct wf_xfer_ops xfer = fake_ops;
	struct around a;
	struct wf_ep *ep;

	runs = 0;
	f->prov.cq_opened = open_queue;
	f->prov.cq_closing = close_queue;
	xfer.item = &item;
	a = open_around(f);
	ep = open_polled(f, &a, &xfer);
	assert_int_equal(fi_cq_read(a.cq, NULL, 0), -FI_EAGAIN);
	assert_int_equal(fi_cntr_read(a.cntr), 0);
	assert_int_equal(queue.polls, 2);
	assert_int_equal(runs, 2);
	assert_int_equal(fi_close(&ep->fid.fid), 0);
	close_around(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DOMAIN_TEST(test_opened_and_closing),
		DOMAIN_TEST(test_tables_and_item),
		DOMAIN_TEST(test_activity),
		DOMAIN_TEST(test_collectives),
		DOMAIN_TEST(test_source_of_a_cq),
		DOMAIN_TEST(test_source_and_item),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
