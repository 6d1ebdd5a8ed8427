/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_RXD_FLOW_DELIVERY_H
#define WF_RXD_FLOW_DELIVERY_H

#include <stdbool.h>
#include <stdint.h>

/*
 * The bandwidth at which a path delivers, and the window that fills the path without a
 * queue: the bandwidth times the shortest round trip. By this product TCP Westwood+
 * (Grieco, Mascolo: ACM CCR 34(2), 2004) tells losses of a congested path, before which
 * the window has grown beyond it, from those of a lossy one. Samples and their filter,
 * the largest of some round trips, are those of BBR (draft-ietf-ccwg-bbr).
 *
 * Bytes, nanoseconds; the caller serialises.
 */
struct rxd_delivery {
	uint64_t delivered;     /* bytes acknowledged so far */
	uint64_t delivered_ns;  /* the time of the last acknowledgement */
	uint64_t first_sent_ns; /* time when the packet acknowledged last was sent */
	/* The largest samples, in bytes per second, of the current period and of the
	 * one before. A period has some round trips in which the window was the
	 * limit. */
	uint64_t now_max, last_max;
	uint64_t round_order; /* the round ends when this transmission arrives */
	unsigned int rounds;  /* number of round trips of the current period so far */
};

/* What the state was when a packet was sent. */
struct rxd_delivery_mark {
	uint64_t delivered, delivered_ns, first_sent_ns;
};

/* A packet leaves; @idle: no other one is in flight. */
struct rxd_delivery_mark rxd_delivery_sent(
	struct rxd_delivery *delivery, bool idle, uint64_t now_ns);

/* @bytes were acknowledged. */
void rxd_delivery_acked(struct rxd_delivery *delivery, uint64_t bytes, uint64_t now_ns);

/* Transmission @order was acknowledged, the latest one that is: it was sent at
 * @sent_ns, with @mark. @limited: the window was the limit. @min_ns: the shortest round
 * trip. True: a round has ended; @next_order is the transmission that ends the next
 * one. */
bool rxd_delivery_sample(struct rxd_delivery *delivery,
	const struct rxd_delivery_mark *mark, uint64_t sent_ns, uint64_t order,
	uint64_t next_order, bool limited, uint64_t min_ns);

/* The bytes that fill the path; @min_ns: the shortest round trip. 0: unknown. */
uint64_t rxd_delivery_window(const struct rxd_delivery *delivery, uint64_t min_ns);

#endif
