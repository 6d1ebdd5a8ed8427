/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_RXD_FLOW_CUBIC_H
#define WF_RXD_FLOW_CUBIC_H

#include <stdint.h>

/*
 * Congestion control by CUBIC (RFC 9438), with slow start and the initial window of RFC
 * 5681 and 6928. It is what TCP of most systems uses, so that a flow and a TCP
 * connection get similar shares of a link. Windows are in bytes, times in nanoseconds.
 * The caller holds the lock of the flow.
 */
struct rxd_cubic {
	uint64_t cwnd, ssthresh;
	uint32_t packet; /* length of a full packet in bytes, the unit of growth */
	/* prior: window before the last reduction. w_max: the window at which the cubic
	 * function levels off, which fast convergence lowers. w_reno: the window that
	 * Reno would have now. */
	uint64_t prior, w_max, w_reno;
	/* Bytes acknowledged since w_reno grew, weighted with its slope. */
	uint64_t reno_acked;
	/* Time when the current phase of congestion avoidance began; 0: one begins with
	 * the next acknowledgement. */
	uint64_t start_ns;
	uint64_t k_ns; /* time from start_ns until the window reaches w_max */
};

void rxd_cubic_init(struct rxd_cubic *cc, uint32_t packet);

/* The size of full packets has changed. */
void rxd_cubic_packet(struct rxd_cubic *cc, uint32_t packet);

/* @bytes were acknowledged while the congestion window was the limit. */
void rxd_cubic_acked(
	struct rxd_cubic *cc, uint64_t bytes, uint64_t rtt_ns, uint64_t now_ns);

/* A packet was lost; called once for all losses of one round trip. The window does not
 * become smaller than @least bytes; a window of @least or fewer bytes stays, because
 * the loss is then no sign of congestion. */
void rxd_cubic_lost(struct rxd_cubic *cc, uint64_t least);

/* All packets were lost for several timeouts. */
void rxd_cubic_collapsed(struct rxd_cubic *cc);

#endif
