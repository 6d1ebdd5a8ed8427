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
	uint8_t tries;             /* markers that were refused, or void */
	uint32_t next_epoch; /* value of ep.epoch before which no marker is sent */
	struct wf_list link; /* in ep.switching while @out is TCP_OUT_WAITS */
};

/* The feature to offer to peers of @ep: TCP_HAVE_LOCAL or 0. Any thread. */
uint32_t tcp_way_offer(const struct tcp_ep *ep);

/* The peer with @instance has agreed on TCP_HAVE_LOCAL: begin. Without memory for that
 * the connection fails. */
void tcp_way_begin(struct tcp_conn *conn, uint64_t instance);
/* The connection ends. */
void tcp_way_end(struct tcp_conn *conn);

/* Memory fails for the peer at @below, whose connection stands: the connection ends,
 * and the feature is refused to this instance of the peer from now on. ep.lock held. */
void tcp_way_failed(struct tcp_ep *ep, fi_addr_t below);

/* Has the exchange ended, and reached memory? */
static inline bool tcp_way_proven(const struct tcp_way *way)
{
	return way && way->read && way->told && !way->apart;
}

#endif
