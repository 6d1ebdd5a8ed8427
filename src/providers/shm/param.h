/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SHM_PARAM_H
#define WF_SHM_PARAM_H

#include <stdbool.h>
#include <stddef.h>

/* Limit of the operands of one atomic operation in bytes. It is that of tcp, whose
 * operations may change over to shared memory at any time. */
enum { SHM_ATOMIC_MAX = 16384 };

/*
 * The FI_SHM_* parameters; sizes in bytes. Defined and read when the provider is
 * loaded, so that fi_getinfo reports the limits that endpoints keep.
 */
struct shm_params {
	size_t tx_size, rx_size;
	size_t inject_size;
	/* Messages above this size use rendezvous. */
	size_t eager_size;
	/* Rendezvous messages of at least this size are read from the peer's memory at
	 * once. */
	size_t cma_size;
	/* Transfers of at least this size are stored with non-temporal stores, which
	 * bypass the caches. */
	size_t nontemporal_size;
	/* Limit of an endpoint's memory for wide byte rings (conn/reuse.h). */
	size_t ring_memory;
	/* Limit of an endpoint's memory for unexpected messages. */
	size_t unexpected_size;
	/* Limit of an endpoint's memory for answers that peers have not read. */
	size_t answer_size;
	/* Milliseconds after which operations to an unreachable peer fail; 0: never. */
	size_t connect_timeout;
	/* The same in milliseconds if no endpoint has the peer's name. */
	size_t refused_timeout;
	int disable_cma;
	int disable_mapping;
};

extern struct shm_params shm_params;

void shm_params_init(void);

#endif
