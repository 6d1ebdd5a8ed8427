/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TCP_LOCAL_WAY_H
#define TCP_LOCAL_WAY_H

#include "providers/tcp/conn/conn.h"
#include "providers/tcp/local/proof.h"

/*
 * The exchange in which both ends of a connection find out whether they reach the same
 * shared memory. Each sends a card, and answers the peer's in its own page. It runs
 * beside the application's records and holds up none, so a thread that sleeps is not
 * woken for it: the pages are looked at by progress calls, and whenever the connection
 * has brought something. ep.lock guards it.
 */
struct tcp_way {
	struct tcp_proof proof;
	uint64_t instance; /* of the peer's endpoint */
	bool read;         /* the peer's card was examined */
	bool told;         /* the peer's answer to this end's card was seen */
	/* The reason, as far as it is known, why memory is not reached. */
	enum tcp_apart apart;
	uint8_t card[TCP_WIRE_CARD]; /* the peer's, while it arrives */
	struct tcp_conn *conn;
	/* In ep.switching while the peer's page is looked at: it was reached, and one
	 * of the directions may still change its way. */
	struct wf_list link;

	/* The rest belongs to switch.c, from the proof on. */
	char name[TCP_PROOF_NAME]; /* of the peer's endpoint below; empty: none */
	fi_addr_t below;           /* in the AV below; FI_ADDR_NOTAVAIL: not yet */
	bool in;                   /* the peer's operations may come by memory */
	uint8_t out;               /* enum tcp_out */
	bool reached;              /* there was a connection below */
	uint8_t tries;             /* markers that were refused, or void */
	uint64_t asked;            /* number of the last marker that was sent */
	uint64_t answered;         /* of the peer's that was answered last */
	uint64_t reach_ns;   /* wf_coarse_ns of the first attempt to connect below; 0:
				none */
	uint64_t linger_ns;  /* wf_now_ns when the end first had to wait; 0: never */
	uint32_t next_epoch; /* value of ep.epoch before which no marker is sent */
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

/* Look at the page of the peer of @conn, which has a way; or, from progress, at that of
 * one connection after the other. The lock of the owner of ep.srx held, too. */
void tcp_way_look(struct tcp_conn *conn);
void tcp_ways_tick(struct tcp_ep *ep);

/* Has the exchange ended, and both have reached memory? */
static inline bool tcp_way_proven(const struct tcp_way *way)
{
	return way && way->read && way->told && !way->apart;
}

#endif
