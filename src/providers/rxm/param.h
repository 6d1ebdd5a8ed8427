/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_RXM_PARAM_H
#define WF_RXM_PARAM_H

#include <stddef.h>

/* The parameters FI_OFI_RXM_*; constant once the provider is loaded. Sizes are in
 * bytes. See fi_rxm(7). */
struct rxm_params {
	size_t buffer_size; /* eager limit; must be the same at all peers */
	/* Longest message that is sent in segments; SIZE_MAX: not set. */
	size_t sar_limit;
	size_t tx_size, rx_size;
	/* Limits of an endpoint's memory for unexpected messages, and for answers that
	 * peers have not read. */
	size_t unexpected_size, answer_size;
	/* Queue sizes of an endpoint below; 0: not set. */
	size_t msg_tx_size, msg_rx_size;
	/* Longest time between two reads of the EQ below, in microseconds. */
	size_t eq_interval_us;
	size_t eq_polls; /* progress calls between two reads of the EQ below */
	size_t entries; /* limit of completions that one read of the queue below gets */
	/* Time limit for making a connection (0: none), and time after which operations
	 * to a host that refuses connections fail; in milliseconds. */
	size_t connect_timeout, refused_timeout;
	int use_srx;     /* 0, 1, or -1: not set */
	int rndv_write;  /* The sender moves the payload of a rendezvous by writes. */
	int direct_send; /* User buffers are sent without a copy. */
};

extern struct rxm_params rxm_params;

void rxm_params_init(void);

#endif
