/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_TCP_LOCAL_LOCAL_H
#define WF_TCP_LOCAL_LOCAL_H

#include "providers/tcp/conn/conn.h"
#include "objects/local/proof.h"

/*
 * The exchange in which both ends of a connection find out whether they reach the same
 * shared memory. Each end sends a card, and answers the peer's card in its own page.
 * The exchange delays no record of the application, so a sleeping thread is not woken
 * for it: progress calls read the pages, and so does each receive from the connection.
 * ep.lock guards it.
 */
struct tcp_local {
	struct wf_proof proof; /* page of this end, and that of the peer */
	uint64_t instance;     /* instance of the peer's endpoint */
	bool read;             /* The peer's card was examined. */
	bool has_verdict;      /* The peer's answer to this end's card was read. */
	/* Why the peer is not reached through memory; WF_UNREACHED_NOT: no reason is
	 * known. */
	enum wf_unreached unreached;
	uint8_t card[TCP_WIRE_CARD]; /* card of the peer, while it arrives */
	struct tcp_conn *conn;       /* the connection: conn->local is this struct */
	/* Link in ep->switching while the peer's page is polled: the proof succeeded
	 * this far, and one of the directions may still switch. */
	struct wf_list link;

	/* The fields below are used by switch.c, after the proof. */
	/* Name of the peer's endpoint below; empty: there is none. */
	char name[WF_PROOF_NAME];
	fi_addr_t below; /* index in the AV below; FI_ADDR_NOTAVAIL: not inserted yet */
	bool in;         /* The peer's operations may arrive through memory. */
	uint8_t out;     /* enum tcp_out: transport of this end's operations */
	bool reached;    /* The endpoint below has been connected to the peer. */
	uint8_t tries;   /* number of markers that were refused or void, at most 16 */
	uint64_t asked;  /* number of the last marker that was sent */
	uint64_t answered; /* number of the peer's marker that was answered last */
	/* Time (wf_coarse_ns) of the first attempt to connect below; 0: none. */
	uint64_t reach_ns;
	/* Time (wf_now_ns) when the end of the connection was first put off
	 * (tcp_switch_lingers); 0: never. */
	uint64_t linger_ns;
	uint32_t next_epoch; /* value of ep.epoch before which no marker is sent */
};

/* The feature that is offered to peers of @ep: TCP_HAVE_LOCAL or 0. Any thread. */
uint32_t tcp_local_offer(const struct tcp_ep *ep);

/* The peer with the instance @instance has agreed on TCP_HAVE_LOCAL: begin the
 * exchange. If there is no memory, the connection fails. @tell: send a card; otherwise
 * the peer's card is ignored. */
void tcp_local_begin(struct tcp_conn *conn, uint64_t instance, bool tell);
/* For FI_TCP_LOCAL=shm: must the peer at @addr, at the other end of the socket @fd, be
 * refused, because it is on this machine and has not offered the feature? @agreed: the
 * features of both ends. A refusal is logged. */
bool tcp_local_refuses(uint32_t agreed, int fd, const union wf_sockaddr *addr);
/* Called by tcp_conn_end: the connection ends, and so do its operations below. */
void tcp_local_end(struct tcp_conn *conn, int err);

/* The peer of @conn cannot be reached through memory any more, and the connection
 * exists: it ends, and the feature is refused to this instance of the peer from now on.
 * ep.lock held. */
void tcp_local_failed(struct tcp_conn *conn);

/* tcp_local_poll: read the page of the peer of @conn, whose conn->local is not NULL.
 * tcp_local_tick: called by progress, reads the page of one connection after the other.
 * The lock of the owner of ep.srx is held, too. */
void tcp_local_poll(struct tcp_conn *conn);
void tcp_local_tick(struct tcp_ep *ep);

/* Has the exchange ended, with the result that both ends share memory? */
static inline bool tcp_local_proven(const struct tcp_local *local)
{
	return local && local->read && local->has_verdict && !local->unreached;
}

#endif
