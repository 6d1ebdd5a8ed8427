/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/atomic/ops.h"
#include "objects/endpoint/life/target.h"
#include "providers/shm/data/grant.h"
#include "sys/iov.h"

/*
 * This endpoint's RMA and atomic operations on a peer's memory that it has mapped, or
 * that the kernel copies. Such an operation is complete, at every completion level,
 * when the call returns.
 *
 * An atomic operation is direct only if it is one instruction, as at the target
 * (objects/atomic/ops.h).
 */

/* Flags of operations that involve the target: it writes a completion, or has to
 * acknowledge. */
#define LANE_FLAGS (FI_FENCE | FI_REMOTE_CQ_DATA | FI_COMMIT_COMPLETE | WF_OP_WORK)

static uint64_t access_of(const struct wf_op *op)
{
	if (op->atomic)
		return wf_target_atomic_access(op->kind, op->atomic->op);
	return op->kind == WF_OP_READ ? FI_REMOTE_READ : FI_REMOTE_WRITE;
}

/* Is the segment in the region, and access granted? */
static bool is_granted(
	const struct shm_window *window, const struct fi_rma_iov *seg, uint64_t access)
{
	uint64_t offset = seg->addr - window->base;

	return shm_window_is_open(window) && window->key == seg->key &&
	       (window->access & access) == access && offset <= window->len &&
	       seg->len <= window->len - offset;
}

bool shm_direct_is_in_order(struct shm_conn *conn)
{
	uint32_t last = conn->out.next - 1;

	/* Its answer may have come, and only have to be read. */
	if (wf_unlikely(conn->unsettled))
		shm_rx_acks(conn);
	if (wf_unlikely(!conn->idle || conn->unsettled))
		return false;
	if (wf_likely(conn->drained == last))
		return true;
	/* acquire: pairs with L3. */
	if (atomic_load_explicit(&conn->out.lane->reader.slots, memory_order_acquire) !=
		last)
		return false;
	conn->drained = last;
	return true;
}

/* Is the operation one instruction of the processor, on aligned elements, between
 * contiguous buffers? */
static bool is_plain_atomic(const struct wf_op *op, const uint8_t *at)
{
	size_t size = wf_atomic_size(op->atomic->datatype);

	return size <= sizeof(uint64_t) && !((uintptr_t)at % size) &&
	       op->iov_count <= 1 && op->atomic->result_count <= 1 &&
	       op->atomic->compare_count <= 1;
}

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

static inline void perform(const struct wf_op *op, uint8_t *at)
{
	if (op->atomic)
		apply(op, at);
	else if (wf_unlikely(op->iov_count != 1))
		(void)(op->kind == WF_OP_READ
				? wf_iov_scatter(op->iov, op->iov_count, at, op->len)
				: wf_iov_gather(at, op->iov, op->iov_count));
	else if (op->kind == WF_OP_READ)
		shm_copy(op->iov[0].iov_base, at, op->len);
	else
		shm_copy(at, op->iov[0].iov_base, op->len);
}

static bool perform_mapped(struct shm_conn *conn, struct shm_window *window,
	const struct wf_op *op, uint8_t *at)
{
	if (!shm_direct_is_in_order(conn) || (op->atomic && !is_plain_atomic(op, at)))
		return false;
	if (wf_unlikely(!shm_direct_enter(conn, window))) {
		shm_direct_leave(conn);
		shm_window_close(window);
		return false;
	}
	perform(op, at);
	shm_direct_leave(conn);
	return true;
}

bool shm_direct_start(
	struct shm_conn *conn, const struct wf_op *op, struct shm_chosen *ret_how)
{
	const struct fi_rma_iov *seg = op->rma;
	struct shm_window *window;
	uint64_t offset;

	if (op->rma_count != 1 || op->flags & LANE_FLAGS || !seg->len ||
		seg->len > SHM_DIRECT_MAX)
		return false;
	window = shm_window_at(conn->windows, seg->key);
	if (!is_granted(window, seg, access_of(op)))
		return false;
	offset = seg->addr - window->base;
	if (!(window->at ? perform_mapped(conn, window, op, window->at + offset)
			 : shm_direct_copy(conn, window, op, offset, ret_how)))
		return false;
	wf_ep_tx_done(&conn->ep->ep, wf_op_reports[op->kind].cntr, op->context,
		op->flags, wf_op_reports[op->kind].comp_flags, seg->len);
	return true;
}
