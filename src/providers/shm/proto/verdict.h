/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SHM_PROTO_VERDICT_H
#define WF_SHM_PROTO_VERDICT_H

#include "providers/shm/conn/conn.h"

/*
 * Writes and atomics without a result that fit one slot have no id, and the peer sends
 * no answer to them. Their completion waits for the position that the peer stores as
 * the reader of the lane, after each batch of records that has one of them: the peer
 * has then executed or refused all operations before it, and shm_lane.refused[] has
 * the errors. So the answer to any number of operations is one cache line. ep.lock.
 */

/* An operation that waits for its verdict. */
struct shm_verdict_op {
	void *context;
	uint64_t flags; /* struct wf_op.flags */
	fi_addr_t addr;
	uint32_t number; /* of its record */
	uint8_t kind;    /* enum wf_op_kind */
	uint8_t len;     /* in bytes */
	bool is_gone;    /* its record was withdrawn (withdraw.h) */
};

/* The operations of one connection, a ring in the order of their records: the first is
 * @op[@first % SHM_SLOTS]. Their records are less than SHM_SLOTS apart, so that each
 * has an entry of shm_lane.refused[] of its own. */
struct shm_verdicts {
	uint32_t first, count;
	struct shm_verdict_op op[SHM_SLOTS];
};

/* Is an operation waiting for its verdict? */
static inline bool shm_verdict_is_due(const struct shm_conn *conn)
{
	return conn->waits.verdicts && conn->waits.verdicts->count;
}

/* May the next record be a small write or atomic? Ends operations whose verdict came,
 * where that is necessary. False: too many operations wait, or no memory. */
bool shm_verdict_begin(struct shm_conn *conn);
/* The next record of the lane, which is not written yet, is that of @op.
 * shm_verdict_begin was true. */
void shm_verdict_await(struct shm_conn *conn, const struct wf_op *op);
/* End the operations of the connection whose verdict came; of all connections. */
void shm_verdict_poll(struct shm_conn *conn);
void shm_verdict_progress(struct shm_ep *ep);
/* Number @i of the waiting operations; NULL: there are fewer. */
struct shm_verdict_op *shm_verdict_at(struct shm_conn *conn, uint32_t i);
/* The first operation does not wait any more. */
void shm_verdict_drop(struct shm_conn *conn);
/* The connection ends: operations whose verdict did not come fail with @err, or are
 * dropped if that is 0. */
void shm_verdict_end(struct shm_conn *conn, int err);
/* Ask the peers to end the sleep of this endpoint when verdicts come. */
void shm_verdict_arm(struct shm_ep *ep);
/* Did a verdict come since? Called after the full fence behind shm_verdict_arm. */
bool shm_verdict_has_news(const struct shm_ep *ep);

/* The target refuses the operation of the record that it is reading with @err, a
 * positive fi_errno. */
void shm_verdict_refuse(struct shm_conn *conn, int err);

#endif
