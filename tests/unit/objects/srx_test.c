/* SPDX-License-Identifier: BSD-2-Clause */
#include "srx_fixture.h"

#include "objects/srx/internal.h"

/* Receives and messages of one endpoint with a context of its own. */

enum { T = FI_TAGGED | FI_RECV, M = FI_MSG | FI_RECV };

/* TAG-001 to TAG-003, MSG-012 */
static void test_posted_first(void **state)
{
	struct fk_around a = fk_open_around(*state);
	struct fk *fk = fk_open_enabled(&a, 0);
	struct fid_ep *ep = &fk->ep.fid;
	unsigned char b[4][16] = { { 0 } };

	assert_int_equal(fi_trecv(ep, b[0], 16, NULL, 7, 1, 0, &b[0]), 0);
	assert_int_equal(fi_trecv(ep, b[1], 16, NULL, 7, 0x10, 0xf, &b[1]), 0);
	assert_int_equal(fi_recv(ep, b[2], 16, NULL, 7, &b[2]), 0);
	assert_int_equal(fi_recv(ep, b[3], 16, NULL, 7, &b[3]), 0);
	fk_expect_none(&a);

	fk_tagged(fk, 3, 0x15, 10, 8);
	fk_expect(&a, &b[1], T, 8, 0x15);
	fk_message(fk, 3, 20, 16);
	fk_expect(&a, &b[2], M, 16, 0);
	fk_message(fk, 3, 30, 0);
	fk_expect(&a, &b[3], M, 0, 0);
	fk_tagged(fk, 3, 1, 40, 3);
	fk_expect(&a, &b[0], T, 3, 1);
	assert_true(fk_holds(b[1], 10, 8));
	assert_true(fk_holds(b[2], 20, 16));
	assert_true(fk_holds(b[0], 40, 3));
	assert_int_equal(fi_cntr_read(a.cntr), 4);
	fk_expect_none(&a);
	fk_close(fk);
	fk_close_around(&a);
}

/* Unexpected messages are received in their order; MSG-018, TAG-002 */
static void test_unexpected_first(void **state)
{
	struct fk_around a = fk_open_around(*state);
	struct fk *fk = fk_open_enabled(&a, 0);
	struct fid_ep *ep = &fk->ep.fid;
	unsigned char b[3][16] = { { 0 } };
	struct iovec iov[2] = { { b[2], 2 }, { b[2] + 8, 8 } };

	fk_tagged(fk, 3, 5, 10, 4);
	fk_tagged(fk, 3, 6, 20, 5);
	fk_tagged(fk, 3, 5, 30, 6);
	fk_message(fk, 3, 40, 7);
	assert_int_equal(fi_trecv(ep, b[0], 16, NULL, 3, 0, 0xff, &b[0]), 0);
	fk_expect(&a, &b[0], T, 4, 5);
	assert_int_equal(fi_trecv(ep, b[1], 16, NULL, 3, 5, 0, &b[1]), 0);
	fk_expect(&a, &b[1], T, 6, 5);
	assert_true(fk_holds(b[1], 30, 6));
	assert_int_equal(fi_recvv(ep, iov, NULL, 2, 3, &b[2]), 0);
	fk_expect(&a, &b[2], M, 7, 0);
	assert_true(fk_holds(b[2], 40, 2) && fk_holds(b[2] + 8, 42, 5));
	/* The one left over is dropped with the endpoint. */
	fk_close(fk);
	fk_close_around(&a);
}

/* The peer's own view of entries: P-50 to P-60 */
static void test_entry_fields(void **state)
{
	struct fk_around a = fk_open_around(*state);
	struct fk *fk = fk_open_enabled(&a, 0);
	struct fid_ep *ep = &fk->ep.fid;
	struct fi_peer_match_attr attr = { 9, 4, 77 };
	struct fi_peer_rx_entry *entry = NULL;
	struct fid_peer_srx *srx = fk->ep.srx;
	unsigned char buf[16];
	void *desc = &attr;

	assert_int_equal(srx->ep_fid.fid.fclass, FI_CLASS_PEER_SRX);
	assert_int_equal(srx->owner_ops->size, sizeof(*srx->owner_ops));
	assert_int_equal(fi_trecv(ep, buf, 16, desc, 9, 77, 0, &buf), 0);
	wf_ep_srx_lock(&fk->ep);
	assert_int_equal(srx->owner_ops->get_tag(srx, &attr, &entry), 0);
	assert_ptr_equal(entry->srx, srx);
	assert_int_equal(entry->addr, 9);
	assert_int_equal(entry->msg_size, 4);
	assert_int_equal(entry->tag, 77);
	assert_int_equal(entry->flags, T | FI_COMPLETION);
	assert_ptr_equal(entry->context, &buf);
	assert_int_equal(entry->count, 1);
	assert_ptr_equal(entry->iov[0].iov_base, buf);
	assert_int_equal(entry->iov[0].iov_len, 16);
	assert_ptr_equal(entry->desc[0], desc);
	srx->owner_ops->free_entry(entry);

	assert_int_equal(srx->owner_ops->get_msg(srx, &attr, &entry), -FI_ENOENT);
	assert_ptr_equal(entry->srx, srx);
	assert_int_equal(entry->addr, 9);
	assert_int_equal(entry->msg_size, 4);
	assert_int_equal(entry->tag, 0);
	assert_int_equal(entry->flags, M);
	assert_int_equal(entry->count, 0);
	/* One that is never queued can be freed. */
	srx->owner_ops->free_entry(entry);
	wf_ep_srx_unlock(&fk->ep);
	fk_expect_none(&a);
	fk_close(fk);
	fk_close_around(&a);
}

/* What a peer has stored in an entry is not in a receive that uses its memory again. */
static void test_entry_again(void **state)
{
	struct fk_around a = fk_open_around(*state);
	struct fk *fk = fk_open_enabled(&a, 0);
	struct fid_ep *ep = &fk->ep.fid;
	struct fid_peer_srx *srx = fk->ep.srx;
	struct fi_peer_match_attr attr = { 9, 4, 77 };
	struct iovec other = { 0 };
	unsigned char buf[16];
	void *desc = &attr, *none = NULL;

	for (int i = 0; i < 3; i++) {
		struct fi_peer_rx_entry *entry = NULL;

		assert_int_equal(fi_trecv(ep, buf, 16, desc, 9, 77, 0, &buf), 0);
		wf_ep_srx_lock(&fk->ep);
		assert_int_equal(srx->owner_ops->get_tag(srx, &attr, &entry), 0);
		assert_null(entry->peer_context);
		assert_null(entry->owner_context);
		assert_int_equal(entry->cq_data, 0);
		assert_int_equal(entry->flags, T | FI_COMPLETION);
		assert_ptr_equal(entry->iov[0].iov_base, buf);
		assert_ptr_equal(entry->desc[0], desc);
		entry->peer_context = fk;
		entry->owner_context = fk;
		entry->cq_data = 5;
		entry->flags |= FI_REMOTE_CQ_DATA;
		entry->iov = &other;
		entry->desc = &none;
		srx->owner_ops->free_entry(entry);
		wf_ep_srx_unlock(&fk->ep);
	}
	fk_expect_none(&a);
	fk_close(fk);
	fk_close_around(&a);
}

/* One that waits, with data. */
static void arrive_with_data(struct fk *fk, bool save, size_t len)
{
	struct fi_peer_match_attr attr = { 1, len, 5 };
	struct fk_msg *msg = calloc(1, sizeof(*msg));
	struct fi_peer_rx_entry *entry;

	*msg = (struct fk_msg){ .to = fk, .from = 1 };
	wf_ep_srx_lock(&fk->ep);
	assert_int_equal(wf_srx_get_tag(fk->ep.srx, &attr, &entry), -FI_ENOENT);
	entry->cq_data = 4711;
	entry->flags |= FI_REMOTE_CQ_DATA;
	if (save)
		fk_stow(entry, true, msg);
	else
		fk_queue(entry, true, msg);
	wf_ep_srx_unlock(&fk->ep);
}

/* MSG-007: data that came along is kept with an unexpected message. */
static void test_cq_data(void **state)
{
	struct fk_around a = fk_open_around(*state);
	struct fk *fk = fk_open_enabled(&a, 0);
	struct fi_cq_tagged_entry got;

	for (int save = 0; save < 2; save++) {
		arrive_with_data(fk, save, 0);
		for (int peek = 1; peek >= 0; peek--) {
			assert_int_equal(fk_trecvmsg(&fk->ep.fid, NULL, 0, 1, 5, 0, &a,
						 peek ? FI_PEEK : 0),
				0);
			assert_int_equal(fi_cq_read(a.cq, &got, 1), 1);
			assert_int_equal(got.flags, T | FI_REMOTE_CQ_DATA);
			assert_int_equal(got.data, 4711);
		}
	}
	fk_close(fk);
	fk_close_around(&a);
}

/* Lengths that 32 bits do not hold, with data and without. TAG-005 */
static void test_long(void **state)
{
	static const size_t lens[] = { UINT32_MAX - 1, UINT32_MAX, UINT64_C(1) << 32,
		(UINT64_C(1) << 62) + 3 };
	struct fk_around a = fk_open_around(*state);
	struct fk *fk = fk_open_enabled(&a, 0);
	struct fi_cq_tagged_entry got;

	for (size_t i = 0; i < WF_ARRAY_SIZE(lens); i++) {
		arrive_with_data(fk, true, lens[i]);
		assert_int_equal(fk_trecvmsg(&fk->ep.fid, NULL, 0, 1, 5, 0, &a,
					 FI_PEEK | FI_DISCARD),
			0);
		assert_int_equal(fi_cq_read(a.cq, &got, 1), 1);
		assert_int_equal(got.len, lens[i]);
		assert_int_equal(got.data, 4711);
	}
	assert_int_equal(fk->discards, WF_ARRAY_SIZE(lens));
	fk_close(fk);
	fk_close_around(&a);
}

/* What a message has room for stays where it is and as it is: near, apart from it, and
 * from malloc. MSG-018 */
static void test_rooms(void **state)
{
	enum { ROOMS = 12 };
	struct fk_around a = fk_open_around(*state);
	struct fk *fk = fk_open_enabled(&a, 0);
	struct wf_srx_origin origin = { .fid = fk->ep.srx };
	struct wf_srx_unexpected *unexp[2 * ROOMS];
	struct fi_peer_rx_entry *entry;
	struct wf_srx *srx = fk->ep.srx_queue;

	wf_ep_srx_lock(&fk->ep);
	for (size_t i = 0; i < 2 * ROOMS; i++) {
		struct fi_peer_match_attr attr = { 1, i, i };
		size_t room = (size_t)1 << (2 * (i / 2));

		assert_int_equal(wf_srx_get_tag(fk->ep.srx, &attr, &entry), -FI_ENOENT);
		if (i % 2)
			entry->flags |= FI_REMOTE_CQ_DATA;
		unexp[i] = wf_srx_save(FI_TAGGED, entry, &origin, room);
		assert_non_null(unexp[i]);
		assert_int_equal((uintptr_t)wf_srx_payload(unexp[i]) % 8, 0);
		memset(wf_srx_payload(unexp[i]), (int)i, room);
	}
	assert_int_equal(srx->origins.used, 1);
	for (size_t i = 0; i < 2 * ROOMS; i++) {
		const uint8_t *room = wf_srx_payload(unexp[i]);
		uint32_t msg = wf_match_take_unexpected(&srx->tag, i, 0, WF_MATCH_ANY);

		assert_ptr_equal(&wf_srx_message_at(srx, msg)->unexp, unexp[i]);
		assert_int_equal(room[0], i);
		assert_int_equal(room[((size_t)1 << (2 * (i / 2))) - 1], i);
		wf_srx_release(&origin, unexp[i]);
	}
	assert_int_equal(origin.count, 0);
	assert_int_equal(srx->origins.used, 0);
	wf_ep_srx_unlock(&fk->ep);
	fk_close(fk);
	fk_close_around(&a);
}

/* A message that is too long for its buffer, early and late. */
static void test_truncated(void **state)
{
	struct fk_around a = fk_open_around(*state);
	struct fk *fk = fk_open_enabled(&a, 0);
	struct fi_cq_err_entry err;
	unsigned char b[16] = { 0 };

	fk_tagged(fk, 1, 5, 10, 6);
	assert_int_equal(fi_trecv(&fk->ep.fid, b, 4, NULL, 1, 5, 0, b), 0);
	err = fk_expect_err(&a, b, T, FI_ETRUNC);
	assert_int_equal(err.len, 4);
	assert_int_equal(err.olen, 2);
	assert_int_equal(err.tag, 5);
	assert_ptr_equal(err.buf, b);
	assert_int_equal(fi_recv(&fk->ep.fid, b, 0, NULL, 1, b), 0);
	fk_message(fk, 1, 10, 6);
	err = fk_expect_err(&a, b, M, FI_ETRUNC);
	assert_int_equal(err.olen, 6);
	assert_int_equal(fi_cntr_readerr(a.cntr), 2);
	fk_close(fk);
	fk_close_around(&a);
}

/* MSG-009: without the capability the source of a receive means nothing. */
static void test_undirected(void **state)
{
	struct fk_around a = fk_open_around(*state);
	struct fk *fk = fk_open_enabled(&a, 0);
	unsigned char b[8];

	assert_int_equal(fi_recv(&fk->ep.fid, b, 8, NULL, 2, b), 0);
	fk_message(fk, 3, 0, 8);
	fk_expect(&a, b, M, 8, 0);
	fk_close(fk);
	fk_close_around(&a);
}

/* MSG-010, TAG-015, P-65 */
static void test_directed(void **state)
{
	struct fk_around a = fk_open_around(*state);
	struct fk *fk = fk_open_enabled(&a, FI_DIRECTED_RECV);
	struct fid_ep *ep = &fk->ep.fid;
	unsigned char b[4][8];

	assert_int_equal(fi_recv(ep, b[0], 8, NULL, 2, &b[0]), 0);
	assert_int_equal(fi_recv(ep, b[1], 8, NULL, FI_ADDR_UNSPEC, &b[1]), 0);
	assert_int_equal(fi_recv(ep, b[2], 8, NULL, 3, &b[2]), 0);
	fk_message(fk, 3, 0, 1);
	fk_expect(&a, &b[1], M, 1, 0);
	fk_message(fk, 3, 0, 2);
	fk_expect(&a, &b[2], M, 2, 0);
	fk_message(fk, 2, 0, 3);
	fk_expect(&a, &b[0], M, 3, 0);

	fk_tagged(fk, 2, 5, 0, 4);
	assert_int_equal(fk_trecvmsg(ep, NULL, 0, 3, 5, 0, &a, FI_PEEK), 0);
	(void)fk_expect_err(&a, &a, T, FI_ENOMSG);
	assert_int_equal(fk_trecvmsg(ep, NULL, 0, 2, 5, 0, &a, FI_PEEK), 0);
	fk_expect(&a, &a, T, 4, 5);
	assert_int_equal(fi_trecv(ep, b[3], 8, NULL, 3, 5, 0, &b[3]), 0);
	fk_expect_none(&a);
	fk_tagged(fk, 3, 5, 0, 5);
	fk_expect(&a, &b[3], T, 5, 5);
	fk_close(fk);
	fk_close_around(&a);
}

/* CAP-010, CAP-011: the two narrower capabilities. */
static void test_directed_kinds(void **state)
{
	struct fk_around a = fk_open_around(*state);
	struct fk *fk = fk_open_enabled(&a, FI_TAGGED_DIRECTED_RECV);
	struct fid_ep *ep = &fk->ep.fid;
	unsigned char b[8];

	assert_int_equal(fi_recv(ep, b, 8, NULL, 2, b), 0);
	fk_message(fk, 3, 0, 1);
	fk_expect(&a, b, M, 1, 0);
	assert_int_equal(fi_trecv(ep, b, 8, NULL, 2, 5, 0, b), 0);
	fk_tagged(fk, 3, 5, 0, 1);
	fk_expect_none(&a);
	fk_close(fk);

	fk = fk_open_enabled(&a, FI_DIRECTED_RECV | FI_EXACT_DIRECTED_RECV);
	ep = &fk->ep.fid;
	assert_int_equal(fi_recv(ep, b, 8, NULL, FI_ADDR_UNSPEC, b), -FI_EINVAL);
	assert_int_equal(fi_recv(ep, b, 8, NULL, 2, b), 0);
	fk_message(fk, 2, 0, 1);
	fk_expect(&a, b, M, 1, 0);
	fk_tagged(fk, 2, 5, 0, 1);
	assert_int_equal(fk_trecvmsg(ep, NULL, 0, 2, 5, 0, &a, FI_PEEK | FI_CLAIM), 0);
	fk_expect(&a, &a, T, 1, 5);
	/* What is reserved has a source. */
	assert_int_equal(fk_trecvmsg(ep, b, 8, FI_ADDR_UNSPEC, 5, 0, &a, FI_CLAIM), 0);
	fk_expect(&a, &a, T, 1, 5);
	fk_close(fk);
	fk_close_around(&a);
}

/* MSG-011, P-62, P-63: a source that is known later, by insertion. */
static void test_unknown_source(void **state)
{
	struct fk_around a = fk_open_around(*state);
	struct fk *fk = fk_open_enabled(&a, FI_DIRECTED_RECV);
	struct fid_ep *ep = &fk->ep.fid;
	unsigned char b[3][8];

	atomic_store(&fk_learnt, false);
	fk_arrive_from(fk, 0, true, 5, true, 10, 3);
	fk_arrive_from(fk, 0, true, 5, true, 20, 4);
	fk_arrive_from(fk, 0, true, 0, false, 30, 5);
	/* A directed receive waits, and so does the message. */
	assert_int_equal(fi_trecv(ep, b[0], 8, NULL, 0, 5, 0, &b[0]), 0);
	assert_int_equal(fi_trecv(ep, b[1], 8, NULL, 1, 5, 0, &b[1]), 0);
	fk_expect_none(&a);
	/* An insertion after which no source is known changes nothing. */
	assert_int_equal(fk_insert(&a, 1000), 0);
	fk_expect_none(&a);
	atomic_store(&fk_learnt, true);
	assert_int_equal(fk_insert(&a, 1001), 1);
	fk_expect(&a, &b[0], T, 3, 5);
	fk_expect_none(&a);
	/* The others are directed to from now on. */
	assert_int_equal(fi_recv(ep, b[2], 8, NULL, 0, &b[2]), 0);
	fk_expect(&a, &b[2], M, 5, 0);
	assert_int_equal(fi_trecv(ep, b[2], 8, NULL, 0, 5, 0, &b[2]), 0);
	fk_expect(&a, &b[2], T, 4, 5);
	assert_true(fk_holds(b[2], 20, 4));

	/* An undirected receive may take one of unknown source. */
	atomic_store(&fk_learnt, false);
	fk_arrive_from(fk, 0, true, 0, false, 40, 6);
	assert_int_equal(fi_recv(ep, b[2], 8, NULL, FI_ADDR_UNSPEC, &b[2]), 0);
	fk_expect(&a, &b[2], M, 6, 0);
	fk_close(fk);
	/* The AV is not watched any more. */
	assert_int_equal(fk_insert(&a, 1002), 2);
	fk_close_around(&a);
}

/* An address is removed, and its index is another's soon: messages from there are of
 * unknown source, for undirected receives only. AV-032, MSG-011 */
static void test_removed_source(void **state)
{
	struct fk_around a = fk_open_around(*state);
	struct fk *fk = fk_open_enabled(&a, FI_DIRECTED_RECV);
	struct fid_ep *ep = &fk->ep.fid;
	fi_addr_t one = fk_insert(&a, 1000), two = fk_insert(&a, 1001), src;
	struct fi_cq_tagged_entry got;
	unsigned char b[6][8];
	struct fi_context claim;

	for (unsigned char i = 0; i < 2; i++) {
		fk_tagged(fk, one, 5, 10 + i, 3);
		fk_tagged(fk, two, 5, 20 + i, 4);
	}
	fk_message(fk, one, 30, 5);
	/* One is reserved, and all are in the index of directed searches. */
	for (unsigned char i = 0; i < 8; i++)
		fk_tagged(fk, two, 6, 40, 1);
	fk_tagged(fk, one, 7, 50, 6);
	assert_int_equal(
		fk_trecvmsg(ep, NULL, 0, one, 7, 0, &claim, FI_PEEK | FI_CLAIM), 0);
	assert_int_equal(fi_cq_readfrom(a.cq, &got, 1, &src), 1);
	assert_int_equal(src, one);

	atomic_store(&fk_removed, one);
	assert_int_equal(fi_av_remove(a.av, &one, 1, 0), 0);
	assert_int_equal(fk_insert(&a, 1002), one);
	assert_int_equal(fi_trecv(ep, b[0], 8, NULL, one, 5, 0, &b[0]), 0);
	assert_int_equal(fi_recv(ep, b[1], 8, NULL, one, &b[1]), 0);
	fk_expect_none(&a);
	/* Others stay what they are. */
	assert_int_equal(fi_trecv(ep, b[2], 8, NULL, two, 5, 0, &b[2]), 0);
	fk_expect(&a, &b[2], T, 4, 5);
	assert_true(fk_holds(b[2], 20, 4));
	/* The order is that of arrival still. */
	assert_int_equal(fi_trecv(ep, b[3], 8, NULL, FI_ADDR_UNSPEC, 5, 0, &b[3]), 0);
	fk_expect(&a, &b[3], T, 3, 5);
	assert_true(fk_holds(b[3], 10, 3));
	assert_int_equal(fi_recv(ep, b[4], 8, NULL, FI_ADDR_UNSPEC, &b[4]), 0);
	fk_expect(&a, &b[4], M, 5, 0);
	assert_int_equal(fk_trecvmsg(ep, NULL, 0, FI_ADDR_UNSPEC, 0, 0, &claim,
				 FI_CLAIM | FI_DISCARD),
		0);
	assert_int_equal(fi_cq_readfrom(a.cq, &got, 1, &src), 1);
	assert_int_equal(src, FI_ADDR_NOTAVAIL);
	/* It is inserted again: the receive that waits for it gets what is left. */
	atomic_store(&fk_removed, FI_ADDR_NOTAVAIL);
	(void)fk_insert(&a, 1003);
	fk_expect(&a, &b[0], T, 3, 5);
	assert_true(fk_holds(b[0], 11, 3));
	fk_expect_none(&a);
	fk_close(fk);
	fk_close_around(&a);
}

/* What many messages took is given back when they have gone, whether they were received
 * or discarded, and each was small. MSG-018 */
static void test_memory(void **state)
{
	enum { MANY = 200000, KEPT = WF_POOL_KEPT / WF_POOL_SLAB };
	struct fk_around a = fk_open_around(*state);
	struct fk *fk = fk_open_enabled(&a, 0);
	struct wf_srx *srx = fk->ep.srx_queue;
	const uint32_t *slabs = &srx->messages.handles.slabs;
	unsigned char b[8];

	fk->save = true;
	for (int round = 0; round < 2; round++) {
		for (unsigned int i = 0; i < MANY; i++)
			fk_tagged(fk, 1, i, 0, 1);
		assert_in_range(*slabs * WF_POOL_SLAB, MANY * 48, MANY * 64);
		/* The message that stays until the endpoint is closed. */
		assert_int_equal(srx->pool.slabs, 1);
		for (unsigned int i = MANY; i-- > 0;) {
			assert_int_equal(
				fi_trecv(&fk->ep.fid, b, 8, NULL, 1, i, 0, b), 0);
			fk_expect(&a, b, T, 1, i);
		}
		assert_int_equal(*slabs, KEPT);
		assert_int_equal(srx->origins.used, 0);
		assert_int_equal(srx->pool.slabs, 1);
	}
	for (unsigned int i = 0; i < MANY; i++)
		fk_tagged(fk, 1, i, 0, 1);
	atomic_store(&fk_discarded, 0);
	fk_close(fk);
	assert_int_equal(atomic_load(&fk_discarded), MANY);
	fk_close_around(&a);
}

/* THR-009: rx_attr.size bounds what is posted, not what matches at once. */
static void test_size(void **state)
{
	struct fk_around a = fk_open_around(*state);
	struct fk *fk = fk_open_enabled(&a, 0);
	struct fid_ep *ep = &fk->ep.fid;
	unsigned char b[8];

	assert_int_equal(fk_left(fk), 8);
	for (int i = 0; i < 8; i++)
		assert_int_equal(fi_trecv(ep, b, 8, NULL, 1, i, 0, b), 0);
	assert_int_equal(fk_left(fk), 0);
	assert_int_equal(fi_trecv(ep, b, 8, NULL, 1, 9, 0, b), -FI_EAGAIN);
	assert_int_equal(fi_recv(ep, b, 8, NULL, 1, b), -FI_EAGAIN);
	fk_tagged(fk, 1, 9, 0, 2);
	assert_int_equal(fi_trecv(ep, b, 8, NULL, 1, 9, 0, b), 0);
	fk_expect(&a, b, T, 2, 9);
	fk_tagged(fk, 1, 3, 0, 3);
	fk_expect(&a, b, T, 3, 3);
	assert_int_equal(fi_recv(ep, b, 8, NULL, 1, b), 0);
	assert_int_equal(fi_recv(ep, b, 8, NULL, 1, b), -FI_EAGAIN);
	fk_close(fk);
	fk_close_around(&a);
}

/* CS-001 to CS-005 */
static void test_selective(void **state)
{
	struct fk_around a = fk_open_around(*state);
	struct fk *fk = fk_open(*state, fk_info(0));
	struct fid_ep *ep = &fk->ep.fid;
	unsigned char b[8];

	fk_enable_with(fk, &a, FI_SELECTIVE_COMPLETION);
	assert_int_equal(fi_recv(ep, b, 8, NULL, 1, b), 0);
	assert_int_equal(fk_recvmsg(ep, b, 8, b, FI_COMPLETION), 0);
	fk_message(fk, 1, 0, 1);
	fk_expect_none(&a);
	fk_message(fk, 1, 0, 2);
	fk_expect(&a, b, M, 2, 0);
	/* Unexpected ones as well. */
	fk_message(fk, 1, 0, 3);
	fk_message(fk, 1, 0, 4);
	assert_int_equal(fi_recv(ep, b, 8, NULL, 1, b), 0);
	fk_expect_none(&a);
	assert_int_equal(fk_recvmsg(ep, b, 8, b, FI_COMPLETION), 0);
	fk_expect(&a, b, M, 4, 0);
	assert_int_equal(fi_cntr_read(a.cntr), 4);
	fk_close(fk);
	fk_close_around(&a);
}

/* EP-032 to EP-036, EP-038 */
static void test_cancel(void **state)
{
	struct fk_around a = fk_open_around(*state);
	struct fk *fk = fk_open_enabled(&a, FI_DIRECTED_RECV);
	struct fid_ep *ep = &fk->ep.fid;
	struct fi_cq_err_entry err;
	unsigned char b[3][8];

	assert_int_equal(fi_cancel(&ep->fid, b), 0);
	fk_expect_none(&a);
	assert_int_equal(fi_trecv(ep, b[0], 8, NULL, 1, 5, 0, b), 0);
	assert_int_equal(fi_trecv(ep, b[1], 8, NULL, 1, 5, 0, b), 0);
	assert_int_equal(fi_recv(ep, b[2], 8, NULL, 1, NULL), 0);
	assert_int_equal(fi_cancel(&ep->fid, b), 0);
	err = fk_expect_err(&a, b, T, FI_ECANCELED);
	assert_int_equal(err.tag, 5);
	fk_expect_none(&a);
	assert_int_equal(fi_cntr_readerr(a.cntr), 1);
	/* The older one went. */
	fk_tagged(fk, 1, 5, 50, 4);
	fk_expect(&a, b, T, 4, 5);
	assert_true(fk_holds(b[1], 50, 4));
	assert_int_equal(fi_cancel(&ep->fid, b), 0);
	assert_int_equal(fi_cancel(&ep->fid, NULL), 0);
	fk_expect_none(&a);
	fk_message(fk, 1, 60, 5);
	fk_expect(&a, NULL, M, 5, 0);
	assert_int_equal(fk_left(fk), 8);
	assert_int_equal(fi_recv(ep, b[2], 8, NULL, 1, b), 0);
	assert_int_equal(fi_cancel(&ep->fid, b), 0);
	(void)fk_expect_err(&a, b, M, FI_ECANCELED);
	fk_close(fk);
	fk_close_around(&a);
}

/* A connection that ends also ends its receives. */
static void test_flush(void **state)
{
	struct fk_around a = fk_open_around(*state);
	struct fk *fk = fk_open_enabled(&a, FI_MULTI_RECV);
	struct fid_ep *ep = &fk->ep.fid;
	unsigned char b[256];

	assert_int_equal(fi_recv(ep, b, 8, NULL, 1, b), 0);
	assert_int_equal(fi_trecv(ep, b, 8, NULL, 1, 5, 0, b + 1), 0);
	assert_int_equal(fk_recvmsg(ep, b, 256, b + 2, FI_MULTI_RECV), 0);
	wf_ep_srx_lock(&fk->ep);
	wf_srx_flush(fk->ep.srx_queue, FI_ENOTCONN);
	wf_ep_srx_unlock(&fk->ep);
	(void)fk_expect_err(&a, b, M, FI_ENOTCONN);
	(void)fk_expect_err(&a, b + 2, M | FI_MULTI_RECV, FI_ENOTCONN);
	(void)fk_expect_err(&a, b + 1, T, FI_ENOTCONN);
	assert_int_equal(fk_left(fk), 8);
	fk_close(fk);
	fk_close_around(&a);
}

/* The transport cannot: the receive ends with its error. */
static void test_start_fails(void **state)
{
	struct fk_around a = fk_open_around(*state);
	struct fk *fk = fk_open_enabled(&a, 0);
	unsigned char b[8];

	fk_tagged(fk, 1, 5, 0, 3);
	fk->start_result = -FI_EIO;
	assert_int_equal(fi_trecv(&fk->ep.fid, b, 8, NULL, 1, 5, 0, b), 0);
	(void)fk_expect_err(&a, b, T, FI_EIO);
	fk_message(fk, 1, 0, 3);
	assert_int_equal(fi_recv(&fk->ep.fid, b, 8, NULL, 1, b), 0);
	(void)fk_expect_err(&a, b, M, FI_EIO);
	fk_close(fk);
	fk_close_around(&a);
}

/* EP-027: posted, queued and active receives are dropped without a completion. */
static void test_close(void **state)
{
	struct fk_around a = fk_open_around(*state);
	struct fk *fk = fk_open_enabled(&a, FI_MULTI_RECV);
	struct fid_ep *ep = &fk->ep.fid;
	unsigned char b[256];

	assert_int_equal(fk_recvmsg(ep, b, 128, b, FI_MULTI_RECV), 0);
	fk->hold = true;
	fk_message(fk, 1, 0, 8);
	assert_int_equal(fi_trecv(ep, b, 8, NULL, 1, 1, 0, b), 0);
	fk_tagged(fk, 1, 1, 0, 8);
	assert_int_equal(fi_trecv(ep, b, 8, NULL, 1, 2, 0, b), 0);
	fk_tagged(fk, 1, 3, 0, 8);
	fk_tagged(fk, 1, 4, 0, 8);
	assert_int_equal(fk_trecvmsg(ep, NULL, 0, 1, 4, 0, &a, FI_PEEK | FI_CLAIM), 0);
	fk_expect(&a, &a, T, 8, 4);
	atomic_store(&fk_discarded, 0);
	fk_close(fk);
	/* The queued message and the reserved one. */
	assert_int_equal(atomic_load(&fk_discarded), 2);
	fk_expect_none(&a);
	fk_close_around(&a);
}

/* An endpoint that was never enabled, and one whose transport could not be at first. */
static void test_close_early(void **state)
{
	struct fk_around a = fk_open_around(*state);
	struct fk *fk = fk_open(*state, fk_info(0));
	unsigned char b[8];
	bool again = false;

	do {
		fk->enable_result = -FI_EADDRINUSE;
		assert_int_equal(
			fi_ep_bind(&fk->ep.fid, &a.cq->fid, FI_TRANSMIT | FI_RECV), 0);
		assert_int_equal(fi_ep_bind(&fk->ep.fid, &a.av->fid, 0), 0);
		assert_int_equal(fi_enable(&fk->ep.fid), -FI_EADDRINUSE);
		fk->enable_result = 0;
		if (again)
			assert_int_equal(fi_enable(&fk->ep.fid), 0);
		fk_close(fk);
		(void)fk_insert(&a, 1000);
		fk = fk_open(*state, fk_info(0));
		again = !again;
	} while (again);

	assert_int_equal(fi_recv(&fk->ep.fid, b, 8, NULL, 1, b), -FI_EOPBADSTATE);
	fk_close(fk);
	fk_close_around(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DOMAIN_TEST(test_posted_first),
		DOMAIN_TEST(test_unexpected_first),
		DOMAIN_TEST(test_entry_fields),
		DOMAIN_TEST(test_entry_again),
		DOMAIN_TEST(test_cq_data),
		DOMAIN_TEST(test_long),
		DOMAIN_TEST(test_rooms),
		DOMAIN_TEST(test_truncated),
		DOMAIN_TEST(test_undirected),
		DOMAIN_TEST(test_directed),
		DOMAIN_TEST(test_directed_kinds),
		DOMAIN_TEST(test_unknown_source),
		DOMAIN_TEST(test_removed_source),
		DOMAIN_TEST(test_memory),
		DOMAIN_TEST(test_size),
		DOMAIN_TEST(test_selective),
		DOMAIN_TEST(test_cancel),
		DOMAIN_TEST(test_flush),
		DOMAIN_TEST(test_start_fails),
		DOMAIN_TEST(test_close),
		DOMAIN_TEST(test_close_early),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
