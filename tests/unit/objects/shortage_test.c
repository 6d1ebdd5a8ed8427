/* SPDX-License-Identifier: BSD-2-Clause */
#include "endpoint_fixture.h"

#include "shortage.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include "objects/endpoint/scalable/context.h"
#include "objects/endpoint/scalable/scalable.h"
#include "objects/endpoint/scalable/srx_ctx.h"
#include "objects/endpoint/scalable/stx.h"
#include "objects/info/info.h"
#include "objects/open/open.h"
#include "objects/poll/poll.h"
#include "objects/provider.h"
#include "objects/region/reg.h"

/*
 * Objects that are opened, and calls, when memory runs out at each point in turn: the
 * result is -FI_ENOMEM, and nothing is left behind. AddressSanitizer sees the memory.
 */

static struct domain_fixture *f;

static int setup(void **state)
{
	if (domain_fixture_setup(state))
		return -1;
	f = *state;
	return 0;
}

int wf_info_check(
	const struct wf_prov *prov, uint32_t version, const struct fi_info *info)
{
	(void)prov;
	(void)version;
	(void)info;
	return 0;
}

static int refs_of_domain(void)
{
	return atomic_load(&f->domain.refs);
}

/* ---- completion queues ---- */

static unsigned int sources;

static void source_run(struct wf_progress *item)
{
	(void)item;
}

static struct wf_progress source = { .run = source_run };

static int source_opened(struct wf_cq *cq)
{
	cq->source = &source;
	sources++;
	return 0;
}

static void source_closing(struct wf_cq *cq)
{
	assert_ptr_equal(cq->source, &source);
	sources--;
}

static ssize_t open_cq(void *arg)
{
	struct fi_cq_attr attr = { .wait_obj = *(enum fi_wait_obj *)arg };
	struct fid_cq *cq = NULL;
	ssize_t ret = wf_cq_open(&f->domain.fid, &attr, &cq, NULL);

	assert_int_equal(sources, !ret);
	assert_int_equal(refs_of_domain(), !ret);
	if (!ret)
		assert_int_equal(fi_close(&cq->fid), 0);
	else
		assert_null(cq);
	assert_int_equal(sources, 0);
	assert_null(source.refs);
	return ret;
}

static void completion_queues(void **state)
{
	enum fi_wait_obj none = FI_WAIT_NONE, fd = FI_WAIT_FD,
			 mutex = FI_WAIT_MUTEX_COND;

	(void)state;
	f->prov.cq_opened = source_opened;
	f->prov.cq_closing = source_closing;
	assert_int_equal(shortage_each(open_cq, &none), 8);
	assert_true(shortage_each_short(open_cq, &none) >= 7);
	assert_true(shortage_each(open_cq, &fd) >= 9);
	assert_true(shortage_each(open_cq, &mutex) >= 9);
}

/* ---- counters ---- */

static int cntrs;

static int cntr_opened(struct wf_cntr *cntr)
{
	void *memory = malloc(1);

	(void)cntr;
	free(memory);
	cntrs += memory != NULL;
	return memory ? 0 : -FI_ENOMEM;
}

static void cntr_closing(struct wf_cntr *cntr)
{
	(void)cntr;
	cntrs--;
}

static ssize_t open_cntr(void *arg)
{
	struct fi_cntr_attr attr = { .wait_obj = *(enum fi_wait_obj *)arg };
	struct fid_cntr *cntr = NULL;
	ssize_t ret = wf_cntr_open(&f->domain.fid, &attr, &cntr, NULL);

	assert_int_equal(refs_of_domain(), !ret);
	assert_int_equal(cntrs, !ret);
	if (!ret)
		assert_int_equal(fi_close(&cntr->fid), 0);
	else
		assert_null(cntr);
	assert_int_equal(cntrs, 0);
	return ret;
}

static void counters(void **state)
{
	enum fi_wait_obj none = FI_WAIT_NONE, fd = FI_WAIT_FD,
			 mutex = FI_WAIT_MUTEX_COND;

	(void)state;
	f->prov.cntr_opened = cntr_opened;
	f->prov.cntr_closing = cntr_closing;
	/* The counter, and what calls it in a child, at least. */
	assert_true(shortage_each(open_cntr, &none) >= 2);
	assert_true(shortage_each_short(open_cntr, &none) >= 2);
	assert_true(shortage_each(open_cntr, &fd) >= 6);
	assert_true(shortage_each(open_cntr, &mutex) >= 6);
	assert_non_null(f->domain.thread);
}

/* ---- event queues, wait sets, poll sets ---- */

static ssize_t open_eq(void *arg)
{
	struct fi_eq_attr attr = { .wait_obj = FI_WAIT_FD };
	struct fid_eq *eq = NULL;
	ssize_t ret = wf_eq_open(&f->fabric.fid, &attr, &eq, NULL);

	(void)arg;
	assert_int_equal(atomic_load(&f->fabric.refs), !ret);
	if (!ret)
		assert_int_equal(fi_close(&eq->fid), 0);
	else
		assert_null(eq);
	return ret;
}

static ssize_t open_wait_set(void *arg)
{
	struct fi_wait_attr attr = { .wait_obj = FI_WAIT_FD };
	struct fid_wait *set = NULL;
	ssize_t ret = wf_wait_set_open(&f->fabric.fid, &attr, &set);

	(void)arg;
	assert_int_equal(atomic_load(&f->fabric.refs), !ret);
	if (!ret)
		assert_int_equal(fi_close(&set->fid), 0);
	else
		assert_null(set);
	return ret;
}

static ssize_t open_poll_set(void *arg)
{
	struct fi_poll_attr attr = { 0 };
	struct fid_poll *set = NULL;
	ssize_t ret = wf_poll_open(&f->domain.fid, &attr, &set);

	(void)arg;
	assert_int_equal(refs_of_domain(), !ret);
	if (!ret)
		assert_int_equal(fi_close(&set->fid), 0);
	else
		assert_null(set);
	return ret;
}

struct membership {
	struct fid_poll *set;
	struct fid_cntr *cntr;
};

static ssize_t add_member(void *arg)
{
	struct membership *m = arg;
	ssize_t ret = m->set->ops->poll_add(m->set, &m->cntr->fid, 0);

	assert_int_equal(atomic_load(&wf_cntr_of(m->cntr)->refs), !ret);
	return ret;
}

static void event_queues_and_sets(void **state)
{
	struct fi_cntr_attr cntr_attr = { .events = FI_CNTR_EVENTS_COMP };
	struct fi_poll_attr attr = { 0 };
	struct membership m;

	(void)state;
	assert_true(shortage_each(open_eq, NULL) >= 6);
	assert_true(shortage_each_short(open_eq, NULL) >= 6);
	assert_true(shortage_each(open_wait_set, NULL) >= 4);
	assert_true(shortage_each_short(open_wait_set, NULL) >= 4);
	assert_int_equal(shortage_each(open_poll_set, NULL), 1);
	assert_int_equal(wf_poll_open(&f->domain.fid, &attr, &m.set), 0);
	assert_int_equal(wf_cntr_open(&f->domain.fid, &cntr_attr, &m.cntr, NULL), 0);
	assert_int_equal(shortage_each(add_member, &m), 1);
	assert_int_equal(m.set->ops->poll_del(m.set, &m.cntr->fid, 0), 0);
	assert_int_equal(fi_close(&m.set->fid), 0);
	assert_int_equal(fi_close(&m.cntr->fid), 0);
}

/* ---- endpoints ---- */

static void ep_destroy(struct wf_ep *ep)
{
	destroyed++;
	wf_ep_free(ep);
}

static struct wf_xfer_ops ops;

static ssize_t open_ep(void *arg)
{
	struct wf_ep *ep = NULL;
	ssize_t ret = wf_ep_new(sizeof(*ep), &f->domain, arg, &ops, &ops, &ep);

	assert_int_equal(refs_of_domain(), !ret);
	if (!ret)
		assert_int_equal(fi_close(&ep->fid.fid), 0);
	else
		assert_null(ep);
	return ret;
}

static ssize_t open_alias(void *arg)
{
	struct fid *alias = NULL;
	struct fi_alias open = { &alias, FI_TRANSMIT };
	struct fid_ep *ep = arg;
	ssize_t ret = fi_control(&ep->fid, FI_ALIAS, &open);

	assert_int_equal(wf_ep_of(ep)->handles, ret ? 1 : 2);
	if (!ret)
		assert_int_equal(fi_close(alias), 0);
	else
		assert_null(alias);
	return ret;
}

static void endpoints(void **state)
{
	struct fi_info *info = new_info();
	struct fid_ep *ep;

	(void)state;
	ops = fake_ops;
	ops.destroy = ep_destroy;
	destroyed = 0;
	assert_int_equal(shortage_each(open_ep, info), 3);
	assert_int_equal(shortage_each_short(open_ep, info), 3);
	assert_int_equal(destroyed, 2);
	ep = &open_fake(f, info)->ep.fid;
	assert_int_equal(shortage_each(open_alias, ep), 1);
	close_ep(ep);
}

static bool is_watched;

static void addr_removed(struct wf_ep *ep, uint64_t index)
{
	(void)ep;
	(void)index;
}

/* An endpoint that fi_enable failed for is in no list of progress, and can be closed. */
static ssize_t enable(void *arg)
{
	struct wf_progress_list *list;
	struct around a;
	struct fid_ep *ep;
	ssize_t ret;

	(void)arg;
	PREPARE(a = open_around(f));
	PREPARE(ep = &open_fake(f, new_info())->ep.fid);
	wf_ep_of(ep)->xfer = &ops;
	list = &wf_cq_of(a.cq)->progress;
	PREPARE(assert_int_equal(fi_ep_bind(ep, &a.cq->fid, FI_TRANSMIT | FI_RECV), 0));
	PREPARE(assert_int_equal(fi_ep_bind(ep, &a.cntr->fid, FI_SEND), 0));
	PREPARE(assert_int_equal(fi_ep_bind(ep, &a.av->fid, 0), 0));
	ret = fi_enable(ep);
	PREPARE(assert_int_equal(list->count, !ret));
	assert_int_equal(wf_cntr_of(a.cntr)->progress.count, !ret);
	assert_int_equal(f->domain.items.count, !ret);
	assert_true(wf_list_empty(&f->domain.counted.eps) == !!ret);
	assert_int_equal(wf_ep_of(ep)->enabled, !ret);
	is_watched = wf_ep_of(ep)->cleanup != NULL;
	close_ep(ep);
	assert_int_equal(list->count, 0);
	close_around(&a);
	return ret;
}

static void enabling(void **state)
{
	(void)state;
	ops = fake_ops;
	/* For the queue, the counter and the domain: an entry and the list each. The
	 * domain's list stays. */
	assert_int_equal(shortage_each(enable, NULL), 6);
	assert_true(shortage_each_short(enable, NULL) >= 5);
	ops.addr_removed = addr_removed;
	assert_int_equal(setenv("FI_AV_REMOVE_CLEANUP", "1", 1), 0);
	is_watched = false;
	assert_int_equal(shortage_each(enable, NULL), 6);
	assert_true(is_watched);
	assert_int_equal(unsetenv("FI_AV_REMOVE_CLEANUP"), 0);
}

static ssize_t enable_with_source(void *arg)
{
	struct around a;
	struct fid_ep *ep;
	ssize_t ret;

	(void)arg;
	PREPARE(a = open_around(f));
	PREPARE(ep = &open_fake(f, new_info())->ep.fid);
	PREPARE(assert_int_equal(fi_ep_bind(ep, &a.cq->fid, FI_TRANSMIT | FI_RECV), 0));
	PREPARE(assert_int_equal(fi_ep_bind(ep, &a.cntr->fid, FI_SEND), 0));
	PREPARE(assert_int_equal(fi_ep_bind(ep, &a.av->fid, 0), 0));
	ret = fi_enable(ep);
	(void)refuse_end();
	/* The source is in the lists of the queue and the domain anyway. */
	assert_int_equal(wf_cq_of(a.cq)->progress.count, 1 + !ret);
	assert_int_equal(f->domain.items.count, 1 + !ret);
	assert_int_equal(wf_cntr_of(a.cntr)->progress.count, 2 * !ret);
	close_ep(ep);
	assert_int_equal(wf_cntr_of(a.cntr)->progress.count, 0);
	close_around(&a);
	return ret;
}

/* All items are taken out of the lists again when one cannot be added. */
static void enabling_with_a_source(void **state)
{
	(void)state;
	f->prov.cq_opened = source_opened;
	f->prov.cq_closing = source_closing;
	assert_int_equal(shortage_each(enable_with_source, NULL), 5);
	assert_true(shortage_each_short(enable_with_source, NULL) >= 4);
}

/* ---- the progress thread ---- */

static int item_fd = -1;

static int item_wait_fd(struct wf_progress *item)
{
	(void)item;
	return item_fd;
}

static bool item_arm(struct wf_progress *item)
{
	(void)item;
	return true;
}

static ssize_t start_thread(void *arg)
{
	struct wf_progress_thread *thread = NULL;
	struct wf_progress_list *list = arg;
	ssize_t ret = wf_progress_thread_start(list, &thread);

	(void)refuse_end();
	if (ret) {
		assert_null(thread);
		assert_null(list->wait);
	}
	wf_progress_thread_stop(thread);
	assert_null(list->wait);
	return ret;
}

/* A list without its thread has no wait object, and watches no descriptor for it. */
static void the_thread(void **state)
{
	struct wf_progress item = {
		.run = source_run, .arm = item_arm, .wait_fd = item_wait_fd
	};
	struct wf_progress_list *list = &f->domain.items;
	struct wf_progress_thread *thread = NULL;

	(void)state;
	assert_int_equal(wf_progress_list_add(list, &item), 0);
	assert_int_equal(list->refs[0]->fd, -1);
	item_fd = -FI_EMFILE;
	assert_int_equal(wf_progress_thread_start(list, &thread), -FI_EMFILE);
	assert_null(thread);
	assert_null(list->wait);
	assert_int_equal(list->refs[0]->fd, -1);
	item_fd = eventfd(0, 0);
	assert_true(shortage_each(start_thread, list) >= 6);
	assert_int_equal(list->refs[0]->fd, -1);
	(void)close(item_fd);
	wf_progress_list_del(list, &item);
}

/* ---- contexts ---- */

static struct fi_info *sep_info(void)
{
	struct fi_info *info = new_info();

	info->ep_attr->type = FI_EP_RDM;
	info->ep_attr->tx_ctx_cnt = 2;
	info->ep_attr->rx_ctx_cnt = 2;
	return info;
}

static ssize_t init_sep(void *arg)
{
	struct wf_ep *ep = arg;
	ssize_t ret = wf_sep_init(ep, &ops);

	if (!ret)
		return 0;
	assert_null(ep->sep);
	assert_null(ep->srx_lock);
	assert_int_equal(ep->fid.fid.fclass, FI_CLASS_EP);
	return ret;
}

static ssize_t open_tx(void *arg)
{
	struct fid_ep *ctx = NULL;
	ssize_t ret = fi_tx_context(arg, 1, NULL, &ctx, NULL);

	assert_int_equal(atomic_load(&wf_ep_of(arg)->refs), !ret);
	if (!ret)
		close_ep(ctx);
	else
		assert_null(ctx);
	return ret;
}

static ssize_t open_rx(void *arg)
{
	struct fid_ep *ctx = NULL;
	ssize_t ret = fi_rx_context(arg, 1, NULL, &ctx, NULL);

	assert_int_equal(atomic_load(&wf_ep_of(arg)->refs), !ret);
	if (!ret)
		close_ep(ctx);
	else
		assert_null(ctx);
	return ret;
}

static void scalable_endpoints(void **state)
{
	struct fid_ep *ep = &open_fake(f, sep_info())->ep.fid;

	(void)state;
	ops = fake_ops;
	ops.destroy = wf_sep_free_context;
	assert_int_equal(shortage_each(init_sep, wf_ep_of(ep)), 2);
	assert_int_equal(shortage_each(open_tx, ep), 4);
	assert_int_equal(shortage_each_short(open_tx, ep), 4);
	assert_int_equal(shortage_each(open_rx, ep), 4);
	assert_int_equal(shortage_each_short(open_rx, ep), 4);
	close_ep(ep);
}

static ssize_t open_stx(void *arg)
{
	struct fid_stx *stx = NULL;
	ssize_t ret = wf_stx_open(&f->domain.fid, NULL, &stx, NULL);

	(void)arg;
	assert_int_equal(refs_of_domain(), !ret);
	if (!ret)
		assert_int_equal(fi_close(&stx->fid), 0);
	else
		assert_null(stx);
	return ret;
}

static ssize_t open_srx(void *arg)
{
	struct fi_rx_attr attr = { .size = 16, .iov_limit = 1 };
	struct fid_ep *srx = NULL;
	ssize_t ret = wf_srx_open(&f->domain.fid, &attr, &srx, NULL);

	(void)arg;
	assert_int_equal(refs_of_domain(), !ret);
	if (!ret)
		close_ep(srx);
	else
		assert_null(srx);
	return ret;
}

static void shared_contexts(void **state)
{
	struct fi_info *info = new_info();

	(void)state;
	info->domain_attr->max_ep_stx_ctx = 2;
	info->domain_attr->max_ep_srx_ctx = 2;
	f->domain.info = info;
	assert_int_equal(shortage_each(open_srx, NULL), 4);
	assert_int_equal(shortage_each_short(open_srx, NULL), 4);
	assert_int_equal(shortage_each(open_stx, NULL), 4);
	assert_int_equal(shortage_each_short(open_stx, NULL), 4);
	f->domain.info = &f->info;
	fi_freeinfo(info);
}

/* ---- regions ---- */

static char memory[64];
static uint64_t next_key;

static ssize_t register_region(void *arg)
{
	struct iovec iov = { memory, sizeof(memory) };
	struct fi_mr_attr attr = { .mr_iov = &iov,
		.iov_count = 1,
		.access = FI_REMOTE_READ,
		.requested_key = next_key };
	struct fid_mr **ret_mr = arg;
	ssize_t ret = wf_mr_register(&f->domain, &attr, 0, ret_mr);

	if (ret)
		assert_null(*ret_mr);
	assert_int_equal(refs_of_domain(), next_key + !ret);
	return ret;
}

static void regions(void **state)
{
	struct fid_mr *mr[40] = { NULL };

	(void)state;
	assert_int_equal(wf_mr_map_init(&f->domain.mr_map, WF_LOCK_SPIN), 0);
	f->domain.reached = &f->domain.mr_map;
	for (next_key = 0; next_key < WF_ARRAY_SIZE(mr); next_key++)
		assert_int_equal(shortage_each(register_region, &mr[next_key]), 2);
	for (size_t i = 0; i < WF_ARRAY_SIZE(mr); i++)
		assert_int_equal(fi_close(&mr[i]->fid), 0);
	wf_mr_map_done(&f->domain.mr_map);
}

int main(void)
{
#define SHORTAGE_TEST(name)                                                            \
	cmocka_unit_test_setup_teardown(name, setup, domain_fixture_teardown)
	const struct CMUnitTest tests[] = {
		SHORTAGE_TEST(completion_queues),
		SHORTAGE_TEST(counters),
		SHORTAGE_TEST(event_queues_and_sets),
		SHORTAGE_TEST(endpoints),
		SHORTAGE_TEST(enabling),
		SHORTAGE_TEST(enabling_with_a_source),
		SHORTAGE_TEST(the_thread),
		SHORTAGE_TEST(scalable_endpoints),
		SHORTAGE_TEST(shared_contexts),
		SHORTAGE_TEST(regions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
