/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TCP_PARAM_H
#define TCP_PARAM_H

#include <stdbool.h>
#include <stddef.h>

/*
 * What FI_TCP_* variables set. Defined when the provider is loaded; read then, too, so
 * that fi_getinfo answers with the limits that endpoints keep.
 */
struct tcp_params {
	size_t tx_size, rx_size; /* 0: by endpoint type */
	size_t max_inject;
	size_t rendezvous_size; /* larger messages wait at the sender */
	size_t max_saved_size;  /* the same, towards peers of other makes */
	size_t unexpected_size; /* memory for unmatched messages of an endpoint */
	size_t answer_size;     /* memory for answers that peers have not read */
	size_t staging_size;
	size_t prefetch_size;
	int firewalled;
	int no_auto_progress;
};

extern struct tcp_params tcp_params;

void tcp_params_init(void);

#endif
