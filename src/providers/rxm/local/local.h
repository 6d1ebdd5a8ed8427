/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_RXM_LOCAL_LOCAL_H
#define WF_RXM_LOCAL_LOCAL_H

#include "objects/local/local.h"
#include "providers/rxm/conn/conn.h"
#include "providers/rxm/conn/hello.h"

/*
 * Peers on the same machine are reached by an endpoint of shm (objects/local/local.h),
 * where connections are those of tcp and both ends have a card behind the data by which
 * they connect (docs/design/local.md, section 6). The transport of a connection's
 * operations is settled before the connection is up, and stays: none is ever under way
 * on both.
 *
 *   A                                      B
 *   request, card of A  ------------->    maps the page of A, writes its answer,
 *                                          knows A below
 *   maps the page of B, reads   <------    acceptance, card of B
 *   and writes the answer,
 *   knows B below
 *   RXM_LOCAL           ------------->    reads the answer
 *   connects below, and is up             connects below, and is up
 *
 * B sends nothing before RXM_LOCAL. An end that refuses writes that into its page, or,
 * as B, sends no card; the connection is used then. ep.lock guards all of this; the
 * lock of the receive context is held as well, unless a comment says otherwise.
 */
enum rxm_local_state {
	RXM_LOCAL_OFFERED,  /* This end's request has a card. */
	RXM_LOCAL_AWAITS,   /* This end's acceptance has a card, whose answer is
				 awaited. */
	RXM_LOCAL_REACHING, /* Both ends reach the memory; this end connects below. */
	/* The own operations use the connection, those of the peer may use memory. */
	RXM_LOCAL_SOCKET,
	RXM_LOCAL_MEMORY, /* The own operations use memory. */
};

struct rxm_local {
	enum rxm_local_state state;
	struct rxm_conn *conn;    /* the connection: conn->local is this struct */
	struct wf_list link;      /* in ep->reaching, in state REACHING */
	struct wf_proof proof;    /* page of this end, and that of the peer */
	char name[WF_PROOF_NAME]; /* name of the peer's endpoint below */
	fi_addr_t below; /* index in the AV below; FI_ADDR_NOTAVAIL: not inserted yet */
	/* Time (wf_now_ns) when the end of the connection was first put off
	 * (wf_local_lingers); 0: never. */
	uint64_t linger_ns;
};

/* Append this end's card to the request of @len bytes in @data, if the peer may be
 * reached by memory. Returns the new length. */
size_t rxm_local_offer(struct rxm_conn *conn, uint8_t data[RXM_HELLO_MAX], size_t len);

/* The request of the peer of @conn, which is accepted, has the card @card (NULL: none).
 * Examine it, and append this end's card to the acceptance of @len bytes in @data.
 * Returns the new length; @len: the connection is used. */
size_t rxm_local_answer(struct rxm_conn *conn, const uint8_t *card,
	uint8_t data[RXM_HELLO_MAX], size_t len);

/* The acceptance of the peer has the card @card (NULL: none). */
void rxm_local_accepted(struct rxm_conn *conn, const uint8_t *card);

/* RXM_LOCAL arrived. */
void rxm_local_answered(struct rxm_conn *conn);

/* Is the peer of @conn, whose peer_pid is known, this endpoint? It has two connections
 * to itself, which it uses. Only ep.lock is held. */
bool rxm_local_is_to_itself(const struct rxm_conn *conn);

/* For FI_TCP_LOCAL=shm: must the peer with the address @peer be refused, because it is
 * on this machine, whose address is @own, and is not reached by memory? A refusal is
 * logged. Only ep.lock is held. */
bool rxm_local_refuses(const union wf_sockaddr *own, const union wf_sockaddr *peer);

/* Connect below; called by progress while ep->reaching has members. Connections whose
 * transport is settled come up. */
void rxm_local_tick(struct rxm_ep *ep);

/* The time limit for connecting is over: if @conn waits only for the connection below,
 * its operations use the socket. False: there is no connection yet. */
bool rxm_local_give_up(struct rxm_conn *conn);

/* The memory of @conn has failed, and the connection exists: it ends, and this instance
 * of the peer is reached by sockets from now on. Only ep.lock is held. */
void rxm_local_failed(struct rxm_conn *conn);

/* Is it too early to end @conn, which the peer has closed (wf_local_lingers)? */
bool rxm_local_lingers(struct rxm_conn *conn);

/* The connection ends, and so do its operations below, with the positive fi_errno @err;
 * 0: without a report. No-op without conn->local. */
void rxm_local_end(struct rxm_conn *conn, int err);

/* Has @conn a transport for its operations? Only ep.lock is held. */
static inline bool rxm_local_settled(const struct rxm_conn *conn)
{
	return !conn->local || conn->local->state >= RXM_LOCAL_SOCKET;
}

/* Do the operations of this end use memory? Only ep.lock is held. */
static inline bool rxm_local_uses_memory(const struct rxm_conn *conn)
{
	return wf_unlikely(conn->local != NULL) &&
	       conn->local->state == RXM_LOCAL_MEMORY;
}

/* unread.c: messages that a process left unread in memory when it died
 * (objects/local/unread.h). They use the next connection to the peer, not memory. */

/* End the connection below to the peer of @conn, as wf_local_take_over. */
void rxm_unread_take_over(struct rxm_conn *conn, int err);
/* @conn ends: messages that an earlier process left unread and that @conn has not sent
 * are queued for the next connection. */
void rxm_unread_keep(struct rxm_conn *conn);
/* Does such a message wait for a connection to @peer? */
bool rxm_unread_waits(const struct rxm_peer *peer);

/* below.c: the endpoint below, and the domain below. Control calls without locks. */
bool rxm_local_possible(const struct rxm_domain *domain);
/* wf_local_open for @ep, if its domain is one of tcp. Without it all peers are reached
 * by connections. */
void rxm_local_open(struct rxm_ep *ep);
void rxm_local_close(struct rxm_ep *ep);

#endif
