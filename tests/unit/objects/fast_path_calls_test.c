/* SPDX-License-Identifier: BSD-2-Clause */
#include "endpoint_fixture.h"

#include "objects/op/op.h"

/*
 * The fast path: small messages that a transport only sends, and owners of this
 * library whose peers write where the application reads.
 */

static struct {
	unsigned int calls;
	ssize_t answer;
	enum wf_op_kind kind;
	size_t len;
	fi_addr_t addr;
	uint64_t tag;
} small;

static ssize_t small_send(struct wf_ep *ep, enum wf_op_kind kind, const void *buf,
	size_t len, fi_addr_t addr, uint64_t tag)
{
	(void)ep;
	(void)buf;
	small.calls++;
	small.kind = kind;
	small.len = len;
	small.addr = addr;
	small.tag = tag;
	return small.answer;
}

enum { SMALL = 32 };

static const struct wf_xfer_ops small_ops = {
	.lock_kind = WF_LOCK_SPIN,
	.start = fake_start,
	.send_small = small_send,
	.small_size = SMALL,
	.progress = fake_progress,
	.enable = fake_enable,
	.cancel = fake_cancel,
	.destroy = fake_destroy,
};

static struct fid_ep *open_small(struct domain_fixture *f, struct around *a,
	uint64_t op_flags, uint64_t cq_flags)
{
	struct fi_info *info = new_info();
	struct fid_ep *ep;

	info->caps = FI_MSG | FI_TAGGED;
	info->ep_attr->type = FI_EP_RDM;
	info->tx_attr->op_flags = op_flags;
	ep = &open_fake(f, info)->ep.fid;
	wf_ep_of(ep)->xfer = &small_ops;
	*a = open_around(f);
	assert_int_equal(
		fi_ep_bind(ep, &a->cq->fid, FI_TRANSMIT | FI_RECV | cq_flags), 0);
	assert_int_equal(fi_ep_bind(ep, &a->cntr->fid, FI_SEND), 0);
	assert_int_equal(fi_ep_bind(ep, &a->av->fid, 0), 0);
	assert_int_equal(fi_enable(ep), 0);
	memset(&small, 0, sizeof(small));
	return ep;
}

static void expect(struct around *a, void *context, uint64_t flags)
{
	struct fi_cq_tagged_entry entry = { 0 };

	assert_int_equal(fi_cq_read(a->cq, &entry, 1), 1);
	assert_ptr_equal(entry.op_context, context);
	assert_int_equal(entry.flags, flags);
	assert_int_equal(fi_cq_read(a->cq, &entry, 1), -FI_EAGAIN);
}

static void expect_none(struct around *a)
{
	assert_int_equal(fi_cq_read(a->cq, NULL, 0), -FI_EAGAIN);
}

/* CQ-039, CNT-018: what the transport only sent completes and counts as any other. */
static void test_small(void **state)
{
	struct around a;
	struct fid_ep *ep = open_small(*state, &a, 0, 0);
	char buf[200] = { 0 };

	assert_int_equal(fi_tsend(ep, buf, SMALL, NULL, 5, 0x77, buf), 0);
	assert_int_equal(small.calls, 1);
	assert_int_equal(small.kind, WF_OP_TSEND);
	assert_int_equal(small.len, SMALL);
	assert_int_equal(small.addr, 5);
	assert_int_equal(small.tag, 0x77);
	expect(&a, buf, FI_SEND | FI_TAGGED);
	assert_int_equal(fi_cntr_read(a.cntr), 1);
	assert_int_equal(fi_send(ep, buf, 0, NULL, 6, &a), 0);
	assert_int_equal(small.kind, WF_OP_SEND);
	assert_int_equal(small.addr, 6);
	expect(&a, &a, FI_SEND | FI_MSG);
	assert_int_equal(fi_cntr_read(a.cntr), 2);
	/* Injected operations are counted, and write no completion. */
	assert_int_equal(fi_tinject(ep, buf, 8, 5, 0x77), 0);
	assert_int_equal(fi_inject(ep, buf, 8, 5), 0);
	expect_none(&a);
	assert_int_equal(fi_cntr_read(a.cntr), 4);
	assert_int_equal(small.calls, 4);
	assert_int_equal(of(ep)->starts, 0);
	close_ep(ep);
	close_around(&a);
}

/* What is too long, or not taken, starts as an operation, and completes later. */
static void test_not_small(void **state)
{
	struct around a;
	struct fid_ep *ep = open_small(*state, &a, 0, 0);
	char buf[200] = { 0 };

	assert_int_equal(fi_tsend(ep, buf, SMALL + 1, NULL, 5, 0x77, buf), 0);
	assert_int_equal(small.calls, 0);
	assert_int_equal(of(ep)->starts, 1);
	small.answer = -FI_EAGAIN;
	assert_int_equal(fi_tsend(ep, buf, 8, NULL, 5, 0x77, buf), 0);
	assert_int_equal(fi_inject(ep, buf, 8, 5), 0);
	assert_int_equal(small.calls, 2);
	assert_int_equal(of(ep)->starts, 3);
	expect_none(&a);
	assert_int_equal(fi_cntr_read(a.cntr), 0);
	close_ep(ep);
	close_around(&a);
	/* A flag that wants more than sending. */
	ep = open_small(*state, &a, FI_DELIVERY_COMPLETE, 0);
	assert_int_equal(fi_send(ep, buf, 8, NULL, 5, buf), 0);
	assert_int_equal(fi_inject(ep, buf, 8, 5), 0);
	assert_int_equal(small.calls, 0);
	assert_int_equal(of(ep)->starts, 2);
	close_ep(ep);
	close_around(&a);
}

/* CS-002: nothing completes that was not asked to. */
static void test_small_selective(void **state)
{
	struct around a;
	struct fid_ep *ep = open_small(*state, &a, 0, FI_SELECTIVE_COMPLETION);
	uint64_t flags = FI_TRANSMIT | FI_COMPLETION;
	char buf[8] = { 0 };

	assert_int_equal(fi_send(ep, buf, 8, NULL, 5, buf), 0);
	expect_none(&a);
	assert_int_equal(fi_control(&ep->fid, FI_SETOPSFLAG, &flags), 0);
	assert_int_equal(fi_send(ep, buf, 8, NULL, 5, buf), 0);
	expect(&a, buf, FI_SEND | FI_MSG);
	assert_int_equal(fi_cntr_read(a.cntr), 2);
	assert_int_equal(small.calls, 2);
	close_ep(ep);
	close_around(&a);
}

static void test_here(void **state)
{
	struct around a;
	struct fid_ep *ep = open_enabled(*state, &a, new_info(), 0), *alias = NULL;
	struct fi_ops_ep ops = *ep->ops;
	struct fid_ep foreign = *ep;

	assert_ptr_equal(wf_ep_from_fid(ep), wf_ep_of(ep));
	assert_int_equal(fi_ep_alias(ep, &alias, FI_TRANSMIT), 0);
	assert_null(wf_ep_from_fid(alias));
	foreign.ops = &ops;
	assert_null(wf_ep_from_fid(&foreign));
	assert_int_equal(fi_close(&alias->fid), 0);
	close_ep(ep);
	close_around(&a);
}

static void test_may_sleep(void **state)
{
	struct domain_fixture *f = *state;
	struct fi_cq_attr attr = { .wait_obj = FI_WAIT_FD };
	struct around a;
	struct fid_ep *ep = open_enabled(f, &a, new_info(), 0);
	struct wf_ep *wf = wf_ep_of(ep);
	struct wf_cq *own = wf->rx_cq;
	struct fid_cq *sleepy;

	assert_false(wf_ep_may_sleep(wf));
	f->domain.progress = FI_PROGRESS_AUTO;
	assert_true(wf_ep_may_sleep(wf));
	f->domain.progress = FI_PROGRESS_MANUAL;
	assert_int_equal(wf_cq_open(&f->domain.fid, &attr, &sleepy, NULL), 0);
	wf->rx_cq = wf_cq_of(sleepy);
	assert_true(wf_ep_may_sleep(wf));
	wf->rx_cq = own;
	wf->cntr[WF_CNTR_RECV] = wf_cntr_of(a.cntr);
	wf_cntr_of(a.cntr)->wait.obj = FI_WAIT_NONE;
	assert_false(wf_ep_may_sleep(wf));
	wf_cntr_of(a.cntr)->wait.obj = FI_WAIT_UNSPEC;
	assert_true(wf_ep_may_sleep(wf));
	wf->cntr[WF_CNTR_RECV] = NULL;
	assert_int_equal(fi_close(&sleepy->fid), 0);
	close_ep(ep);
	close_around(&a);
}

/* ---- owners and peers of one library ---- */

static unsigned int writes, errors, incs;

static ssize_t owner_write(struct fid_peer_cq *cq, void *context, uint64_t flags,
	size_t len, void *buf, uint64_t data, uint64_t tag, fi_addr_t src)
{
	(void)cq, (void)context, (void)flags, (void)len, (void)buf, (void)data;
	(void)tag, (void)src;
	writes++;
	return 0;
}

static ssize_t owner_writeerr(
	struct fid_peer_cq *cq, const struct fi_cq_err_entry *entry)
{
	(void)cq, (void)entry;
	errors++;
	return 0;
}

static void put(struct wf_cq *cq, fi_addr_t src)
{
	assert_int_equal(wf_cq_write(cq, cq, FI_RECV | FI_MSG, 1, NULL, 2, 3, src), 0);
}

/* P-35: successes in a linked queue do not pass the owner's operations; its numbers for
 * sources hold nevertheless, and errors are always the owner's. */
static void test_linked_cq(void **state)
{
	struct domain_fixture *f = *state;
	struct fi_ops_cq_owner ops = { sizeof(ops), owner_write, owner_writeerr };
	struct fid_peer_cq owner = { .owner_ops = &ops };
	struct fi_peer_cq_context context = { sizeof(context), &owner };
	struct fi_cq_attr attr = { .flags = FI_PEER };
	struct fi_cq_err_entry err = { .err = FI_EIO };
	struct wf_av nobody = { .id_only = true };
	struct around a = open_around(f);
	struct fi_cq_tagged_entry entry;
	struct fid_cq *fid;
	struct wf_cq *peer;
	fi_addr_t src;

	assert_int_equal(wf_cq_open(&f->domain.fid, &attr, &fid, &context), 0);
	peer = wf_cq_of(fid);
	writes = errors = 0;
	/* Only an imported queue is linked, and only with one that is not. */
	wf_cq_link(NULL, wf_cq_of(a.cq));
	wf_cq_link(a.cq, peer);
	wf_cq_link(fid, peer);
	put(peer, 7);
	assert_int_equal(writes, 1);
	wf_cq_link(fid, wf_cq_of(a.cq));
	put(peer, 7);
	assert_int_equal(writes, 1);
	assert_int_equal(fi_cq_readfrom(a.cq, &entry, 1, &src), 1);
	assert_ptr_equal(entry.op_context, peer);
	assert_int_equal(entry.tag, 3);
	assert_int_equal(src, 7);
	wf_cq_link_sources(fid, &nobody);
	wf_cq_link_sources(a.cq, &nobody);
	put(peer, 7);
	assert_int_equal(fi_cq_readfrom(a.cq, &entry, 1, &src), 1);
	assert_int_equal(src, FI_ADDR_NOTAVAIL);
	assert_int_equal(wf_cq_write_err(peer, &err), 0);
	assert_int_equal(errors, 1);
	wf_cq_link(fid, NULL);
	put(peer, 7);
	assert_int_equal(writes, 2);
	expect_none(&a);
	assert_int_equal(fi_close(&fid->fid), 0);
	close_around(&a);
}

static void owner_inc(struct fid_peer_cntr *cntr)
{
	(void)cntr;
	incs++;
}

static void owner_incerr(struct fid_peer_cntr *cntr)
{
	(void)cntr;
	errors++;
}

/* P-40 */
static void test_linked_cntr(void **state)
{
	struct domain_fixture *f = *state;
	struct fi_ops_cntr_owner ops = { sizeof(ops), owner_inc, owner_incerr };
	struct fid_peer_cntr owner = { .owner_ops = &ops };
	struct fi_peer_cntr_context context = { sizeof(context), &owner };
	struct fi_cntr_attr attr = { .flags = FI_PEER };
	struct around a = open_around(f);
	struct fid_cntr *fid;
	struct wf_cntr *peer;

	assert_int_equal(wf_cntr_open(&f->domain.fid, &attr, &fid, &context), 0);
	peer = wf_cntr_of(fid);
	wf_cntr_link(a.cntr, peer);
	assert_ptr_equal(wf_cntr_target(peer), peer);
	incs = errors = 0;
	wf_cntr_add(peer, 10);
	assert_int_equal(incs, 1);
	wf_cntr_link(fid, wf_cntr_of(a.cntr));
	assert_ptr_equal(wf_cntr_target(peer), wf_cntr_of(a.cntr));
	wf_cntr_add(peer, 10);
	assert_int_equal(incs, 1);
	assert_int_equal(fi_cntr_read(a.cntr), 1);
	wf_cntr_add_err(peer);
	assert_int_equal(errors, 1);
	wf_cntr_link(fid, NULL);
	wf_cntr_add(peer, 10);
	assert_int_equal(incs, 2);
	assert_int_equal(fi_cntr_read(a.cntr), 1);
	assert_int_equal(fi_close(&fid->fid), 0);
	close_around(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DOMAIN_TEST(test_small),
		DOMAIN_TEST(test_not_small),
		DOMAIN_TEST(test_small_selective),
		DOMAIN_TEST(test_here),
		DOMAIN_TEST(test_may_sleep),
		DOMAIN_TEST(test_linked_cq),
		DOMAIN_TEST(test_linked_cntr),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
