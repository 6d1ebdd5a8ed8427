/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/shm/proto/remote_op.h"

#include <string.h>

#include "providers/shm/conn/peer.h"
#include "providers/shm/proto/incoming.h"
#include "providers/shm/proto/out.h"
#include "providers/shm/proto/parts.h"
#include "providers/shm/proto/verdict.h"
#include "providers/shm/proto/withdraw.h"

/* ---- order ---- */

static bool remote_op_is_message(struct shm_lane *lane, uint32_t number)
{
	uint8_t kind = shm_head_kind(shm_slot_head(shm_slot_at(lane, number)));

	return kind >= SHM_REC_MSG && kind <= SHM_REC_TAGGED_RTS;
}

/* Has the peer taken all messages? Nothing is ordered behind answers of this endpoint,
 * and RMA operations do not wait any more. (The message that was taken last may be on
 * its way into its buffers.) */
static bool remote_op_are_taken(struct shm_conn *conn)
{
	uint32_t last = conn->out.next - 1, taken;
	struct shm_lane *lane = conn->out.lane;

	if (wf_likely(conn->access.passed == last))
		return true;
	/* The slots of records before these are in use again. */
	if (last - conn->access.passed > SHM_SLOTS)
		conn->access.passed = last - SHM_SLOTS;
	taken = atomic_load_explicit(&lane->taken, memory_order_acquire);
	if ((int32_t)(taken - conn->access.passed) > 0 && (int32_t)(taken - last) <= 0)
		conn->access.passed = taken;
	while (conn->access.passed != last &&
		!remote_op_is_message(lane, conn->access.passed + 1))
		conn->access.passed++;
	return conn->access.passed == last;
}

bool shm_remote_is_in_order(struct shm_conn *conn)
{
	/* Answers may have come, and only have to be read. */
	if (wf_unlikely(conn->waits.unsettled))
		shm_incoming_acks(conn);
	if (wf_unlikely(shm_verdict_is_due(conn)))
		shm_verdict_poll(conn);
	if (wf_unlikely(conn->err || conn->waits.unsettled || shm_verdict_is_due(conn)))
		return false;
	return remote_op_are_taken(conn);
}

/* ---- regions ---- */

/* On memory that is not mapped, does the operation take less time as a request, which
 * is one record? Not if the peer leaves requests unread. */
static inline bool remote_op_is_small(struct shm_conn *conn, const struct wf_op *op)
{
	size_t max =
		op->kind == WF_OP_READ ? SHM_REMOTE_SMALL_READ : SHM_REMOTE_SMALL_WRITE;

	return op->len <= max && !op->atomic && op->rma_count == 1 &&
	       wf_likely(!shm_withdraw_is_silent(conn));
}

/* Is it known to be such an operation? */
static inline bool remote_op_is_known_small(
	struct shm_conn *conn, const struct wf_op *op)
{
	struct shm_remote *remote = conn->access.remote;

	if (!remote || !remote->small_left || !remote_op_is_small(conn, op) ||
		op->rma->key != remote->small_key)
		return false;
	remote->small_left--;
	return true;
}

/* The region of @op is in the window. */
static bool remote_op_is_found_small(
	struct shm_conn *conn, const struct wf_op *op, const struct shm_window *window)
{
	if (window->at || !remote_op_is_small(conn, op))
		return false;
	if (window->is_examined) {
		conn->access.remote->small_key = op->rma->key;
		conn->access.remote->small_left = SHM_REMOTE_AGAIN;
	}
	return true;
}

enum shm_reach shm_remote_judge(
	struct shm_conn *conn, const struct wf_op *op, struct shm_step *step)
{
	enum shm_reach reach = SHM_REACH_MEMORY;
	struct shm_window *window = NULL;

	if (op->atomic && op->rma_count != 1)
		return SHM_REACH_LANE;
	for (size_t i = 0; i < op->rma_count && reach == SHM_REACH_MEMORY; i++) {
		/* A segment without bytes is not checked, and counts nothing. */
		if (!op->rma[i].len)
			continue;
		reach = shm_remote_reach(conn, op, &op->rma[i], &window, &step->err);
		if (reach == SHM_REACH_MEMORY)
			step->tell |= window->region.flags;
	}
	if (reach != SHM_REACH_MEMORY)
		return reach;
	/* The target knows whether it counts an access to no bytes. */
	return (window ? remote_op_is_found_small(conn, op, window)
		       : remote_op_is_small(conn, op))
		       ? SHM_REACH_LANE
		       : SHM_REACH_MEMORY;
}

/* ---- the call that posts an operation ---- */

bool shm_remote_tell(struct shm_conn *conn, const struct wf_op *op, uint64_t id)
{
	size_t segs = op->rma_count * sizeof(*op->rma);
	struct shm_blob blob;

	if (!shm_blob_begin(conn, &blob, sizeof(id) + segs))
		return false;
	memcpy(blob.at, &id, sizeof(id));
	memcpy(blob.at + sizeof(id), op->rma, segs);
	shm_blob_end(conn, &blob, SHM_REC_DONE,
		op->flags & FI_REMOTE_CQ_DATA ? SHM_FLAG_DATA : 0,
		shm_access_word((unsigned int)op->rma_count, 0,
			op->kind == WF_OP_READ ? SHM_DONE_READ : SHM_DONE_WRITE),
		op->data);
	return true;
}

static void remote_op_refuse(struct shm_conn *conn, const struct wf_op *op, int err)
{
	shm_tx_report_failure(conn->ep, &(struct shm_failure){ .kind = op->kind,
						.err = err,
						.op_flags = op->flags,
						.context = op->context,
						.addr = op->addr,
						.peer = shm_conn_name(conn) });
}

static void remote_op_complete(struct shm_conn *conn, const struct wf_op *op)
{
	const struct wf_op_report *report = &wf_op_reports[op->kind];

	wf_ep_tx_done(&conn->ep->ep, report->cntr, op->context, op->flags,
		report->comp_flags, shm_remote_length(op));
}

/* Perform the whole operation, which is in order. */
static enum shm_started remote_op_start_now(
	struct shm_conn *conn, const struct wf_op *op, struct shm_step *step)
{
	switch (shm_remote_perform(conn, op, UINT64_MAX, step)) {
	case SHM_REACH_LANE:
		return SHM_START_LANE;
	case SHM_REACH_REFUSED:
		remote_op_refuse(conn, op, step->err);
		return SHM_STARTED;
	default:
		break;
	}
	/* Some are told of that were not before they were performed: the copy is
	 * repeated, which changes nothing. */
	if (shm_remote_tells(op, step) &&
		(shm_remote_wants_ack(op) || !shm_remote_tell(conn, op, SHM_ID_NONE)))
		return SHM_START_QUEUE;
	remote_op_complete(conn, op);
	return SHM_STARTED;
}

enum shm_started shm_remote_start(struct shm_conn *conn, const struct wf_op *op)
{
	struct shm_step step = { 0 };
	enum shm_reach reach;

	if (remote_op_is_known_small(conn, op))
		return SHM_START_LANE;
	reach = shm_remote_judge(conn, op, &step);
	if (reach == SHM_REACH_LANE)
		return SHM_START_LANE;
	if (!conn->queue.idle || op->len > SHM_REMOTE_FIRST ||
		(reach == SHM_REACH_MEMORY && shm_parts_is_possible(conn, op, &step)) ||
		!shm_remote_is_in_order(conn))
		return SHM_START_QUEUE;
	if (reach == SHM_REACH_REFUSED) {
		remote_op_refuse(conn, op, step.err);
		return SHM_STARTED;
	}
	if (shm_remote_tells(op, &step) &&
		(shm_remote_wants_ack(op) || !shm_out_has_space(conn)))
		return SHM_START_QUEUE;
	return remote_op_start_now(conn, op, &step);
}
