/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_RXM_CONN_CREDIT_H
#define WF_RXM_CONN_CREDIT_H

#include "providers/rxm/conn/conn.h"

/*
 * Credits: if the provider below loses or delays a message for which no buffer is
 * posted, each end counts the buffers of the other. A packet costs one credit; the last
 * credit is reserved for a packet that gives credits back.
 */

/* The connection is about to come up; @flow is from the peer's hello. */
void rxm_credit_init(struct rxm_conn *conn, uint8_t flow);

/* A buffer of the connection was posted again. May send a packet of credits. */
void rxm_credit_reposted(struct rxm_conn *conn);

/* rxm_credit_due: is it time to give credits to the peer? rxm_credit_give: send a
 * packet of credits or, while the queue below is full, let the next progress call send
 * it. */
bool rxm_credit_due(const struct rxm_conn *conn);
void rxm_credit_give(struct rxm_conn *conn);

/* Has the peer a buffer for a packet that gives no credits? */
static inline bool rxm_credit_left(const struct rxm_conn *conn)
{
	return wf_likely(!conn->credited) || conn->credits > 1;
}

static inline void rxm_credit_spend(struct rxm_conn *conn)
{
	conn->credits -= conn->credited;
}

/* The peer behaves as if the connection had ended. If it has, a packet makes the peer's
 * host say so: send one that gives no credits. */
void rxm_credit_probe(struct rxm_conn *conn);

#endif
