/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TCP_LOCAL_WAY_H
#define TCP_LOCAL_WAY_H

#include "providers/tcp/conn/conn.h"
#include "providers/tcp/local/proof.h"

/*
 * The exchange in which both ends of a connection find out whether they reach the same
 * shared memory. Each sends a card, and for the peer's card its number, or 0. It runs
 * beside the application's records and holds up none. ep.lock guards it.
 */
struct tcp_way {
	struct tcp_proof proof;
	uint64_t instance; /* of the peer's endpoint */
	bool read;         /* the peer's card was examined */
	bool told;         /* the peer's answer to this end's card has come */
	/* The reason, as far as it is known, why memory is not reached. */
	enum tcp_apart apart;
	uint8_t card[TCP_WIRE_CARD]; /* the peer's, while it arrives */

	/* The rest belongs to switch.c, from the proof on. */
	struct tcp_conn *conn;
	char name[TCP_PROOF_NAME]; /* of the peer's endpoint below; empty: none */
	fi_addr_t below;           /* in the AV below; FI_ADDR_NOTAVAIL: not yet */
	bool in;                   /* the peer's operations may come by memory */
	uint8_t out;               /* enum tcp_out */
	bool reached;              /* there was a connection below */
	uint8_t tries;             /* markers that were refused, or void */
	uint64_t reach_ns;   /* wf_coarse_ns of the first attempt to connect below; 0:
				none */
	uint32_t next_epoch; /* value of ep.epoch before which no marker is sent */
	struct wf_list link; /* in ep.switching while @out is TCP_OUT_WAITS */
};

/* The feature to offer to peers of @ep: TCP_HAVE_LOCAL or 0. Any thread. */
uint32_t tcp_way_offer(const struct tcp_ep *ep);

/* The peer with @instance has agreed on TCP_HAVE_LOCAL: begin. Without memory for that
 * the connection fails. */
void tcp_way_begin(struct tcp_conn *conn, uint64_t instance);
/* FI_TCP_LOCAL=shm: is the peer at @addr, which is at the other end of the socket @fd,
 * to be refused because it is on this machine, and has not offered the feature? @agreed
 * has the features of both ends. A line in the log says so. */
bool tcp_way_refuses(uint32_t agreed, int fd, const union wf_sockaddr *addr);
/* The connection ends, as its operations do: tcp_conn_end. */
void tcp_way_end(struct tcp_conn *conn, int err);

/* The peer of @conn has lost its memory, and the connection stands: it ends, and the
 * feature is refused to this instance of the peer from now on. ep.lock held. */
void tcp_way_failed(struct tcp_conn *conn);

/* Answer a record of the exchange by one of @kind with @id. It is sent at the end of
 * the progress call that read the record, and not later: in an exchange of single
 * messages the peer posts its next one soon, which makes its marker void. */
void tcp_way_answer(struct tcp_conn *conn, enum tcp_rec_kind kind, uint64_t id);

/* Has the exchange ended, and reached memory? */
static inline bool tcp_way_proven(const struct tcp_way *way)
{
	return way && way->read && way->told && !way->apart;
}

#endif
