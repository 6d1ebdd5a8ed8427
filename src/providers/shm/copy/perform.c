/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <sys/uio.h>

#include "objects/atomic/ops.h"
#include "objects/endpoint/life/target.h"
#include "providers/shm/conn/peer.h"
#include "providers/shm/conn/proof.h"
#include "providers/shm/copy/remote.h"
#include "providers/shm/copy/span.h"
#include "sys/clock.h"
#include "sys/iov.h"

/*
 * Accesses to a peer's memory. An atomic operation is performed only if it is one
 * instruction, as at the target (objects/atomic/ops.h).
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

/* ---- regions ---- */

static uint64_t perform_access_of(const struct wf_op *op)
{
	if (op->atomic)
		return wf_target_atomic_access(op->kind, op->atomic->op);
	return op->kind == WF_OP_READ ? FI_REMOTE_READ : FI_REMOTE_WRITE;
}

static uint32_t perform_needed(const struct wf_op *op)
{
	uint64_t access = perform_access_of(op);

	return (access & FI_REMOTE_READ ? SHM_MAY_READ : 0) |
	       (access & FI_REMOTE_WRITE ? SHM_MAY_WRITE : 0);
}

static bool perform_is_copied(
	const struct shm_conn *conn, const struct shm_window *window)
{
	return conn->process.cma && conn->access.copied && !window->no_copies;
}

/* Is the operation one instruction of the processor, on aligned elements, between
 * contiguous buffers, and nothing that the target counts? */
static bool perform_is_plain_atomic(
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
static bool perform_is_reached(struct shm_conn *conn, struct shm_window *window,
	const struct wf_op *op, uint64_t offset)
{
	if (wf_unlikely(!window->is_examined) &&
		(op->atomic || !perform_is_copied(conn, window) ||
			++window->uses >= MAP_AFTER))
		shm_window_map(conn, window);
	if (op->atomic)
		return window->at &&
		       perform_is_plain_atomic(op, window, window->at + offset);
	return window->at || perform_is_copied(conn, window);
}

enum shm_reach shm_remote_reach(struct shm_conn *conn, const struct wf_op *op,
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
	if (wf_unlikely((region->flags & perform_needed(op)) != perform_needed(op)))
		return SHM_REACH_REFUSED;
	*ret_err = FI_EINVAL;
	if (wf_unlikely(offset > region->len || seg->len > region->len - offset))
		return SHM_REACH_REFUSED;
	*ret_err = 0;
	return perform_is_reached(conn, *ret_window, op, offset) ? SHM_REACH_MEMORY
								 : SHM_REACH_LANE;
}

/* ---- access ---- */

static void perform_apply(const struct wf_op *op, uint8_t *at)
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

static void perform_move(const struct wf_op *op, const struct part *part, uint8_t *at)
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
	count = shm_iov_rest(op->iov, op->iov_count, part->from, part->len, here);
	if (op->kind == WF_OP_READ)
		(void)wf_iov_scatter(here, count, at, part->len);
	else
		(void)wf_iov_gather(at, here, count);
}

static size_t perform_pieces_of(
	const struct shm_window *window, const struct part *part, struct iovec *to)
{
	struct iovec all[SHM_IOV_LIMIT];

	for (uint32_t i = 0; i < window->region.count; i++)
		all[i] =
			(struct iovec){ (void *)(uintptr_t)window->region.piece[i].base,
				window->region.piece[i].len };
	return shm_iov_rest(all, window->region.count, part->offset, part->len, to);
}

/* The initiator's buffers are divided before the tail: the kernel copies one after the
 * other. It would do the same if the target's memory were divided, but then it would
 * look up pages of the target twice. */
static size_t perform_divided(
	const struct wf_op *op, const struct part *part, struct iovec *here)
{
	uint64_t tail = part->from + part->len == op->len ? WF_MIN(part->len, TAIL) : 0;
	size_t count = shm_iov_rest(
		op->iov, op->iov_count, part->from, part->len - tail, here);

	return count +
	       shm_iov_rest(op->iov, op->iov_count, op->len - tail, tail, here + count);
}

/* 0, or a positive errno: some bytes may be copied, and all have to be again. */
static int perform_copy(const struct shm_conn *conn, const struct shm_window *window,
	const struct wf_op *op, const struct part *part)
{
	struct iovec here[SHM_IOV_LIMIT + 1], there[SHM_IOV_LIMIT];
	size_t there_count = perform_pieces_of(window, part, there), here_count;
	ssize_t ret;

	if (op->kind == WF_OP_READ) {
		here_count = shm_iov_rest(
			op->iov, op->iov_count, part->from, part->len, here);
		ret = process_vm_readv(
			conn->process.pid, here, here_count, there, there_count, 0);
	} else {
		here_count = perform_divided(op, part, here);
		ret = process_vm_writev(
			conn->process.pid, here, here_count, there, there_count, 0);
	}
	if (ret < 0)
		return errno;
	return (uint64_t)ret == part->len ? 0 : EFAULT;
}

/* Results of one access. GONE: the region was closed, or published anew. */
enum accessed { ACCESSED, ACCESS_GONE, ACCESS_FAILED };

static enum accessed perform_access_mapped(struct shm_conn *conn,
	const struct shm_window *window, const struct wf_op *op,
	const struct part *part)
{
	enum accessed ret = ACCESS_GONE;

	if (wf_likely(shm_visit_enter(conn->access.remote, window))) {
		if (op->atomic)
			perform_apply(op, window->at + part->offset);
		else
			perform_move(op, part, window->at + part->offset);
		ret = ACCESSED;
	}
	shm_visit_leave(conn->access.remote);
	return ret;
}

static enum accessed perform_access_copied(struct shm_conn *conn,
	struct shm_window *window, const struct wf_op *op, const struct part *part)
{
	enum accessed ret = ACCESS_GONE;
	int err = 0;

	if (!shm_proof_is_recent(conn, wf_now_ns()))
		return ACCESS_FAILED;
	if (shm_visit_enter(conn->access.remote, window)) {
		err = perform_copy(conn, window, op, part);
		ret = err ? ACCESS_FAILED : ACCESSED;
	}
	shm_visit_leave(conn->access.remote);
	if (err == EPERM || err == ENOSYS)
		conn->process.cma = false;
	/* The target may reach memory that the kernel does not copy. */
	window->no_copies |= err != 0;
	return ret;
}

/* The part of @op from byte @from on that is in one segment, which is returned. */
static const struct fi_rma_iov *perform_part_of(
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

	seg = perform_part_of(op, step->done, end, &part);
	for (int i = 0; i < TRIES; i++) {
		reach = shm_remote_reach(conn, op, seg, &window, &step->err);
		if (wf_unlikely(reach != SHM_REACH_MEMORY))
			return reach;
		step->tell |= window->region.flags;
		part.offset += seg->addr - window->region.base;
		ret = window->at ? perform_access_mapped(conn, window, op, &part)
				 : perform_access_copied(conn, window, op, &part);
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

enum shm_reach shm_remote_perform(struct shm_conn *conn, const struct wf_op *op,
	uint64_t end, struct shm_step *step)
{
	enum shm_reach reach = SHM_REACH_MEMORY;

	end = WF_MIN(end, shm_remote_length(op));
	while (reach == SHM_REACH_MEMORY && step->done < end)
		reach = perform_part(conn, op, end, step);
	return reach;
}
