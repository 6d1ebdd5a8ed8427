/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_RXD_FLOW_BOARD_H
#define WF_RXD_FLOW_BOARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "providers/rxd/flow/delivery.h"

/*
 * The scoreboard of a sender: one entry for each packet that was sent and is not
 * covered by the cumulative acknowledgement, in a ring by packet number. The caller
 * holds the lock of the flow.
 */
struct rxd_xfer;

enum rxd_sent_state {
	RXD_SENT_FLYING, /* sent, and neither acknowledged nor lost */
	RXD_SENT_LOST,   /* has to be sent again */
	RXD_SENT_HELD,   /* the peer has received it */
};

struct rxd_sent {
	struct rxd_xfer *xfer; /* NULL: the packet tells the peer to skip numbers */
	/* Order of its last transmission among all transmissions of the flow. */
	uint64_t order;
	uint64_t at_ns;                /* time of its last transmission */
	struct rxd_delivery_mark mark; /* when it was sent last */
	uint32_t bytes;
	uint8_t state; /* enum rxd_sent_state */
	bool resent;
};

/* All zero: empty. */
struct rxd_board {
	struct rxd_sent *ring;
	size_t capacity; /* power of two, or 0 */
	/* Numbers of the oldest unacknowledged packet and of the next new one. */
	uint64_t una, next;
	uint64_t order;     /* order of the next transmission */
	uint64_t in_flight; /* bytes of packets in RXD_SENT_FLYING */
	size_t lost;        /* number of packets in RXD_SENT_LOST */
	uint64_t lost_from; /* no packet with a number below this one is lost */
};

static inline struct rxd_sent *rxd_board_at(
	const struct rxd_board *board, uint64_t number)
{
	return &board->ring[number & (board->capacity - 1)];
}

static inline size_t rxd_board_count(const struct rxd_board *board)
{
	return (size_t)(board->next - board->una);
}

/* Allocate space for one more entry; false: no memory. */
bool rxd_board_reserve(struct rxd_board *board);

/* A packet was sent: for the first time (@number is next), or again. */
void rxd_board_sent(struct rxd_board *board, uint64_t number, struct rxd_xfer *xfer,
	uint32_t bytes, uint64_t now_ns);

/* Change the state of an entry, and update the sums. */
void rxd_board_set(struct rxd_board *board, uint64_t number, enum rxd_sent_state state);

/* The lowest lost number; board->lost is not 0. */
uint64_t rxd_board_first_lost(struct rxd_board *board);

/* Remove all entries; the next number is @next. */
void rxd_board_clear(struct rxd_board *board, uint64_t next);

void rxd_board_done(struct rxd_board *board);

#endif
