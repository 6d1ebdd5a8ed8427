/* SPDX-License-Identifier: BSD-2-Clause */
#include "exec_fixture.h"

/* Peer transfers at the owner (xfer.c). */

enum { COUNT = 24 };

static struct coll_xfer *xfers[COUNT];
static struct {
	struct coll_xfer *xfer;
	int err;
	size_t len;
	fi_addr_t src;
} done[COUNT];
static unsigned int done_count;
static int user;

static void xfer_done(struct coll_xfer *xfer, int err, size_t len, fi_addr_t src)
{
	assert_ptr_equal(xfer->user, &user);
	done[done_count].xfer = xfer;
	done[done_count].err = err;
	done[done_count].len = len;
	done[done_count++].src = src;
}

static int open_xfers(void **state)
{
	(void)open_group(state);
	done_count = 0;
	for (int i = 0; i < COUNT; i++) {
		xfers[i] = coll_xfer_new(ep, xfer_done, &user);
		assert_non_null(xfers[i]);
		xfers[i]->addr = 10 + (fi_addr_t)i;
		xfers[i]->tag = (uint64_t)i << 40 | 5;
		xfers[i]->buf = &xfers[i];
		xfers[i]->len = 8;
	}
	return 0;
}

static int close_xfers(void **state)
{
	for (int i = 0; i < COUNT; i++)
		coll_xfer_free(xfers[i]);
	assert_true(wf_list_empty(&ep->posted));
	assert_true(wf_list_empty(&ep->pending));
	return close_group(state);
}

static void retry(void)
{
	wf_lock(&ep->ep.lock);
	coll_xfer_retry(ep);
	wf_unlock(&ep->ep.lock);
	assert_false(ep->is_retrying);
}

/* Each kind of transfer; a receive names its source only where sources are known. */
static void a_transfer_is_posted(void **state)
{
	for (int i = 0; i < 8; i++) {
		struct coll_xfer *xfer = xfers[i];
		struct posted posted;

		xfer->is_recv = i & 1;
		ep->has_sources = i & 2;
		xfer->len = i & 4 ? 0 : 8;
		xfer->flags = i & 4 ? FI_DELIVERY_COMPLETE : 0;
		assert_int_equal(coll_xfer_post(xfer), 0);
		assert_false(xfer->is_pending);
		assert_ptr_equal(ep->posted.next, &xfer->all);
		posted = pop(0);
		assert_int_equal(posted.is_recv, i & 1);
		assert_true(
			posted.addr == ((i & 3) == 1 ? FI_ADDR_UNSPEC : xfer->addr));
		assert_true(posted.tag == xfer->tag);
		assert_int_equal(posted.len, xfer->len);
		assert_ptr_equal(posted.buf, xfer->len ? xfer->buf : NULL);
		assert_true(posted.flags == (xfer->flags | FI_PEER_TRANSFER));
		posted.addr = 33;
		finish(posted, 0);
		assert_int_equal(done_count, i + 1);
		assert_ptr_equal(done[i].xfer, xfer);
		assert_int_equal(done[i].err, 0);
		assert_int_equal(done[i].len, xfer->len);
		assert_true(done[i].src == (i & 2 ? 33 : FI_ADDR_NOTAVAIL));
		assert_int_equal(ep->moves, i + 1);
		assert_true(wf_list_empty(&ep->posted));
	}
}

/* A transfer is posted again, as the standing receive is, also while others wait. */
static void a_transfer_is_posted_again(void **state)
{
	for (int i = 0; i < 3; i++) {
		assert_int_equal(coll_xfer_post(xfers[0]), 0);
		assert_ptr_equal(ep->posted.next, &xfers[0]->all);
		assert_ptr_equal(xfers[0]->all.next, &ep->posted);
		finish(pop(0), 0);
	}
}

/* What is posted by a transfer that ends in a pass waits behind the others. */
static void post_another(struct coll_xfer *xfer, int err, size_t len, fi_addr_t src)
{
	xfer_done(xfer, err, len, src);
	owner.ret = 0;
	assert_int_equal(coll_xfer_post(xfers[5]), 0);
	assert_true(xfers[5]->is_pending);
}

static void a_pass_posts_in_order(void **state)
{
	owner.ret = -FI_EAGAIN;
	for (int i = 0; i < 3; i++)
		assert_int_equal(coll_xfer_post(xfers[i]), 0);
	owner.ret = -FI_EINVAL;
	xfers[0]->done = post_another;
	retry();
	assert_int_equal(done_count, 1);
	assert_int_equal(done[0].err, -FI_EINVAL);
	assert_int_equal(owner.count, 2);
	/* They are among those that the owner has. */
	assert_ptr_equal(ep->posted.next, &xfers[1]->all);
	retry();
	assert_int_equal(owner.count, 3);
	assert_ptr_equal(owner.posted[2].context, &xfers[5]->context);
	while (owner.count)
		finish(pop(0), 0);
}

/* The end of a transfer may end a join, which is told. */
static void told(void *context, int err)
{
	assert_int_equal(err, 0);
	++*(int *)context;
}

static void joins_are_told(void **state)
{
	int count = 0;

	group->joined = told;
	group->join_context = &count;
	wf_list_push(&ep->joined, &group->joined_link);
	assert_int_equal(coll_xfer_post(xfers[0]), 0);
	finish(pop(0), 0);
	assert_int_equal(count, 1);
}

static void a_transfer_fails(void **state)
{
	assert_int_equal(coll_xfer_post(xfers[0]), 0);
	finish(pop(0), FI_ECONNRESET);
	assert_int_equal(done[0].err, -FI_ECONNRESET);
	assert_true(done[0].src == FI_ADDR_NOTAVAIL);
	assert_int_equal(ep->moves, 1);
	owner.ret = -FI_EINVAL;
	assert_int_equal(coll_xfer_post(xfers[1]), -FI_EINVAL);
	assert_int_equal(done_count, 1);
	assert_false(xfers[1]->is_pending);
	assert_true(wf_list_empty(&ep->posted));
}

/* A transfer waits where the owner takes none, and behind one that waits. */
static void transfers_wait_in_order(void **state)
{
	owner.ret = -FI_EAGAIN;
	assert_int_equal(coll_xfer_post(xfers[0]), 0);
	assert_true(xfers[0]->is_pending);
	owner.ret = 0;
	for (int i = 1; i < 4; i++) {
		assert_int_equal(coll_xfer_post(xfers[i]), 0);
		assert_true(xfers[i]->is_pending);
	}
	assert_int_equal(owner.refused, 1);
	assert_int_equal(owner.count, 0);
	retry();
	assert_int_equal(owner.count, 4);
	for (int i = 0; i < 4; i++) {
		assert_false(xfers[i]->is_pending);
		assert_ptr_equal(owner.posted[i].context, &xfers[i]->context);
	}
	while (owner.count)
		finish(pop(0), 0);
	assert_int_equal(done_count, 4);
}

/* A member that takes no messages does not keep those to others, nor receives do. Each
 * is tried once in a pass. */
static void a_member_is_full(void **state)
{
	owner.ret = -FI_EAGAIN;
	for (int i = 0; i < 9; i++) {
		xfers[i]->addr = 10 + (fi_addr_t)i % 3;
		xfers[i]->is_recv = i >= 6;
		assert_int_equal(coll_xfer_post(xfers[i]), 0);
	}
	owner.ret = 0;
	owner.refused = 0;
	owner.full = 11;
	owner.is_full_of_recvs = true;
	retry();
	assert_int_equal(owner.refused, 2);
	assert_int_equal(owner.count, 4);
	for (int i = 0; i < 4; i++)
		assert_int_equal(owner.posted[i].addr, i & 1 ? 12 : 10);
	owner.full = FI_ADDR_NOTAVAIL;
	retry();
	assert_int_equal(owner.count, 6);
	owner.is_full_of_recvs = false;
	retry();
	assert_int_equal(owner.count, 9);
	/* In their order. */
	for (int i = 4; i < 6; i++)
		assert_int_equal(owner.posted[i].addr, 11);
	for (int i = 6; i < 9; i++)
		assert_ptr_equal(owner.posted[i].context, &xfers[i]->context);
	while (owner.count)
		finish(pop(0), 0);
}

/* So many members are remembered to be full; then no others are tried. */
static void many_members_are_full(void **state)
{
	enum { REMEMBERED = 16 };

	owner.ret = -FI_EAGAIN;
	for (int i = 0; i < COUNT; i++)
		assert_int_equal(coll_xfer_post(xfers[i]), 0);
	owner.refused = 0;
	retry();
	assert_int_equal(owner.refused, REMEMBERED);
	owner.ret = 0;
	retry();
	assert_int_equal(owner.count, COUNT);
	for (int i = 0; i < COUNT; i++)
		assert_ptr_equal(owner.posted[i].context, &xfers[i]->context);
	while (owner.count)
		finish(pop(0), 0);
}

/* What the owner refuses later ends, and what is behind it goes on. */
static void a_waiting_transfer_is_refused(void **state)
{
	owner.ret = -FI_EAGAIN;
	for (int i = 0; i < 2; i++)
		assert_int_equal(coll_xfer_post(xfers[i]), 0);
	owner.ret = -FI_EINVAL;
	retry();
	assert_int_equal(done_count, 2);
	for (int i = 0; i < 2; i++) {
		assert_ptr_equal(done[i].xfer, xfers[i]);
		assert_int_equal(done[i].err, -FI_EINVAL);
		assert_int_equal(done[i].len, 0);
		assert_true(done[i].src == FI_ADDR_NOTAVAIL);
		assert_false(xfers[i]->is_pending);
	}
}

static void transfers_are_cancelled(void **state)
{
	assert_int_equal(coll_xfer_post(xfers[0]), 0);
	owner.ret = -FI_EAGAIN;
	assert_int_equal(coll_xfer_post(xfers[1]), 0);
	wf_lock(&ep->ep.lock);
	coll_xfer_cancel(xfers[0]);
	assert_int_equal(owner.cancelled_count, 1);
	assert_ptr_equal(owner.cancelled[0], &xfers[0]->context);
	assert_int_equal(done_count, 0);
	coll_xfer_cancel(xfers[1]);
	wf_unlock(&ep->ep.lock);
	assert_int_equal(owner.cancelled_count, 1);
	assert_int_equal(done_count, 1);
	assert_ptr_equal(done[0].xfer, xfers[1]);
	assert_int_equal(done[0].err, -FI_ECANCELED);
	assert_int_equal(done[0].len, 0);
	assert_true(done[0].src == FI_ADDR_NOTAVAIL);
	assert_false(xfers[1]->is_pending);
	assert_true(wf_list_empty(&ep->pending));
	finish(pop(0), FI_ECANCELED);
}

/* A transfer is freed wherever it is. */
static void transfers_are_freed(void **state)
{
	struct wf_list list;

	wf_list_init(&list);
	assert_int_equal(coll_xfer_post(xfers[0]), 0);
	owner.ret = -FI_EAGAIN;
	assert_int_equal(coll_xfer_post(xfers[1]), 0);
	for (int i = 0; i < 2; i++) {
		wf_list_push(&list, &xfers[i]->link);
		coll_xfer_free(xfers[i]);
		assert_true(wf_list_empty(&list));
		xfers[i] = coll_xfer_new(ep, xfer_done, &user);
	}
	assert_true(wf_list_empty(&ep->posted));
	assert_true(wf_list_empty(&ep->pending));
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_xfers, close_xfers)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(a_transfer_is_posted),
		CASE(a_transfer_is_posted_again),
		CASE(a_pass_posts_in_order),
		CASE(joins_are_told),
		CASE(a_transfer_fails),
		CASE(transfers_wait_in_order),
		CASE(a_member_is_full),
		CASE(many_members_are_full),
		CASE(a_waiting_transfer_is_refused),
		CASE(transfers_are_cancelled),
		CASE(transfers_are_freed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
