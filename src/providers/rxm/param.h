/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RXM_PARAM_H
#define RXM_PARAM_H

#include <stddef.h>

/* The parameters, FI_OFI_RXM_*; constant once the provider is loaded. Sizes in bytes;
 * fi_rxm(7) explains them. */
struct rxm_params {
	size_t buffer_size; /* the eager limit; equal at all peers */
	size_t sar_limit;   /* longest message in segments; SIZE_MAX: not set */
	size_t tx_size, rx_size;
	size_t msg_tx_size, msg_rx_size; /* of an endpoint below; 0: not set */
	size_t eq_interval_us;           /* longest time from one read of the EQ below
					  * to the next, in microseconds */
	size_t eq_polls; /* progress calls from one read of the EQ below to the next */
	size_t entries;  /* completions taken from the queue below at once */
	/* Milliseconds in which a connection must be made (0: no limit), and after
	 * which operations to a host that refuses connections fail. */
	size_t connect_timeout, refused_timeout;
	int use_srx;     /* 0, 1, or -1: not set */
	int rndv_write;  /* rendezvous by writes of the sender */
	int direct_send; /* user buffers are sent without a copy */
};

extern struct rxm_params rxm_params;

void rxm_params_init(void);

#endif
