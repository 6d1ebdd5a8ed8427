/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <sys/uio.h>

#include "providers/shm/data/bulk.h"
#include "providers/shm/data/grant.h"
#include "providers/shm/data/method.h"
#include "providers/shm/data/proof.h"
#include "sys/clock.h"

/*
 * Reads and writes of a peer's memory that the kernel copies for the initiator alone,
 * while the call lasts. For one operation at a time that mostly takes less time than
 * through the lane, where the target has to notice a request and to copy; in streams
 * both ends copy at the same time. So both are measured (method.h).
 */

/* The end of a write is stored last, so a program that polls the last bytes of it finds
 * the whole. */
enum { TAIL = 8 };

/* The initiator's buffers are divided before the tail: the kernel copies one after the
 * other. It would do the same if the target's memory were divided, but then it would
 * look up pages of the target twice. */
static ssize_t write_there(
	const struct shm_conn *conn, const struct wf_op *op, const struct iovec *there)
{
	struct iovec from[SHM_IOV_LIMIT + 1];
	size_t body = op->len - TAIL, count = op->iov_count, parts;

	parts = shm_bulk_rest(op->iov, count, 0, body, from);
	parts += shm_bulk_rest(op->iov, count, body, TAIL, from + parts);
	return process_vm_writev(conn->pid, from, parts, there, 1, 0);
}

static ssize_t copy(const struct shm_conn *conn, const struct wf_op *op, uint64_t at)
{
	/* in the target's process */
	struct iovec there = { (uint8_t *)(uintptr_t)at, op->len };

	return op->kind == WF_OP_WRITE ? write_there(conn, op, &there)
				       : process_vm_readv(conn->pid, op->iov,
						 op->iov_count, &there, 1, 0);
}

/* 0, or a positive errno: some bytes may be copied, and all have to be again. */
static int try_copy(struct shm_conn *conn, struct shm_window *window,
	const struct wf_op *op, uint64_t offset)
{
	ssize_t ret = -1;
	int err = ESTALE;

	if (shm_direct_enter(conn, window)) {
		ret = copy(conn, op, window->remote + offset);
		err = ret < 0 ? errno : EFAULT;
	}
	shm_direct_leave(conn);
	return ret == (ssize_t)op->len ? 0 : err;
}

bool shm_direct_copy(struct shm_conn *conn, struct shm_window *window,
	const struct wf_op *op, uint64_t offset, struct shm_chosen *ret_how)
{
	enum shm_use use = op->kind == WF_OP_WRITE ? SHM_USE_WRITE : SHM_USE_READ;
	int err;

	if (!conn->cma || op->atomic || op->len <= shm_copy_min(use))
		return false;
	shm_method_begin(conn, use, op->len, true, ret_how);
	if (ret_how->method != SHM_METHOD_READ || !shm_direct_is_in_order(conn) ||
		!shm_proof_is_recent(conn, wf_now_ns()))
		return false;
	err = try_copy(conn, window, op, offset);
	if (err == EPERM || err == ENOSYS)
		shm_method_no_copies(conn);
	if (err) {
		shm_window_close(window);
		return false;
	}
	shm_method_end(conn, ret_how, op->len, SHM_METHOD_NOW);
	return true;
}
