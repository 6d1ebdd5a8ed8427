/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_COLL_EXEC_FIXTURE_H
#define TESTS_UNIT_COLL_EXEC_FIXTURE_H

/*
 * A group of an endpoint without an owner and other members: the test takes the
 * transfers that are posted and ends them, in any order and with any result. It is also
 * the node engine, the sender of control messages, the event queue and the clock.
 */
#include "params.h"

#include <time.h>

#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_tagged.h>

#include "providers/coll/calls.h"
#include "providers/coll/control.h"
#include "providers/coll/engine.h"
#include "providers/coll/exec.h"
#include "providers/coll/join.h"
#include "providers/coll/tag.h"
#include "providers/coll/xfer.h"

enum { MEMBERS = 3, RANK = 1, POSTED_MAX = 64, ENDED_MAX = 16, MSG_MAX = 100 };

/* ---- the clock ---- */

static uint64_t now_ns;

__attribute__((visibility("default"))) int __wrap_clock_gettime(
	clockid_t clock, struct timespec *ret);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	(void)clock;
	ret->tv_sec = (time_t)(now_ns / 1000000000u);
	ret->tv_nsec = (long)(now_ns % 1000000000u);
	return 0;
}

/* ---- the owner ---- */

struct posted {
	bool is_recv;
	fi_addr_t addr;
	uint64_t tag, flags;
	void *buf, *context;
	size_t len;
};

static struct {
	struct fid_ep ep;
	struct posted posted[POSTED_MAX];
	unsigned int count;
	ssize_t ret;           /* the answer to the next calls; 0: they are taken */
	fi_addr_t full;        /* sends to this member get -FI_EAGAIN */
	bool is_full_of_recvs; /* and receives do */
	unsigned int refused;
	void *cancelled[POSTED_MAX];
	unsigned int cancelled_count;
	bool ends_cancelled; /* cancelled transfers end before the call returns */
} owner;

static struct coll_ep *ep;

static ssize_t owner_take(const struct fi_msg_tagged *msg, uint64_t flags, bool is_recv)
{
	if (owner.ret || (is_recv ? owner.is_full_of_recvs : msg->addr == owner.full)) {
		owner.refused++;
		return owner.ret ? owner.ret : -FI_EAGAIN;
	}
	assert_true(owner.count < POSTED_MAX);
	owner.posted[owner.count++] = (struct posted){
		.is_recv = is_recv,
		.addr = msg->addr,
		.tag = msg->tag,
		.flags = flags,
		.buf = msg->iov_count ? msg->msg_iov[0].iov_base : NULL,
		.len = msg->iov_count ? msg->msg_iov[0].iov_len : 0,
		.context = msg->context,
	};
	return 0;
}

static ssize_t owner_recvmsg(
	struct fid_ep *fid, const struct fi_msg_tagged *msg, uint64_t flags)
{
	assert_ptr_equal(fid, &owner.ep);
	assert_int_equal(msg->ignore, 0);
	return owner_take(msg, flags, true);
}

static ssize_t owner_sendmsg(
	struct fid_ep *fid, const struct fi_msg_tagged *msg, uint64_t flags)
{
	assert_ptr_equal(fid, &owner.ep);
	return owner_take(msg, flags, false);
}

static ssize_t owner_cancel(struct fid *fid, void *context)
{
	assert_ptr_equal(fid, &owner.ep.fid);
	assert_true(owner.cancelled_count < POSTED_MAX);
	owner.cancelled[owner.cancelled_count++] = context;
	return 0;
}

static struct fi_ops_tagged owner_tagged = {
	.size = sizeof(owner_tagged),
	.recvmsg = owner_recvmsg,
	.sendmsg = owner_sendmsg,
};
static struct fi_ops_ep owner_ops = {
	.size = sizeof(owner_ops),
	.cancel = owner_cancel,
};

/* Take the transfer at @at out of those that were posted. */
static inline struct posted pop(unsigned int at)
{
	struct posted posted;

	assert_true(at < owner.count);
	posted = owner.posted[at];
	owner.count--;
	memmove(&owner.posted[at], &owner.posted[at + 1],
		(owner.count - at) * sizeof(posted));
	return posted;
}

/* ---- what the owner is told of ends ---- */

static struct {
	int err;
	void *context;
	uint64_t op_flags, flags;
} ended[ENDED_MAX];
static unsigned int ended_count;

void __wrap_wf_ep_tx_done(struct wf_ep *wf, enum wf_ep_cntr cntr, void *context,
	uint64_t op_flags, uint64_t comp_flags, size_t len);
void __wrap_wf_ep_tx_err(struct wf_ep *wf, enum wf_ep_cntr cntr, void *context,
	uint64_t op_flags, uint64_t comp_flags, size_t len, int err);
struct wf_eq *__wrap_wf_ep_eq(struct wf_ep *wf);

void __wrap_wf_ep_tx_err(struct wf_ep *wf, enum wf_ep_cntr cntr, void *context,
	uint64_t op_flags, uint64_t comp_flags, size_t len, int err)
{
	assert_ptr_equal(wf, &ep->ep);
	assert_int_equal(cntr, WF_CNTR_SEND);
	assert_int_equal(len, 0);
	assert_true(ended_count < ENDED_MAX);
	ended[ended_count].err = err;
	ended[ended_count].context = context;
	ended[ended_count].op_flags = op_flags;
	ended[ended_count++].flags = comp_flags;
}

void __wrap_wf_ep_tx_done(struct wf_ep *wf, enum wf_ep_cntr cntr, void *context,
	uint64_t op_flags, uint64_t comp_flags, size_t len)
{
	__wrap_wf_ep_tx_err(wf, cntr, context, op_flags, comp_flags, len, 0);
}

static struct wf_eq eq;
static bool has_eq;
static struct {
	uint32_t event;
	struct fi_eq_entry entry;
	unsigned int count;
	ssize_t ret;
} written;

static ssize_t eq_write(
	struct fid_eq *fid, uint32_t event, const void *buf, size_t len, uint64_t flags)
{
	assert_ptr_equal(fid, &eq.fid);
	assert_int_equal(len, sizeof(written.entry));
	assert_int_equal(flags, 0);
	written.event = event;
	memcpy(&written.entry, buf, len);
	written.count++;
	return written.ret ? written.ret : (ssize_t)len;
}

static struct fi_ops_eq eq_ops = { .size = sizeof(eq_ops), .write = eq_write };

struct wf_eq *__wrap_wf_ep_eq(struct wf_ep *wf)
{
	assert_ptr_equal(wf, &ep->ep);
	return has_eq ? &eq : NULL;
}

/* ---- the rest of the provider ---- */

static struct {
	unsigned int aborts, probes, stops, nodes_closed, acts;
	int abort_err;
	uint32_t probed;  /* rank of the last probe */
	bool probe_fails; /* the group fails by it */
	int node_ret;     /* of the node engine */
	const struct coll_args *node_args;
	unsigned int finished, freed; /* buffers instead of the application's */
} calls;

void coll_control_abort(struct coll_group *group, int err)
{
	(void)group;
	calls.aborts++;
	calls.abort_err = err;
}

void coll_control_probe(struct coll_group *group, uint32_t rank)
{
	calls.probes++;
	calls.probed = rank;
	if (calls.probe_fails)
		coll_group_fail(group, -FI_ENOTCONN);
}

void coll_join_stop(struct coll_group *group)
{
	(void)group;
	calls.stops++;
}

void coll_node_close(struct coll_node *node)
{
	assert_non_null(node);
	calls.nodes_closed++;
}

uint32_t coll_group_rank(const struct coll_group *group, fi_addr_t addr)
{
	for (uint32_t i = 0; i < group->members; i++)
		if (group->member[i].addr == addr)
			return i;
	return group->members;
}

int coll_engine_node(struct coll_op *op, const struct coll_args *args)
{
	(void)op;
	calls.acts++;
	calls.node_args = args;
	return calls.node_ret;
}

void coll_stage_finish(const struct coll_staging *stage)
{
	calls.finished += stage != NULL;
}

void coll_stage_free(struct coll_staging *stage)
{
	calls.freed += stage != NULL;
}

void coll_ep_unlock(struct coll_ep *at)
{
	atomic_store(&at->has_joined, !wf_list_empty(&at->joined));
	wf_unlock(&at->ep.lock);
}

/* ---- the endpoint and its group ---- */

static struct coll_member member[MEMBERS];
static struct coll_group *group;

static inline struct coll_group *new_group(void)
{
	struct coll_group *new = calloc(1, sizeof(*new));

	assert_non_null(new);
	new->ep = ep;
	new->state = COLL_OPEN;
	new->members = MEMBERS;
	new->rank = RANK;
	new->member = member;
	new->secret = UINT64_C(0x1111222233334444);
	wf_list_init(&new->ops);
	wf_list_init(&new->node_ops);
	wf_list_init(&new->node_link);
	wf_list_init(&new->join_link);
	wf_list_init(&new->joined_link);
	wf_list_push(&ep->groups, &new->link);
	return new;
}

static inline int open_group(void **state)
{
	(void)state;
	memset(&owner, 0, sizeof(owner));
	memset(&calls, 0, sizeof(calls));
	memset(&written, 0, sizeof(written));
	ended_count = 0;
	now_ns = UINT64_C(1000000000000);
	coll_params.probe_ms = 1000;
	owner.full = FI_ADDR_NOTAVAIL;
	owner.ep.ops = &owner_ops;
	owner.ep.tagged = &owner_tagged;
	eq.fid.ops = &eq_ops;
	has_eq = true;
	ep = calloc(1, sizeof(*ep));
	assert_non_null(ep);
	wf_lock_init(&ep->ep.lock, WF_LOCK_MUTEX);
	ep->owner = &owner.ep;
	ep->max_msg_size = MSG_MAX;
	ep->has_sources = true;
	wf_pool_init(&ep->xfers, sizeof(struct coll_xfer));
	wf_pool_init(&ep->ops, sizeof(struct coll_op));
	wf_list_init(&ep->spare_ops);
	wf_list_init(&ep->posted);
	wf_list_init(&ep->pending);
	wf_list_init(&ep->groups);
	wf_list_init(&ep->joined);
	wf_list_init(&ep->joining);
	wf_list_init(&ep->ending);
	for (uint32_t i = 0; i < MEMBERS; i++) {
		member[i].addr = 10 + i;
		member[i].secret = UINT64_C(0x0101010101010101) * (i + 1);
	}
	group = new_group();
	return 0;
}

static inline int close_group(void **state)
{
	(void)state;
	assert_true(wf_trylock(&ep->ep.lock));
	wf_unlock(&ep->ep.lock);
	coll_op_free_spare(ep);
	wf_pool_done(&ep->xfers);
	wf_pool_done(&ep->ops);
	wf_lock_done(&ep->ep.lock);
	free(group);
	free(ep);
	return 0;
}

/* A transfer ends: the owner calls, without the lock. */
static inline void finish(struct posted posted, int err)
{
	struct fi_cq_tagged_entry entry = { .op_context = posted.context,
		.len = posted.len };
	struct fi_cq_err_entry error = { .op_context = posted.context, .err = err };

	if (err)
		assert_int_equal(coll_xfer_callbacks.comperr(&ep->ep.fid, &error), 0);
	else
		assert_int_equal(
			coll_xfer_callbacks.complete(&ep->ep.fid, &entry, posted.addr),
			0);
}

#endif
