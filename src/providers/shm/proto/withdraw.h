/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SHM_PROTO_WITHDRAW_H
#define WF_SHM_PROTO_WITHDRAW_H

#include "providers/shm/proto/tx.h"

/*
 * Small reads and writes of a peer's memory that are requests in the lane, each one
 * record: where the peer makes progress they take the least time so. A peer that makes
 * none would never execute them. After SHM_PATIENCE_NS in which it took no record, they
 * are withdrawn: the initiator performs them itself (remote.h), in their order, and all
 * later ones, until the peer takes records again.
 *
 * The writer stores SHM_REC_GONE in the heads of the records, from the last to the
 * first: if the peer finds one of them withdrawn, it executes no later one either. What
 * it has taken meanwhile it may have executed or found withdrawn, and tells which. (For
 * the fences see shm_reader_again.) Operations that only the peer can perform, as
 * atomics, and messages stay in the lane, and with them what is ordered before or
 * behind them. ep.lock.
 */

/* Longer than a peer that polls takes to read all records of a lane. */
#define SHM_PATIENCE_NS UINT64_C(50000)

/* There is a request that may be withdrawn. */
static inline void shm_withdraw_watch(struct shm_conn *conn)
{
	if (wf_unlikely(wf_list_empty(&conn->patience.link)))
		wf_list_push(&conn->ep->impatient, &conn->patience.link);
}

/* The next record is that of @tx, a read or write that can be withdrawn. */
static inline void shm_withdraw_begin(struct shm_conn *conn, struct shm_tx *tx)
{
	tx->request.in_record = true;
	tx->request.number = conn->out.next;
	conn->patience.waiting++;
	shm_withdraw_watch(conn);
}

/* It ends, or is no record any more. */
static inline void shm_withdraw_end(struct shm_conn *conn, struct shm_tx *tx)
{
	tx->request.in_record = tx->request.is_gone = false;
	conn->patience.waiting--;
}

/* Withdraw requests that peers leave unread. Called by progress about as often as
 * SHM_PATIENCE_NS; @now: wf_now_ns. */
void shm_withdraw_progress(struct shm_ep *ep, uint64_t now);
/* Are there requests that may be withdrawn? */
bool shm_withdraw_is_due(struct shm_ep *ep);
/* The peer found the request of record @number withdrawn, or has not taken it: queue it
 * again, and all later ones that were withdrawn, before other operations. */
void shm_withdraw_from(struct shm_conn *conn, uint32_t number);
/* The peer found the request of @tx withdrawn; NULL: one that has ended. 0, or
 * -FI_EPROTO: the request was not withdrawn. */
int shm_withdraw_confirm(struct shm_conn *conn, struct shm_tx *tx);

bool shm_withdraw_is_still_silent(struct shm_conn *conn);

bool shm_withdraw_is_asking_slow(struct shm_conn *conn);

/* Has the peer still to tell which of the requests that were withdrawn it executed? No
 * operation is sent meanwhile. */
static inline bool shm_withdraw_is_asking(struct shm_conn *conn)
{
	return wf_unlikely(conn->patience.is_asking) &&
	       shm_withdraw_is_asking_slow(conn);
}

/* Has the peer taken no record since requests were withdrawn? */
static inline bool shm_withdraw_is_silent(struct shm_conn *conn)
{
	return wf_unlikely(conn->patience.is_silent) &&
	       shm_withdraw_is_still_silent(conn);
}

#endif
