/* SPDX-License-Identifier: BSD-2-Clause */
#include "srx_fixture.h"

#include "objects/absent/absent.h"
#include "objects/peer/open.h"

/* Receive contexts that an application opens, and those of another provider. */

enum { T = FI_TAGGED | FI_RECV, M = FI_MSG | FI_RECV };

static struct fid_ep *open_ctx(struct domain_fixture *f, uint64_t caps)
{
	struct fi_rx_attr attr = {
		.caps = FI_MSG | FI_TAGGED | caps,
		.size = 8,
		.iov_limit = 3,
	};
	struct fid_ep *srx = NULL;

	assert_int_equal(fi_srx_context(&f->domain.fid, &attr, &srx, f), 0);
	return srx;
}

static void set_min(struct fid_ep *srx, size_t min)
{
	assert_int_equal(fi_setopt(&srx->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV,
				 &min, sizeof(min)),
		0);
}

static struct fk *open_with(struct fk_around *a, struct fid_ep *srx, uint64_t caps)
{
	struct fk *fk = fk_open(a->f, fk_info(caps));

	assert_int_equal(fi_ep_bind(&fk->ep.fid, &srx->fid, 0), 0);
	fk_enable_with(fk, a, 0);
	return fk;
}

/* What the domain does not offer, and contexts of other domains and providers. */
static void test_limits(void **state)
{
	struct fk_around a = fk_open_around(*state);
	struct domain_fixture *f = *state;
	struct fi_rx_attr from = { .iov_limit = 3 };
	struct fi_rx_attr attr = { .caps = FI_MSG, .size = 8, .iov_limit = 4 };
	struct fid_ep *srx = NULL, *stranger;
	struct fk *fk = fk_open(f, fk_info(0));
	struct wf_domain other;

	f->info.rx_attr = &from;
	assert_int_equal(fi_srx_context(&f->domain.fid, &attr, &srx, NULL), -FI_EINVAL);
	assert_null(srx);
	attr.iov_limit = 3;
	assert_int_equal(fi_srx_context(&f->domain.fid, &attr, NULL, NULL), -FI_EINVAL);
	assert_int_equal(fi_srx_context(&f->domain.fid, &attr, &srx, NULL), 0);
	assert_int_equal(wf_ep_of(srx)->rx_iov_limit, 3);
	f->info.rx_attr = NULL;
	stranger = calloc(1, sizeof(*stranger));
	assert_non_null(stranger);
	stranger->fid.fclass = FI_CLASS_SRX_CTX;
	stranger->fid.ops = &wf_absent_fid;
	assert_int_equal(fi_ep_bind(&fk->ep.fid, &stranger->fid, 0), -FI_EINVAL);
	free(stranger);
	memset(&other, 0, sizeof(other));
	wf_ep_of(srx)->domain = &other;
	assert_int_equal(fi_ep_bind(&fk->ep.fid, &srx->fid, 0), -FI_EDOMAIN);
	wf_ep_of(srx)->domain = &f->domain;
	fk->ep.caps &= ~FI_RECV;
	assert_int_equal(fi_ep_bind(&fk->ep.fid, &srx->fid, 0), -FI_EINVAL);
	assert_null(fk->ep.srx_ctx);
	assert_int_equal(fi_close(&srx->fid), 0);
	fk_close(fk);
	fk_close_around(&a);
}

/* SHC-007, SHC-013, EP-015 */
static void test_life(void **state)
{
	struct fk_around a = fk_open_around(*state);
	struct fid_ep *srx = open_ctx(*state, 0), *none = NULL;
	struct fi_rx_attr attr = { .caps = FI_MSG };
	struct fk *fk = fk_open(*state, fk_info(0));
	uint64_t flags = FI_RECV;

	assert_int_equal(srx->fid.fclass, FI_CLASS_SRX_CTX);
	assert_ptr_equal(srx->fid.context, *state);
	assert_int_equal(fi_control(&srx->fid, FI_GETOPSFLAG, &flags), 0);
	assert_int_equal(flags, 0);
	assert_int_equal(fi_send(srx, &a, 1, NULL, 0, NULL), -FI_ENOSYS);
	assert_int_equal(fi_ep_bind(srx, &a.cq->fid, FI_RECV), -FI_ENOSYS);

	assert_int_equal(fi_ep_bind(&fk->ep.fid, &srx->fid, FI_RECV), -FI_EBADFLAGS);
	assert_int_equal(fi_close(&srx->fid), 0);
	srx = open_ctx(*state, 0);
	assert_int_equal(fi_ep_bind(&fk->ep.fid, &srx->fid, 0), 0);
	assert_int_equal(fi_ep_bind(&fk->ep.fid, &srx->fid, 0), -FI_EINVAL);
	assert_int_equal(fi_close(&srx->fid), -FI_EBUSY);
	/* Closed without ever being enabled. */
	fk_close(fk);
	assert_int_equal(fi_close(&srx->fid), 0);

	assert_int_equal(
		fi_srx_context(&a.f->domain.fid, NULL, &none, NULL), -FI_EINVAL);
	a.f->domain_attr.max_ep_srx_ctx = 0;
	a.f->prov.srx_ops = NULL;
	assert_int_equal(
		fi_srx_context(&a.f->domain.fid, &attr, &none, NULL), -FI_ENOSYS);
	attr.op_flags = FI_PEER;
	assert_int_equal(
		fi_srx_context(&a.f->domain.fid, &attr, &none, NULL), -FI_EINVAL);
	assert_null(none);
	fk_close_around(&a);
}

/* SHC-008, SHC-010, and one buffer for several endpoints */
static void test_shared(void **state)
{
	struct fk_around a = fk_open_around(*state), b = fk_open_around(*state);
	struct fid_ep *srx = open_ctx(*state, FI_MULTI_RECV);
	struct fid_av *other = b.av;
	struct fk *one, *two;
	unsigned char buf[4][80];
	size_t min = 0, len = sizeof(min);

	set_min(srx, 8);
	assert_int_equal(fi_getopt(&srx->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV,
				 &min, &len),
		0);
	assert_int_equal(min, 8);
	/* Receives can be there before any endpoint is. */
	assert_int_equal(fi_recv(srx, buf[0], 80, NULL, 0, buf[0]), 0);
	one = open_with(&a, srx, 0);
	b.av = a.av;
	two = open_with(&b, srx, 0);
	assert_int_equal(fi_recv(&one->ep.fid, buf[0], 8, NULL, 0, NULL), -FI_ENOSYS);
	assert_int_equal(
		fi_trecv(&one->ep.fid, buf[0], 8, NULL, 0, 0, 0, NULL), -FI_ENOSYS);

	assert_int_equal(fi_recv(srx, buf[1], 80, NULL, 0, buf[1]), 0);
	fk_message(two, 1, 10, 5);
	fk_expect(&b, buf[0], M, 5, 0);
	fk_message(one, 1, 20, 6);
	fk_expect(&a, buf[1], M, 6, 0);
	assert_int_equal(fi_cntr_read(a.cntr), 1);
	assert_int_equal(fi_cntr_read(b.cntr), 1);

	/* Unexpected messages start where they came. */
	fk_tagged(two, 1, 5, 30, 7);
	fk_tagged(one, 1, 5, 40, 8);
	assert_int_equal(fk_trecvmsg(srx, NULL, 0, 0, 5, 0, &a, FI_PEEK), 0);
	fk_expect(&b, &a, T, 7, 5);
	assert_int_equal(fk_trecvmsg(srx, NULL, 0, 0, 6, 0, &a, FI_PEEK), 0);
	(void)fk_expect_err(&a, &a, T, FI_ENOMSG);
	/* A reserved message that is discarded completes at the endpoint where it
	 * arrived, too. TAG-012 */
	fk_tagged(two, 1, 7, 70, 9);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(fk_trecvmsg(srx, NULL, 0, 0, 7, 0, &a,
					 FI_CLAIM | (i ? FI_DISCARD : FI_PEEK)),
			0);
		fk_expect(&b, &a, T, 9, 7);
	}
	assert_int_equal(fi_trecv(srx, buf[2], 80, NULL, 0, 5, 0, buf[2]), 0);
	fk_expect(&b, buf[2], T, 7, 5);
	assert_int_equal(fi_trecv(srx, buf[2], 80, NULL, 0, 5, 0, buf[2]), 0);
	fk_expect(&a, buf[2], T, 8, 5);

	/* MRV-006 over two endpoints: the one with the last message reports the
	 * release. */
	assert_int_equal(fk_recvmsg(srx, buf[3], 80, buf[3], FI_MULTI_RECV), 0);
	one->hold = true;
	fk_message(one, 1, 50, 40);
	fk_message(two, 1, 60, 40);
	fk_expect(&b, buf[3], M, 40, 0);
	fk_expect_none(&b);
	fk_finish(one, 0);
	fk_expect(&a, buf[3], M, 40, 0);
	fk_expect(&a, buf[3], FI_MULTI_RECV, 0, 0);
	assert_true(fk_holds(buf[3], 50, 40) && fk_holds(buf[3] + 40, 60, 40));

	/* EP-033: completes at the first endpoint. */
	assert_int_equal(fi_recv(srx, buf[0], 80, NULL, 0, buf[0]), 0);
	assert_int_equal(fi_cancel(&srx->fid, buf[0]), 0);
	(void)fk_expect_err(&a, buf[0], M, FI_ECANCELED);
	fk_close(one);
	fk_close(two);
	assert_int_equal(fi_close(&srx->fid), 0);
	b.av = other;
	fk_close_around(&a);
	fk_close_around(&b);
}

/* An endpoint takes its own messages along, and no others. */
static void test_close_one(void **state)
{
	struct fk_around a = fk_open_around(*state), d = fk_open_around(*state);
	struct fid_ep *srx = open_ctx(*state, FI_MULTI_RECV);
	struct fid_av *other = d.av;
	struct fk *one, *two;
	unsigned char b[80], c[80];

	/* Each has a CQ of its own: @two's is @d's. */
	d.av = a.av;
	one = open_with(&a, srx, 0);
	two = open_with(&d, srx, 0);

	set_min(srx, 8);
	fk_tagged(one, 1, 5, 10, 5);
	fk_tagged(two, 1, 5, 20, 6);
	fk_tagged(one, 1, 6, 10, 5);
	fk_tagged(two, 1, 6, 10, 5);
	assert_int_equal(fk_trecvmsg(srx, NULL, 0, 0, 6, 0, &a, FI_PEEK | FI_CLAIM), 0);
	fk_expect(&a, &a, T, 5, 6);
	/* Its part of a shared buffer is given back, without completion. */
	assert_int_equal(fk_recvmsg(srx, c, 80, c, FI_MULTI_RECV), 0);
	one->hold = true;
	fk_message(one, 1, 30, 40);
	fk_message(two, 1, 40, 40);
	fk_expect(&d, c, M, 40, 0);
	atomic_store(&fk_discarded, 0);
	fk_close(one);
	assert_int_equal(atomic_load(&fk_discarded), 2);
	fk_expect_none(&a);
	fk_expect(&d, c, FI_MULTI_RECV, 0, 0);
	assert_int_equal(fk_trecvmsg(srx, b, 80, 0, 6, 0, &a, FI_CLAIM), -FI_EINVAL);
	assert_int_equal(fi_trecv(srx, b, 80, NULL, 0, 5, 0, b), 0);
	fk_expect(&d, b, T, 6, 5);
	fk_close(two);
	/* No endpoint is left to answer. */
	assert_int_equal(
		fk_trecvmsg(srx, NULL, 0, 0, 6, 0, &a, FI_PEEK), -FI_EOPBADSTATE);
	assert_int_equal(fi_trecv(srx, b, 80, NULL, 0, 5, 0, b), 0);
	assert_int_equal(fi_cancel(&srx->fid, b), 0);
	/* Posted receives are dropped with the context. */
	assert_int_equal(fi_trecv(srx, b, 80, NULL, 0, 5, 0, b), 0);
	assert_int_equal(fk_recvmsg(srx, c, 80, c, FI_MULTI_RECV), 0);
	assert_int_equal(fi_close(&srx->fid), 0);
	fk_expect_none(&a);
	d.av = other;
	fk_close_around(&a);
	fk_close_around(&d);
}

/* SHC-009 */
static void test_one_av(void **state)
{
	struct fk_around a = fk_open_around(*state), b = fk_open_around(*state);
	struct fid_ep *srx = open_ctx(*state, 0);
	struct fk *one = open_with(&a, srx, 0), *two = fk_open(*state, fk_info(0));
	struct fid_ep *ep = &two->ep.fid;

	assert_int_equal(fi_ep_bind(ep, &srx->fid, 0), 0);
	assert_int_equal(fi_ep_bind(ep, &b.cq->fid, FI_TRANSMIT | FI_RECV), 0);
	assert_int_equal(fi_ep_bind(ep, &b.av->fid, 0), 0);
	assert_int_equal(fi_enable(ep), -FI_EINVAL);
	/* When the first endpoint is closed, its AV is not used any more. */
	fk_close(one);
	assert_int_equal(fi_enable(ep), 0);
	fk_close(two);
	assert_int_equal(fi_close(&srx->fid), 0);
	fk_close_around(&a);
	fk_close_around(&b);
}

/* FI_SHARED_CONTEXT promises a context. */
static void test_promised(void **state)
{
	struct fk_around a = fk_open_around(*state);
	struct fid_ep *srx = open_ctx(*state, 0);
	struct fi_info *info = fk_info(0);
	struct fk *fk;

	info->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
	fk = fk_open(*state, info);
	assert_int_equal(fi_ep_bind(&fk->ep.fid, &a.cq->fid, FI_TRANSMIT | FI_RECV), 0);
	assert_int_equal(fi_ep_bind(&fk->ep.fid, &a.av->fid, 0), 0);
	assert_int_equal(fi_enable(&fk->ep.fid), -FI_EINVAL);
	assert_int_equal(fi_ep_bind(&fk->ep.fid, &srx->fid, 0), 0);
	assert_int_equal(fi_enable(&fk->ep.fid), 0);
	fk_close(fk);
	assert_int_equal(fi_close(&srx->fid), 0);
	fk_close_around(&a);
}

/* CS-002, CS-005: posted to a context, completed as the binding of each endpoint's CQ
 * requires. */
static void test_selective(void **state)
{
	struct fk_around a = fk_open_around(*state), b = fk_open_around(*state);
	struct fid_ep *srx = open_ctx(*state, 0);
	struct fid_av *other = b.av;
	struct fk *all = open_with(&a, srx, 0), *some = fk_open(*state, fk_info(0));
	unsigned char buf[8];

	b.av = a.av;
	assert_int_equal(fi_ep_bind(&some->ep.fid, &srx->fid, 0), 0);
	fk_enable_with(some, &b, FI_SELECTIVE_COMPLETION);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(fi_recv(srx, buf, 8, NULL, 0, buf), 0);
		fk_message(i ? all : some, 1, 0, 4);
	}
	fk_expect(&a, buf, M, 4, 0);
	fk_expect_none(&b);
	assert_int_equal(fk_recvmsg(srx, buf, 8, buf, FI_COMPLETION), 0);
	fk_message(some, 1, 0, 5);
	fk_expect(&b, buf, M, 5, 0);
	assert_int_equal(fi_cntr_read(b.cntr), 2);
	fk_close(all);
	fk_close(some);
	assert_int_equal(fi_close(&srx->fid), 0);
	b.av = other;
	fk_close_around(&a);
	fk_close_around(&b);
}

/* ---- import ---- */

static struct fid_ep *import(
	struct domain_fixture *f, struct fid_peer_srx *srx, int expect)
{
	struct fi_peer_srx_context context = { sizeof(context), srx };
	struct fi_rx_attr attr = { .op_flags = FI_PEER };
	struct fid_ep *ret = NULL;

	assert_int_equal(fi_srx_context(&f->domain.fid, &attr, &ret, &context), expect);
	/* P-03: the context is gone now. */
	memset(&context, 0xee, sizeof(context));
	return ret;
}

/* P-04, P-07 */
static void test_import_bad(void **state)
{
	struct fk_around a = fk_open_around(*state);
	struct fi_ops_srx_owner ops = wf_srx_owner_ops;
	struct fid_peer_srx srx = { .owner_ops = &ops };
	struct fi_peer_srx_context context = { sizeof(context) - 1, &srx };
	struct fi_rx_attr attr = { .op_flags = FI_PEER };
	struct fi_ops_srx_peer small;
	struct fid_ep *ret = NULL;

	assert_int_equal(
		fi_srx_context(&a.f->domain.fid, &attr, &ret, &context), -FI_EINVAL);
	assert_int_equal(
		fi_srx_context(&a.f->domain.fid, &attr, &ret, NULL), -FI_EINVAL);
	assert_null(import(*state, NULL, -FI_EINVAL));
	small.size = sizeof(small) - 1;
	srx.peer_ops = &small;
	assert_null(import(*state, &srx, -FI_EINVAL));
	srx.peer_ops = NULL;
	ops.foreach_unspec_addr = NULL;
	assert_null(import(*state, &srx, -FI_EINVAL));
	ops = wf_srx_owner_ops;
	ops.size = offsetof(struct fi_ops_srx_owner, free_entry);
	assert_null(import(*state, &srx, -FI_EINVAL));
	fk_close_around(&a);
}

/* A peer that leaves out one of its operations is of no use, and closed. */
static void test_import_incomplete(void **state)
{
	struct fk_around a = fk_open_around(*state);
	struct fid_peer_srx srx = { .owner_ops = &wf_srx_owner_ops };
	struct fi_ops_srx_peer ops = fk_srx_ops;
	struct fi_rx_attr attr = { .caps = FI_MSG };
	struct fid_ep *ret = NULL;
	int refs = atomic_load(&a.f->domain.refs);

	a.f->prov.srx_ops = &ops;
	for (int i = 0; i < 4; i++) {
		ops = fk_srx_ops;
		*(i == 0         ? &ops.start_msg
			: i == 1 ? &ops.start_tag
			: i == 2 ? &ops.discard_msg
				 : &ops.discard_tag) = NULL;
		srx.peer_ops = NULL;
		assert_int_equal(wf_peer_open_srx(&a.f->domain.fid, &attr, &srx, &ret),
			-FI_EINVAL);
		assert_null(ret);
		assert_int_equal(atomic_load(&a.f->domain.refs), refs);
	}
	ops = fk_srx_ops;
	srx.peer_ops = NULL;
	assert_int_equal(wf_peer_open_srx(&a.f->domain.fid, &attr, &srx, &ret), 0);
	assert_int_equal(atomic_load(&a.f->domain.refs), refs + 1);
	assert_int_equal(fi_close(&ret->fid), 0);
	a.f->prov.srx_ops = &fk_srx_ops;
	fk_close_around(&a);
}

/* Two endpoints of two providers: the first owns what both receive from. */
static void test_import(void **state)
{
	struct domain_fixture *f = *state, *g;
	struct fk_around a = fk_open_around(f), b;
	struct fk *owner = fk_open_enabled(&a, FI_DIRECTED_RECV), *peer;
	struct fid_ep *ep = &owner->ep.fid, *srx;
	struct wf_srx_port port;
	unsigned char buf[3][8];

	assert_int_equal(domain_fixture_setup((void **)&g), 0);
	b = fk_open_around(g);
	wf_ep_srx_export(owner->ep.srx_queue, &port, &owner->ep, NULL);
	srx = import(g, &port.fid, 0);
	/* P-05: in the owner's table. */
	assert_ptr_equal(port.fid.peer_ops, &port.table);
	assert_ptr_equal(port.table.start_msg, fk_srx_ops.start_msg);
	assert_ptr_equal(port.table.start_tag, fk_srx_ops.start_tag);
	assert_ptr_equal(port.table.discard_msg, fk_srx_ops.discard_msg);
	assert_ptr_equal(port.table.discard_tag, fk_srx_ops.discard_tag);
	assert_int_equal(srx->fid.fclass, FI_CLASS_SRX_CTX);
	assert_int_equal(fi_recv(srx, buf[0], 8, NULL, 0, NULL), -FI_ENOSYS);
	assert_int_equal(fi_trecv(srx, buf[0], 8, NULL, 0, 0, 0, NULL), -FI_ENOSYS);

	peer = fk_open(g, fk_info(0));
	assert_int_equal(fi_ep_bind(&peer->ep.fid, &srx->fid, 0), 0);
	fk_enable_with(peer, &b, 0);
	assert_ptr_equal(peer->ep.srx, &port.fid);
	assert_null(peer->ep.srx_lock);
	assert_int_equal(fi_close(&srx->fid), -FI_EBUSY);
	assert_int_equal(fi_recv(&peer->ep.fid, buf[0], 8, NULL, 0, NULL), -FI_ENOSYS);
	(void)fi_cq_read(b.cq, NULL, 0);

	/* The owner's lock is held around what its peer does (3.7). */
	assert_int_equal(fi_trecv(ep, buf[0], 8, NULL, 1, 5, 0, buf[0]), 0);
	wf_ep_srx_lock(&owner->ep);
	fk_tagged(peer, 1, 5, 10, 3);
	fk_tagged(peer, 1, 6, 20, 4);
	fk_message(peer, 1, 30, 5);
	wf_ep_srx_unlock(&owner->ep);
	fk_expect(&b, buf[0], T, 3, 5);
	assert_int_equal(fi_trecv(ep, buf[1], 8, NULL, 1, 6, 0, buf[1]), 0);
	fk_expect(&b, buf[1], T, 4, 6);

	/* P-62, from the peer's own AV. */
	atomic_store(&fk_learnt, false);
	wf_ep_srx_lock(&owner->ep);
	fk_arrive_from(peer, 0, true, 7, true, 40, 6);
	wf_ep_srx_unlock(&owner->ep);
	assert_int_equal(fi_trecv(ep, buf[2], 8, NULL, 0, 7, 0, buf[2]), 0);
	atomic_store(&fk_learnt, true);
	(void)fk_insert(&b, 1000);
	fk_expect(&b, buf[2], T, 6, 7);

	/* P-08: the owner lets go of the peer's messages, then the peer is closed. */
	wf_srx_drain(&port);
	assert_int_equal(peer->discards, 1);
	fk_close(peer);
	assert_int_equal(fi_close(&srx->fid), 0);
	fk_close(owner);
	fk_close_around(&a);
	fk_close_around(&b);
	assert_int_equal(domain_fixture_teardown((void **)&g), 0);
}

/* An owner that is not ours: nothing is assumed about its entries. */
static struct {
	unsigned int gets, queues, frees, walks;
	struct fi_peer_rx_entry entry;
	struct iovec iov;
} foreign;

static int foreign_get(struct fid_peer_srx *srx, struct fi_peer_match_attr *attr,
	struct fi_peer_rx_entry **ret_entry)
{
	foreign.gets++;
	foreign.entry.srx = srx;
	foreign.entry.msg_size = attr->msg_size;
	*ret_entry = &foreign.entry;
	return 0;
}

static int foreign_queue(struct fi_peer_rx_entry *entry)
{
	foreign.queues++;
	return 0;
}

static void foreign_walk(
	struct fid_peer_srx *srx, fi_addr_t (*get_addr)(struct fi_peer_rx_entry *))
{
	foreign.walks++;
}

static void foreign_free(struct fi_peer_rx_entry *entry)
{
	foreign.frees++;
}

static struct fi_ops_srx_owner foreign_ops = {
	.size = sizeof(foreign_ops),
	.get_msg = foreign_get,
	.get_tag = foreign_get,
	.queue_msg = foreign_queue,
	.queue_tag = foreign_queue,
	.foreach_unspec_addr = foreign_walk,
	.free_entry = foreign_free,
};

static void test_import_foreign(void **state)
{
	struct fk_around a = fk_open_around(*state);
	struct fid_peer_srx fid = { .owner_ops = &foreign_ops };
	struct fid_ep *srx = import(*state, &fid, 0);
	struct fk *fk = open_with(&a, srx, 0);
	unsigned char buf[8];

	foreign.iov = (struct iovec){ buf, 8 };
	foreign.entry = (struct fi_peer_rx_entry){
		.flags = FI_MSG | FI_RECV | FI_COMPLETION,
		.context = buf,
		.count = 1,
		.iov = &foreign.iov,
	};
	assert_ptr_equal(fid.peer_ops, &fk_srx_ops);
	fk_message(fk, 1, 10, 8);
	fk_expect(&a, buf, M, 8, 0);
	assert_true(fk_holds(buf, 10, 8));
	assert_int_equal(foreign.gets, 1);
	assert_int_equal(foreign.frees, 1);
	(void)fk_insert(&a, 1000);
	assert_int_equal(foreign.walks, 1);
	fk_close(fk);
	assert_int_equal(fi_close(&srx->fid), 0);
	fk_close_around(&a);
}

/* A context of this library takes deliveries, whichever library its owner is of, if it
 * has a sink for the results. */
static void test_deliver_imported(void **state)
{
	struct domain_fixture *f = *state, *g;
	struct fk_around a = fk_open_around(f), b;
	struct fk *owner = fk_open_enabled(&a, 0), *peer;
	const struct wf_srx_arrival msg = { "abc", 3, 5, 0, 0, 1, 1 };
	struct fid_ep *ep = &owner->ep.fid, *srx;
	struct wf_srx_port port;
	struct wf_cq *cq;
	char buf[8] = "";

	assert_int_equal(domain_fixture_setup((void **)&g), 0);
	b = fk_open_around(g);
	wf_ep_srx_export(owner->ep.srx_queue, &port, &owner->ep, NULL);
	srx = import(g, &port.fid, 0);
	peer = fk_open(g, fk_info(0));
	assert_int_equal(fi_ep_bind(&peer->ep.fid, &srx->fid, 0), 0);
	fk_enable_with(peer, &b, 0);
	cq = wf_cq_of(b.cq);

	assert_int_equal(fi_trecv(ep, buf, 8, NULL, FI_ADDR_UNSPEC, 5, 0, buf), 0);
	wf_ep_srx_lock(&owner->ep);
	atomic_store(&cq->direct, NULL);
	assert_false(wf_ep_deliver(&peer->ep, FI_TAGGED, &msg));
	assert_string_equal(buf, "");
	atomic_store(&cq->direct, wf_cq_of(a.cq));
	assert_true(wf_ep_deliver(&peer->ep, FI_TAGGED, &msg));
	/* It is there no more. */
	assert_false(wf_ep_deliver(&peer->ep, FI_TAGGED, &msg));
	wf_ep_srx_unlock(&owner->ep);
	fk_expect(&a, buf, T, 3, 5);
	fk_expect_none(&b);
	assert_string_equal(buf, "abc");
	atomic_store(&cq->direct, cq);

	wf_srx_drain(&port);
	fk_close(peer);
	assert_int_equal(fi_close(&srx->fid), 0);
	fk_close_around(&b);
	domain_fixture_teardown((void **)&g);
	fk_close(owner);
	fk_close_around(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DOMAIN_TEST(test_life),
		DOMAIN_TEST(test_limits),
		DOMAIN_TEST(test_shared),
		DOMAIN_TEST(test_close_one),
		DOMAIN_TEST(test_one_av),
		DOMAIN_TEST(test_promised),
		DOMAIN_TEST(test_selective),
		DOMAIN_TEST(test_import_bad),
		DOMAIN_TEST(test_import_incomplete),
		DOMAIN_TEST(test_import),
		DOMAIN_TEST(test_import_foreign),
		DOMAIN_TEST(test_deliver_imported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
