/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SHM_BULK_H
#define SHM_BULK_H

#include "providers/shm/conn/conn.h"

/* What bulk.c, bulk_pull.c and bulk_stream.c share. ep.lock held. */

/* The claim word @claim of the messages that the writer of lane @lane of the region
 * sends. */
static inline _Atomic uint64_t *shm_bulk_claim(
	struct shm_conn *conn, unsigned int lane, uint32_t claim)
{
	return &conn->region->claims[lane][claim];
}

/* Decide that this end moves the payload of message @id. False: the other end does. */
static inline bool shm_bulk_take_claim(_Atomic uint64_t *claim, uint64_t id)
{
	return atomic_compare_exchange_strong_explicit(
		claim, &id, 0, memory_order_acq_rel, memory_order_relaxed);
}

/* Have the sender write the payload into the lane. */
void shm_bulk_clear(struct shm_sink *sink);
/* The payload of a message is complete. */
void shm_bulk_finish(struct shm_sink *sink);

#endif
