/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_RXD_FLOW_EARLY_H
#define WF_RXD_FLOW_EARLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Packets that arrived out of order, before the number that is expected: copies, in a
 * ring by their number. The ring grows up to the window. The caller holds the lock of
 * the flow.
 */
struct rxd_early_packet {
	uint8_t *bytes; /* NULL: there is no packet with this number */
	size_t len;
};

/* All zero: empty. */
struct rxd_early {
	struct rxd_early_packet *ring;
	size_t capacity; /* power of two, or 0 */
	size_t count;    /* number of packets */
	size_t bytes;    /* bytes of them */
	uint64_t last;   /* the greatest number since @count was last 0 */
};

/* Store a copy of packet @number, of @len bytes, while @next is the number expected; at
 * most @window numbers apart. *@kept counts stored bytes of all flows, up to @kept_max,
 * of which one flow takes no more than it leaves to others. False: the packet is not
 * stored, because of that limit or because there is no memory. */
bool rxd_early_keep(struct rxd_early *early, uint64_t number, uint64_t next,
	const void *bytes, size_t len, size_t *kept, size_t kept_max);

/* Packet @number, or NULL. */
const struct rxd_early_packet *rxd_early_find(
	const struct rxd_early *early, uint64_t number);

/* Free packet @number if it is stored. */
void rxd_early_drop(struct rxd_early *early, uint64_t number, size_t *kept);

/* Set a bit in @words for each stored packet behind @next, as in struct rxd_ack;
 * returns the number of words that have bits. */
size_t rxd_early_bits(
	const struct rxd_early *early, uint64_t next, uint64_t *words, size_t word_max);

void rxd_early_done(struct rxd_early *early, size_t *kept);

#endif
