/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <string.h>
#include <sys/uio.h>

#include "objects/atomic/ops.h"
#include "objects/endpoint/life/target.h"
#include "providers/shm/data/bulk.h"
#include "providers/shm/data/out.h"
#include "providers/shm/data/proof.h"
#include "providers/shm/data/parts.h"
#include "providers/shm/data/remote.h"
#include "providers/shm/data/verdict.h"
#include "providers/shm/data/withdraw.h"
#include "sys/clock.h"
#include "sys/iov.h"

/*
 * This endpoint's RMA and atomic operations on a peer's memory. They are performed in
 * order: one begins when all earlier ones of this endpoint have ended, and when the
 * peer has taken all messages that were sent before.
 *
 * An atomic operation is performed only if it is one instruction, as at the target
 * (objects/atomic/ops.h).
 */

enum {
	/* Times that a region is found before its mapping is looked for, where the
	 * kernel can copy meanwhile: an operation finds it twice, and to read /proc
	 * takes as long as some hundred copies. */
	MAP_AFTER = 8,
	/* The end of a write in bytes, which is stored last: a program that polls the
	 * last bytes of it finds the whole. */
	TAIL = 8,
	/* Regions may be published anew in the middle of an operation. */
	TRIES = 4,
};

/* ---- order ---- */

static bool is_message(struct shm_lane *lane, uint32_t number)
{
	uint8_t kind = shm_head_kind(shm_slot_head(shm_slot_at(lane, number)));

	return kind >= SHM_REC_MSG && kind <= SHM_REC_TAGGED_RTS;
}

/* Has the peer taken all messages? Nothing is ordered behind answers of this endpoint,
 * and RMA operations do not wait any more. (The message that was taken last may be on
 * its way into its buffers.) */
static bool are_taken(struct shm_conn *conn)
{
	uint32_t last = conn->out.next - 1, taken;
	struct shm_lane *lane = conn->out.lane;

	if (wf_likely(conn->passed == last))
		return true;
	/* The slots of records before these are in use again. */
	if (last - conn->passed > SHM_SLOTS)
		conn->passed = last - SHM_SLOTS;
	taken = atomic_load_explicit(&lane->taken, memory_order_acquire);
	if ((int32_t)(taken - conn->passed) > 0 && (int32_t)(taken - last) <= 0)
		conn->passed = taken;
	while (conn->passed != last && !is_message(lane, conn->passed + 1))
		conn->passed++;
	return conn->passed == last;
}

bool shm_remote_is_in_order(struct shm_conn *conn)
{
	/* Answers may have come, and only have to be read. */
	if (wf_unlikely(conn->unsettled))
		shm_rx_acks(conn);
	if (wf_unlikely(shm_verdict_is_due(conn)))
		shm_verdict_poll(conn);
	if (wf_unlikely(conn->err || conn->unsettled || shm_verdict_is_due(conn)))
		return false;
	return are_taken(conn);
}

/* ---- regions ---- */

static uint64_t access_of(const struct wf_op *op)
{
	if (op->atomic)
		return wf_target_atomic_access(op->kind, op->atomic->op);
	return op->kind == WF_OP_READ ? FI_REMOTE_READ : FI_REMOTE_WRITE;
}

static uint32_t needed(const struct wf_op *op)
{
	uint64_t access = access_of(op);

	return (access & FI_REMOTE_READ ? SHM_MAY_READ : 0) |
	       (access & FI_REMOTE_WRITE ? SHM_MAY_WRITE : 0);
}

static bool is_copied(const struct shm_conn *conn, const struct shm_window *window)
{
	return conn->cma && conn->copies_regions && !window->no_copies;
}

/* Is the operation one instruction of the processor, on aligned elements, between
 * contiguous buffers, and nothing that the target counts? */
static bool is_plain_atomic(
	const struct wf_op *op, const struct shm_window *window, const uint8_t *at)
{
	size_t size = wf_atomic_size(op->atomic->datatype);

	return size <= sizeof(uint64_t) && !((uintptr_t)at % size) &&
	       op->rma_count == 1 && op->iov_count <= 1 &&
	       op->atomic->result_count <= 1 && op->atomic->compare_count <= 1 &&
	       !(window->region.flags & (SHM_TELL_READ | SHM_TELL_WRITE)) &&
	       !(op->flags & FI_REMOTE_CQ_DATA);
}

/* Can the operation access the memory of the window, from byte @offset on? */
static bool is_reached(struct shm_conn *conn, struct shm_window *window,
	const struct wf_op *op, uint64_t offset)
{
	if (wf_unlikely(!window->is_examined) &&
		(op->atomic || !is_copied(conn, window) || ++window->uses >= MAP_AFTER))
		shm_window_map(conn, window);
	if (op->atomic)
		return window->at && is_plain_atomic(op, window, window->at + offset);
	return window->at || is_copied(conn, window);
}

/* Find the region of @seg, and check access and range. *@ret_window is set with MEMORY,
 * and *@ret_err with REFUSED. */
static enum shm_reach find(struct shm_conn *conn, const struct wf_op *op,
	const struct fi_rma_iov *seg, struct shm_window **ret_window, int *ret_err)
{
	enum shm_reach reach = shm_remote_find(conn, seg->key, ret_window);
	const struct shm_described *region;
	uint64_t offset;

	*ret_err = FI_EKEYREJECTED;
	if (wf_unlikely(reach != SHM_REACH_MEMORY))
		return reach;
	region = &(*ret_window)->region;
	offset = seg->addr - region->base;
	*ret_err = FI_EACCES;
	if (wf_unlikely((region->flags & needed(op)) != needed(op)))
		return SHM_REACH_REFUSED;
	*ret_err = FI_EINVAL;
	if (wf_unlikely(offset > region->len || seg->len > region->len - offset))
		return SHM_REACH_REFUSED;
	*ret_err = 0;
	return is_reached(conn, *ret_window, op, offset) ? SHM_REACH_MEMORY
							 : SHM_REACH_LANE;
}

/* On memory that is not mapped, does the operation take less time as a request, which
 * is one record? Not if the peer leaves requests unread. */
static inline bool is_small(struct shm_conn *conn, const struct wf_op *op)
{
	size_t max =
		op->kind == WF_OP_READ ? SHM_REMOTE_SMALL_READ : SHM_REMOTE_SMALL_WRITE;

	return op->len <= max && !op->atomic && op->rma_count == 1 &&
	       wf_likely(!shm_withdraw_is_silent(conn));
}

/* Is it known to be such an operation? */
static inline bool is_known_small(struct shm_conn *conn, const struct wf_op *op)
{
	struct shm_remote *remote = conn->remote;

	if (!remote || !remote->small_left || !is_small(conn, op) ||
		op->rma->key != remote->small_key)
		return false;
	remote->small_left--;
	return true;
}

/* The region of @op is in the window. */
static bool is_found_small(
	struct shm_conn *conn, const struct wf_op *op, const struct shm_window *window)
{
	if (window->at || !is_small(conn, op))
		return false;
	if (window->is_examined) {
		conn->remote->small_key = op->rma->key;
		conn->remote->small_left = SHM_REMOTE_AGAIN;
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
		reach = find(conn, op, &op->rma[i], &window, &step->err);
		if (reach == SHM_REACH_MEMORY)
			step->tell |= window->region.flags;
	}
	if (reach != SHM_REACH_MEMORY)
		return reach;
	/* The target knows whether it counts an access to no bytes. */
	return (window ? is_found_small(conn, op, window) : is_small(conn, op))
		       ? SHM_REACH_LANE
		       : SHM_REACH_MEMORY;
}

/* ---- access ---- */

static void apply(const struct wf_op *op, uint8_t *at)
{
	const struct wf_op_atomic *atomic = op->atomic;

	wf_atomic_apply(atomic->datatype, atomic->op, at,
		op->iov_count && atomic->op != FI_ATOMIC_READ ? op->iov[0].iov_base
							      : NULL,
		atomic->compare_count ? atomic->compare[0].iov_base : NULL,
		atomic->result_count ? atomic->result[0].iov_base : NULL,
		atomic->count);
}

/* A part of an operation, within one segment. */
struct part {
	uint64_t offset; /* in the region */
	uint64_t from;   /* in the operation's buffers */
	uint64_t len;
};

static void move(const struct wf_op *op, const struct part *part, uint8_t *at)
{
	struct iovec here[SHM_IOV_LIMIT];
	size_t count;

	if (wf_likely(op->iov_count == 1)) {
		uint8_t *mem = (uint8_t *)op->iov[0].iov_base + part->from;

		if (op->kind == WF_OP_READ)
			shm_copy(mem, at, part->len);
		else
			shm_copy(at, mem, part->len);
		return;
	}
	count = shm_bulk_rest(op->iov, op->iov_count, part->from, part->len, here);
	if (op->kind == WF_OP_READ)
		(void)wf_iov_scatter(here, count, at, part->len);
	else
		(void)wf_iov_gather(at, here, count);
}

static size_t pieces_of(
	const struct shm_window *window, const struct part *part, struct iovec *to)
{
	struct iovec all[SHM_IOV_LIMIT];

	for (uint32_t i = 0; i < window->region.count; i++)
		all[i] =
			(struct iovec){ (void *)(uintptr_t)window->region.piece[i].base,
				window->region.piece[i].len };
	return shm_bulk_rest(all, window->region.count, part->offset, part->len, to);
}

/* The initiator's buffers are divided before the tail: the kernel copies one after the
 * other. It would do the same if the target's memory were divided, but then it would
 * look up pages of the target twice. */
static size_t divided(
	const struct wf_op *op, const struct part *part, struct iovec *here)
{
	uint64_t tail = part->from + part->len == op->len ? WF_MIN(part->len, TAIL) : 0;
	size_t count = shm_bulk_rest(
		op->iov, op->iov_count, part->from, part->len - tail, here);

	return count + shm_bulk_rest(op->iov, op->iov_count, op->len - tail, tail,
			       here + count);
}

/* 0, or a positive errno: some bytes may be copied, and all have to be again. */
static int copy(const struct shm_conn *conn, const struct shm_window *window,
	const struct wf_op *op, const struct part *part)
{
	struct iovec here[SHM_IOV_LIMIT + 1], there[SHM_IOV_LIMIT];
	size_t there_count = pieces_of(window, part, there), here_count;
	ssize_t ret;

	if (op->kind == WF_OP_READ) {
		here_count = shm_bulk_rest(
			op->iov, op->iov_count, part->from, part->len, here);
		ret = process_vm_readv(
			conn->pid, here, here_count, there, there_count, 0);
	} else {
		here_count = divided(op, part, here);
		ret = process_vm_writev(
			conn->pid, here, here_count, there, there_count, 0);
	}
	if (ret < 0)
		return errno;
	return (uint64_t)ret == part->len ? 0 : EFAULT;
}

/* Results of one access. GONE: the region was closed, or published anew. */
enum accessed { ACCESSED, ACCESS_GONE, ACCESS_FAILED };

static enum accessed access_mapped(struct shm_conn *conn,
	const struct shm_window *window, const struct wf_op *op,
	const struct part *part)
{
	enum accessed ret = ACCESS_GONE;

	if (wf_likely(shm_visit_enter(conn->remote, window))) {
		if (op->atomic)
			apply(op, window->at + part->offset);
		else
			move(op, part, window->at + part->offset);
		ret = ACCESSED;
	}
	shm_visit_leave(conn->remote);
	return ret;
}

static enum accessed access_copied(struct shm_conn *conn, struct shm_window *window,
	const struct wf_op *op, const struct part *part)
{
	enum accessed ret = ACCESS_GONE;
	int err = 0;

	if (!shm_proof_is_recent(conn, wf_now_ns()))
		return ACCESS_FAILED;
	if (shm_visit_enter(conn->remote, window)) {
		err = copy(conn, window, op, part);
		ret = err ? ACCESS_FAILED : ACCESSED;
	}
	shm_visit_leave(conn->remote);
	if (err == EPERM || err == ENOSYS)
		conn->cma = false;
	/* The target may reach memory that the kernel does not copy. */
	window->no_copies |= err != 0;
	return ret;
}

/* The part of @op from byte @from on that is in one segment, which is returned. */
static const struct fi_rma_iov *part_of(
	const struct wf_op *op, uint64_t from, uint64_t end, struct part *part)
{
	const struct fi_rma_iov *seg = op->rma;
	uint64_t at = from;

	for (; at >= seg->len; seg++)
		at -= seg->len;
	*part = (struct part){
		.offset = at, .from = from, .len = WF_MIN(seg->len - at, end - from)
	};
	return seg;
}

/* Perform the next part. */
static enum shm_reach perform_part(struct shm_conn *conn, const struct wf_op *op,
	uint64_t end, struct shm_step *step)
{
	const struct fi_rma_iov *seg;
	struct shm_window *window;
	enum shm_reach reach;
	enum accessed ret;
	struct part part;

	seg = part_of(op, step->done, end, &part);
	for (int i = 0; i < TRIES; i++) {
		reach = find(conn, op, seg, &window, &step->err);
		if (wf_unlikely(reach != SHM_REACH_MEMORY))
			return reach;
		step->tell |= window->region.flags;
		part.offset += seg->addr - window->region.base;
		ret = window->at ? access_mapped(conn, window, op, &part)
				 : access_copied(conn, window, op, &part);
		part.offset -= seg->addr - window->region.base;
		if (wf_likely(ret == ACCESSED)) {
			step->done += part.len;
			return SHM_REACH_MEMORY;
		}
		if (ret == ACCESS_FAILED)
			break;
	}
	return SHM_REACH_LANE;
}

static uint64_t length_of(const struct wf_op *op)
{
	/* Some atomic operations have no operands. */
	return op->atomic ? op->rma->len : op->len;
}

enum shm_reach shm_remote_perform(struct shm_conn *conn, const struct wf_op *op,
	uint64_t end, struct shm_step *step)
{
	enum shm_reach reach = SHM_REACH_MEMORY;

	end = WF_MIN(end, length_of(op));
	while (reach == SHM_REACH_MEMORY && step->done < end)
		reach = perform_part(conn, op, end, step);
	return reach;
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

static void refuse(struct shm_conn *conn, const struct wf_op *op, int err)
{
	shm_tx_report_failure(conn->ep, &(struct shm_failure){ .kind = op->kind,
						.err = err,
						.op_flags = op->flags,
						.context = op->context,
						.addr = op->addr,
						.peer = shm_conn_name(conn) });
}

static void complete(struct shm_conn *conn, const struct wf_op *op)
{
	const struct wf_op_report *report = &wf_op_reports[op->kind];

	wf_ep_tx_done(&conn->ep->ep, report->cntr, op->context, op->flags,
		report->comp_flags, length_of(op));
}

/* Perform the whole operation, which is in order. */
static enum shm_started start_now(
	struct shm_conn *conn, const struct wf_op *op, struct shm_step *step)
{
	switch (shm_remote_perform(conn, op, UINT64_MAX, step)) {
	case SHM_REACH_LANE:
		return SHM_START_LANE;
	case SHM_REACH_REFUSED:
		refuse(conn, op, step->err);
		return SHM_STARTED;
	default:
		break;
	}
	/* Some are told of that were not before they were performed: the copy is
	 * repeated, which changes nothing. */
	if (shm_remote_tells(op, step) &&
		(shm_remote_wants_ack(op) || !shm_remote_tell(conn, op, SHM_ID_NONE)))
		return SHM_START_QUEUE;
	complete(conn, op);
	return SHM_STARTED;
}

enum shm_started shm_remote_start(struct shm_conn *conn, const struct wf_op *op)
{
	struct shm_step step = { 0 };
	enum shm_reach reach;

	if (is_known_small(conn, op))
		return SHM_START_LANE;
	reach = shm_remote_judge(conn, op, &step);
	if (reach == SHM_REACH_LANE)
		return SHM_START_LANE;
	if (!conn->idle || op->len > SHM_REMOTE_FIRST ||
		(reach == SHM_REACH_MEMORY && shm_parts_is_possible(conn, op, &step)) ||
		!shm_remote_is_in_order(conn))
		return SHM_START_QUEUE;
	if (reach == SHM_REACH_REFUSED) {
		refuse(conn, op, step.err);
		return SHM_STARTED;
	}
	if (shm_remote_tells(op, &step) &&
		(shm_remote_wants_ack(op) || !shm_out_has_space(conn)))
		return SHM_START_QUEUE;
	return start_now(conn, op, &step);
}
