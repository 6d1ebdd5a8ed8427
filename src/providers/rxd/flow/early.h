/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RXD_FLOW_EARLY_H
#define RXD_FLOW_EARLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Packets that arrived before their turn: copies, in a ring by their number. The ring
 * grows up to the window. The caller serialises.
 */
struct rxd_early_packet {
	uint8_t *bytes; /* NULL: the packet is not kept */
	size_t len;
};

/* All zero at the start. */
struct rxd_early {
	struct rxd_early_packet *ring;
	size_t capacity; /* a power of two, or 0 */
	size_t count;    /* packets that are kept */
	uint64_t last;   /* the greatest number that was kept since count was 0 */
};

/* Keep a copy of packet @number, of @len bytes, while @next is the number expected; at
 * most @window numbers apart. *@kept counts bytes up to @kept_max. False: it is not
 * kept, because of that limit or for want of memory. */
bool rxd_early_keep(struct rxd_early *early, uint64_t number, uint64_t next,
	const void *bytes, size_t len, size_t *kept, size_t kept_max);

/* Packet @number, or NULL. */
const struct rxd_early_packet *rxd_early_find(
	const struct rxd_early *early, uint64_t number);

/* Drop packet @number if it is kept. */
void rxd_early_drop(struct rxd_early *early, uint64_t number, size_t *kept);

/* Bits of the packets behind @next, as struct rxd_ack has them; returns the number of
 * words that have bits. */
size_t rxd_early_bits(
	const struct rxd_early *early, uint64_t next, uint64_t *words, size_t word_max);

void rxd_early_done(struct rxd_early *early, size_t *kept);

#endif
