/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RXD_PARAM_H
#define RXD_PARAM_H

#include <stddef.h>

/* The parameters FI_OFI_RXD_*; constant once they are read. */
struct rxd_params {
	size_t spin_count;  /* packets of one progress call; 0: no limit */
	size_t max_peers;   /* peers of an endpoint that are not in its AV */
	size_t max_unacked; /* packets that a peer may send without acknowledgement */
	int retry;          /* 0: trust the provider below to lose nothing */
	size_t retry_count; /* rounds without an answer; then a peer is given up */
	int crc; /* 1: seal packets, 0: never, -1: unless the peer is on this host */
	size_t unexpected_size; /* bytes that messages without a receive may take */
};

extern struct rxd_params rxd_params;

/* Define and read them, once, before the first fi_getinfo. */
void rxd_params_init(void);

#endif
