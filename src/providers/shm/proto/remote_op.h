/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SHM_PROTO_REMOTE_OP_H
#define WF_SHM_PROTO_REMOTE_OP_H

#include "providers/shm/copy/remote.h"

/*
 * This endpoint's RMA and atomic operations: requests in the lane, or performed on the
 * peer's memory (copy/remote.h). The latter are performed in order: one begins when all
 * earlier ones of this endpoint have ended, and when the peer has taken all messages
 * that were sent before. ep.lock.
 */

/*
 * Limits in bytes. FIRST: the call that posts an operation performs at most so much of
 * it, and progress calls go on in steps. SMALL_READ, SMALL_WRITE: up to there they are
 * requests, which take less time where the target makes progress.
 */
enum {
	SHM_REMOTE_FIRST = 256 << 10,
	SHM_REMOTE_STEP = 1 << 20,
	SHM_REMOTE_SMALL_READ = 1 << 30, /* the answer is a stream */
	SHM_REMOTE_SMALL_WRITE = 16 << 10,
	SHM_REMOTE_AGAIN = 256,
};

/* Has the peer executed all earlier operations of this endpoint, as far as an access to
 * its memory is ordered behind them? Acknowledgements of some may end them now. */
bool shm_remote_is_in_order(struct shm_conn *conn);

/* How is @op to be performed? Finds all of its regions, and checks access and
 * ranges. */
enum shm_reach shm_remote_judge(
	struct shm_conn *conn, const struct wf_op *op, struct shm_step *step);

/* Does the target want to be told of the operation, which was performed? */
static inline bool shm_remote_tells(const struct wf_op *op, const struct shm_step *step)
{
	return op->flags & FI_REMOTE_CQ_DATA ||
	       step->tell & (op->kind == WF_OP_READ ? SHM_TELL_READ : SHM_TELL_WRITE);
}

/* Write the record that tells of it. @id: SHM_ID_NONE: no answer is needed. False: the
 * lane has no space. */
bool shm_remote_tell(struct shm_conn *conn, const struct wf_op *op, uint64_t id);

/* Is the record that tells of it to be acknowledged? */
static inline bool shm_remote_wants_ack(const struct wf_op *op)
{
	return op->kind != WF_OP_READ && op->flags & FI_DELIVERY_COMPLETE;
}

/* What the call that posts an RMA or atomic operation does with it: nothing more; write
 * or queue a request; or queue it. */
enum shm_started { SHM_STARTED, SHM_START_LANE, SHM_START_QUEUE };

enum shm_started shm_remote_start(struct shm_conn *conn, const struct wf_op *op);

#endif
