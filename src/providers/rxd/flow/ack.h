/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_RXD_FLOW_ACK_H
#define WF_RXD_FLOW_ACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "providers/rxd/wire.h"

/*
 * ACK packets, and the base header of packets between extended peers. Pure functions;
 * any thread.
 */
enum {
	RXD_ACK_SIZE = 32,
	RXD_WINDOW_MAX = 4096,
	/* Words of 64 packets that an extended ACK can report behind the gap. */
	RXD_SACK_WORDS = RXD_WINDOW_MAX / 64,
	RXD_ACK_SIZE_MAX = RXD_ACK_SIZE + (RXD_SACK_WORDS - 1) * 8,
	RXD_SKIP_SIZE = sizeof(struct rxd_base) + 8,
};

/* Types of packets between extended peers. */
enum {
	RXD_SKIP = 64, /* numbered: its sender gave up a transfer */
	/* Not numbered: tests whether packets of this length pass the path. */
	RXD_PROBE = 65,
};

/* Flags of the base header between extended peers. */
enum {
	/* In a numbered packet: seq consists of the low half of the packet's number,
	 * and the low half of the next number that the sender expects. In an ACK: it is
	 * an extended one. */
	RXD_FLAG_EXT = 1 << 7,
	RXD_FLAG_ACK_NOW = 1 << 8, /* The sender waits for the acknowledgement. */
};

struct rxd_ack {
	uint64_t next;   /* next packet number that the receiver expects */
	uint16_t window; /* limit of unacknowledged packets */
	/* The following fields are valid in extended acknowledgements only. */
	bool extended;
	/* Positive fi_errno if packet @next will never be accepted; else 0. */
	uint16_t refused;
	uint16_t largest; /* bytes of the largest packet received from the peer */
	/* Bit i of the words: packet next + 1 + i has arrived. */
	size_t words;
	uint64_t early[RXD_SACK_WORDS];
};

/* Write @ack, for a peer that has given this endpoint the index @peer_index, to @to,
 * which has RXD_ACK_SIZE_MAX bytes. Returns its length in bytes. */
size_t rxd_ack_write(const struct rxd_ack *ack, uint32_t peer_index, uint8_t *to);

/* Decode an ACK. @extended: the peer is an extended one. False: too short. */
bool rxd_ack_read(const uint8_t *from, size_t len, bool extended, struct rxd_ack *ret);

/* The field seq of a numbered packet between extended peers. */
static inline uint64_t rxd_seq_pack(uint64_t number, uint64_t next)
{
	const uint32_t half[2] = { (uint32_t)number, (uint32_t)next };
	uint64_t seq;

	static_assert(sizeof(half) == sizeof(seq), "two halves");
	__builtin_memcpy(&seq, half, sizeof(seq));
	return seq;
}

static inline void rxd_seq_unpack(uint64_t seq, uint32_t *number, uint32_t *next)
{
	uint32_t half[2];

	__builtin_memcpy(half, &seq, sizeof(seq));
	*number = half[0];
	*next = half[1];
}

/* The number with these low bits that is closest to @number. */
static inline uint64_t rxd_seq_widen(uint32_t low, uint64_t number)
{
	return number + (uint64_t)(int64_t)(int32_t)(low - (uint32_t)number);
}

#endif
