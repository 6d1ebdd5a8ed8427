/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SHM_PARAM_H
#define SHM_PARAM_H

#include <stddef.h>

enum { SHM_ATOMIC_MAX = 4096 }; /* bytes of elements in one operation */

/*
 * What FI_SHM_* variables set. Defined and read when the provider is loaded, so that
 * fi_getinfo answers with the limits that endpoints keep.
 */
struct shm_params {
	size_t tx_size, rx_size;
	size_t inject_size;
	size_t eager_size;       /* larger messages wait at the sender */
	size_t cma_size;         /* from here on peers' memory is read where it lies */
	size_t nontemporal_size; /* from here on what comes is stored past the caches */
	size_t unexpected_size;  /* memory for unmatched messages of an endpoint */
	size_t connect_timeout;  /* milliseconds; 0: never give up */
	size_t refused_timeout;  /* milliseconds; where no endpoint has the name */
	int disable_cma;
};

extern struct shm_params shm_params;

void shm_params_init(void);

#endif
