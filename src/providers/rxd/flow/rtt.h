/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_RXD_FLOW_RTT_H
#define WF_RXD_FLOW_RTT_H

#include <stdint.h>

/* Round-trip time and retransmission timeout by RFC 6298. The smallest timeout is
 * shorter than in the RFC, because a timeout resends one packet only and does not
 * shrink the congestion window before a loss is proven. The first timeout is a probe
 * for the loss of the last packets (RFC 8985, section 7), after which no packet arrives
 * that would show it. Times are in nanoseconds. The caller holds the lock of the
 * flow. */
#define RXD_RTO_FIRST UINT64_C(50000000) /* before the first sample */
#define RXD_RTO_MIN   UINT64_C(4000000)
#define RXD_PROBE_MIN UINT64_C(1000000) /* used once instead of RXD_RTO_MIN */
#define RXD_RTO_MAX   UINT64_C(4000000000)

struct rxd_rtt {
	uint64_t smoothed, variation; /* smoothed is 0 before the first sample */
	uint64_t min;                 /* the smallest sample; 0: none */
	unsigned int backoff;         /* timeouts since the last answer */
};

void rxd_rtt_init(struct rxd_rtt *rtt);

/* Add a sample: the round-trip time of a packet that was sent once. */
void rxd_rtt_sample(struct rxd_rtt *rtt, uint64_t sample);

/* The timeout, doubled for each step of backoff. */
uint64_t rxd_rtt_timeout(const struct rxd_rtt *rtt);

#endif
