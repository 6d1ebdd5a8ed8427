/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/coll/exec.h"

#include <stdlib.h>
#include <string.h>

#include "providers/coll/calls.h"
#include "providers/coll/control.h"
#include "providers/coll/engine.h"
#include "providers/coll/vector.h"
#include "providers/coll/xfer.h"
#include "sys/clock.h"

/*
 * Execution of schedules: point to point, over peer transfers.
 *
 * An operation that fails cancels its transfers. Its end is reported when no transfer
 * uses the application's memory any more. A send that no member will receive, because
 * they have all failed, might stay at the owner for ever: after twice the time of a
 * probe it counts as such, and the end is reported. The memory that belongs to the
 * operation stays until all transfers have ended.
 */

enum {
	/* Limits of the memory of a schedule that is kept for later operations. */
	KEPT_BYTES = 16 << 10,
	KEPT_ACTS = 256,
};

/* Get an operation with an empty schedule, or with the memory of an earlier one. */
static struct coll_op *exec_take_op(struct coll_ep *ep)
{
	struct wf_list *spare = wf_list_pop(&ep->spare_ops);
	struct coll_op *op;

	if (wf_likely(spare != NULL))
		return wf_list_entry(spare, struct coll_op, link);
	op = wf_pool_get(&ep->ops);
	if (op)
		memset(op, 0, sizeof(*op));
	return op;
}

bool coll_op_reserve(struct coll_ep *ep)
{
	struct coll_op *op;

	if (wf_likely(!wf_list_empty(&ep->spare_ops)))
		return true;
	op = exec_take_op(ep);
	if (op)
		wf_list_insert_after(&ep->spare_ops, &op->link);
	return op != NULL;
}

struct coll_op *coll_op_new(struct coll_group *group, const struct coll_args *args,
	struct coll_staging *stage, const struct coll_call *call)
{
	struct coll_op *op = exec_take_op(group->ep);

	if (!op)
		return NULL;
	wf_list_init(&op->link);
	wf_list_init(&op->node_link);
	wf_list_init(&op->xfers);
	op->ep = group->ep;
	op->group = group;
	op->args = *args;
	op->stage = stage;
	op->context = call->context;
	op->flags = call->flags;
	op->number = group->operations;
	op->node_acts = op->next = 0;
	op->moved = op->moved_before = 0;
	op->waits_ns = 0;
	op->sends = op->recvs = 0;
	op->is_in_node = op->is_reported = false;
	op->err = 0;
	op->steps = NULL;
	group->in_flight++;
	group->ep->in_flight++;
	return op;
}

static void exec_leave_group(struct coll_op *op)
{
	wf_list_remove(&op->node_link);
	if (op->group)
		op->group->in_flight--;
	op->group = NULL;
	if (!op->is_reported)
		op->ep->in_flight--;
	op->is_reported = true;
}

/* Is the schedule's memory small enough to be kept for the next operation? */
static bool exec_is_worth_keeping(const struct coll_op *op)
{
	return op->sched.temp_size + op->sched.partial_size <= KEPT_BYTES &&
	       op->sched.capacity <= KEPT_ACTS;
}

void coll_op_free(struct coll_op *op)
{
	struct coll_ep *ep = op->ep;

	exec_leave_group(op);
	wf_list_remove(&op->link);
	coll_stage_free(op->stage);
	free(op->steps);
	if (!exec_is_worth_keeping(op)) {
		coll_sched_done(&op->sched);
		memset(&op->sched, 0, sizeof(op->sched));
	}
	wf_list_insert_after(&ep->spare_ops, &op->link);
}

void coll_op_free_spare(struct coll_ep *ep)
{
	struct wf_list *link;

	while ((link = wf_list_pop(&ep->spare_ops)))
		coll_sched_done(&wf_list_entry(link, struct coll_op, link)->sched);
}

static void exec_report(struct coll_op *op, int err)
{
	struct wf_ep *ep = &op->ep->ep;

	if (!err)
		coll_stage_finish(op->stage);
	exec_leave_group(op);
	if (err)
		wf_ep_tx_err(ep, WF_CNTR_SEND, op->context, op->flags, FI_COLLECTIVE, 0,
			-err);
	else
		wf_ep_tx_done(
			ep, WF_CNTR_SEND, op->context, op->flags, FI_COLLECTIVE, 0);
}

void coll_op_end(struct coll_op *op, int err)
{
	exec_report(op, err);
	coll_op_free(op);
}

static void exec_move_to_ending(struct coll_op *op)
{
	wf_list_remove(&op->link);
	wf_list_push(&op->ep->ending, &op->link);
}

void coll_exec_detach(struct coll_group *group)
{
	wf_list_foreach_safe(link, &group->ops)
	{
		struct coll_op *op = wf_list_entry(link, struct coll_op, link);

		wf_list_remove(&op->node_link);
		op->group = NULL;
		exec_move_to_ending(op);
	}
}

static void exec_run(struct coll_op *op);

/* Does the message have the length in the schedule? 0 or a negative fi_errno. */
static int exec_check_len(const struct coll_xfer *xfer, size_t len)
{
	if (!xfer->is_recv || len == xfer->len)
		return 0;
	coll_log(FI_LOG_WARN, FI_LOG_EP_DATA,
		"collective failed: a message of %zu bytes came instead of %zu: the "
		"members' calls differ\n",
		len, xfer->len);
	return -FI_EIO;
}

/* End an operation that has failed if no transfer is left. */
static void exec_end_if_idle(struct coll_op *op)
{
	if (op->sends + op->recvs)
		return;
	if (op->is_reported)
		coll_op_free(op);
	else
		coll_op_end(op, op->err);
}

static void exec_xfer_done(struct coll_xfer *xfer, int err, size_t len, fi_addr_t src)
{
	struct coll_op *op = xfer->user;
	bool is_recv = xfer->is_recv;

	(void)src;
	if (!err)
		err = exec_check_len(xfer, len);
	coll_xfer_free(xfer);
	/* While the transfer is counted, failing the group does not free the
	 * operation. */
	if (err && !op->err)
		coll_group_fail(op->group, err);
	if (is_recv)
		op->recvs--;
	else
		op->sends--;
	op->moved++;
	if (op->err)
		exec_end_if_idle(op);
	else
		exec_run(op);
}

/* The step in the tag: the number of earlier messages of the operation between the two
 * members, in this direction. It is not needed if messages match in order. */
static uint32_t exec_next_step(struct coll_op *op, uint32_t peer, bool is_recv)
{
	return op->steps ? op->steps[2 * peer + is_recv]++ : 0;
}

static int exec_post(
	struct coll_op *op, uint32_t peer, bool is_recv, void *buf, size_t len)
{
	struct coll_group *group = op->group;
	const struct coll_member *member = &group->member[peer];
	uint32_t step = exec_next_step(op, peer, is_recv);
	struct coll_xfer *xfer = coll_xfer_new(op->ep, exec_xfer_done, op);
	int ret;

	if (!xfer)
		return -FI_ENOMEM;
	xfer->addr = member->addr;
	xfer->tag =
		is_recv ? coll_tag_data(group->secret, peer, op->number, step)
			: coll_tag_data(member->secret, group->rank, op->number, step);
	xfer->buf = buf;
	xfer->len = len;
	xfer->is_recv = is_recv;
	ret = coll_xfer_post(xfer);
	if (ret) {
		coll_xfer_free(xfer);
		return ret;
	}
	wf_list_push(&op->xfers, &xfer->link);
	if (is_recv)
		op->recvs++;
	else
		op->sends++;
	return 0;
}

/* Post an action, in messages no longer than the owner's limit. */
static int exec_transfer(struct coll_op *op, const struct coll_act *act)
{
	bool is_recv = act->kind == COLL_ACT_RECV;
	char *buf = is_recv ? act->dst : (char *)(uintptr_t)act->src;
	size_t left = act->len;
	int ret;

	do {
		size_t len = WF_MIN(left, op->ep->max_msg_size);

		ret = exec_post(op, act->peer, is_recv, buf, len);
		buf += len;
		left -= len;
	} while (left && !ret);
	return ret;
}

/* Execute one action. -FI_EAGAIN: it waits for transfers. */
static int exec_execute(struct coll_op *op, const struct coll_act *act)
{
	switch (act->kind) {
	case COLL_ACT_SEND:
	case COLL_ACT_RECV:
		return exec_transfer(op, act);
	case COLL_ACT_COPY:
		memmove(act->dst, act->src, act->len);
		return 0;
	case COLL_ACT_REDUCE:
		op->sched.reduce(
			act->dst, act->src, act->src2, act->len / op->sched.elem);
		return 0;
	case COLL_ACT_NODE:
		if (op->sends + op->recvs)
			return -FI_EAGAIN;
		return coll_engine_node(op, &op->sched.node[act->peer]);
	case COLL_ACT_WAIT:
		break;
	}
	return op->sends + op->recvs ? -FI_EAGAIN : 0;
}

static void exec_run(struct coll_op *op)
{
	int ret = 0;

	while (!ret && op->next < op->sched.count) {
		ret = exec_execute(op, &op->sched.act[op->next]);
		if (!ret)
			op->next++;
	}
	if (ret && ret != -FI_EAGAIN) {
		coll_group_fail(op->group, ret);
		return;
	}
	if (!ret && !(op->sends + op->recvs))
		coll_op_end(op, 0);
}

void coll_exec_start(struct coll_op *op)
{
	exec_run(op);
}

void coll_exec_resume(struct coll_op *op)
{
	exec_run(op);
}

void coll_exec_fail(struct coll_op *op, int err)
{
	if (op->err)
		return;
	op->err = err;
	op->failed_ns = wf_now_ns();
	/* The end of a transfer inside the loop must not end the operation, so a send
	 * is counted. */
	op->sends++;
	wf_list_foreach_safe(link, &op->xfers)
		coll_xfer_cancel(wf_list_entry(link, struct coll_xfer, link));
	op->sends--;
	exec_end_if_idle(op);
}

/* Report a failed operation if only sends are left, which do not end. */
static void exec_give_up(struct coll_op *op, uint64_t now_ns)
{
	if (op->is_reported || op->recvs ||
		now_ns - op->failed_ns < 2 * coll_probe_ns())
		return;
	exec_report(op, op->err);
	exec_move_to_ending(op);
}

/* Probe the member that the operation waits for, if no transfer ended since the last
 * check. */
static void exec_probe(struct coll_op *op, uint64_t now_ns)
{
	struct coll_xfer *xfer;

	if (!op->waits_ns || op->moved != op->moved_before) {
		op->waits_ns = now_ns;
		op->moved_before = op->moved;
		return;
	}
	if (now_ns - op->waits_ns < coll_probe_ns() || wf_list_empty(&op->xfers))
		return;
	op->waits_ns = now_ns;
	xfer = wf_list_entry(op->xfers.next, struct coll_xfer, link);
	coll_control_probe(op->group, coll_group_rank(op->group, xfer->addr));
}

static void exec_watch(struct coll_group *group, uint64_t now_ns)
{
	bool has_failed = group->state == COLL_FAILED;

	wf_list_foreach_safe(link, &group->ops)
	{
		struct coll_op *op = wf_list_entry(link, struct coll_op, link);

		if (op->err)
			exec_give_up(op, now_ns);
		else
			exec_probe(op, now_ns);
		/* A probe that fails at once ends all operations. */
		if (!has_failed && group->state == COLL_FAILED)
			return;
	}
}

void coll_exec_watch(struct coll_ep *ep, uint64_t now_ns)
{
	wf_list_foreach(link, &ep->groups)
		exec_watch(wf_list_entry(link, struct coll_group, link), now_ns);
	wf_list_foreach_safe(link, &ep->ending)
		exec_give_up(wf_list_entry(link, struct coll_op, link), now_ns);
}
