/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_TCP_PARAM_H
#define WF_TCP_PARAM_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The FI_TCP_* parameters; sizes are in bytes. Defined and read when the provider is
 * loaded, so that fi_getinfo reports the limits that endpoints keep.
 */
struct tcp_params {
	/* Number of operations; 0: the endpoint type's default. */
	size_t tx_size, rx_size;
	size_t max_inject;
	size_t rendezvous_size; /* messages above this size use rendezvous */
	/* Messages above this size use rendezvous if the peer is another
	 * implementation. */
	size_t max_saved_size;
	/* Limit of an endpoint's memory for unexpected messages. */
	size_t unexpected_size;
	/* Limit of an endpoint's memory for answers that peers have not read. */
	size_t answer_size;
	size_t staging_size;
	size_t prefetch_size;
	int firewalled;
	int no_auto_progress;
};

extern struct tcp_params tcp_params;

void tcp_params_init(void);

#endif
