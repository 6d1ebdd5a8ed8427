/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_RXD_PARAM_H
#define WF_RXD_PARAM_H

#include <stddef.h>

/* The parameters FI_OFI_RXD_*; constant once they are read. */
/* How a loss changes the congestion window: always as in RFC 9438, or not below what
 * the path delivers. */
enum rxd_congestion { RXD_CONGESTION_CUBIC, RXD_CONGESTION_WESTWOOD };

struct rxd_params {
	size_t spin_count; /* limit of packets that a progress call receives; 0: none */
	size_t max_peers;  /* limit of peers of an endpoint that are not in its AV */
	/* Limit of packets that a peer may send without acknowledgement. */
	size_t max_unacked;
	int retry;           /* 0: the provider below is assumed to lose no packets */
	size_t peer_timeout; /* seconds of silence after which a peer is given up */
	int crc; /* 1: seal packets, 0: never, -1: unless the peer is on this host */
	int congestion;         /* enum rxd_congestion */
	size_t unexpected_size; /* bytes that messages without a receive may take */
};

extern struct rxd_params rxd_params;

/* Define and read the parameters, before the first fi_getinfo. */
void rxd_params_init(void);

#endif
