/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RXM_CREDIT_H
#define RXM_CREDIT_H

#include "providers/rxm/conn/conn.h"

/*
 * Credits: where the provider below loses or stalls at a message that no buffer is
 * posted for, each end counts the buffers that the other one has. One packet costs one
 * credit; the last one is kept for a packet that gives credits back.
 */

/* The connection is about to come up; @flow is what the peer says of itself. */
void rxm_credit_init(struct rxm_conn *conn, uint8_t flow);

/* A buffer of the connection was posted again; may send a packet. */
void rxm_credit_reposted(struct rxm_conn *conn);

/* Is it time for a packet of credits? Then one is sent, or, while the queue below is
 * full, the next progress call sends it. */
bool rxm_credit_owed(const struct rxm_conn *conn);
void rxm_credit_give(struct rxm_conn *conn);

/* Does the peer have a buffer for a packet that gives no credits? */
static inline bool rxm_credit_left(const struct rxm_conn *conn)
{
	return wf_likely(!conn->credited) || conn->credits > 1;
}

static inline void rxm_credit_spend(struct rxm_conn *conn)
{
	conn->credits -= conn->credited;
}

#endif
