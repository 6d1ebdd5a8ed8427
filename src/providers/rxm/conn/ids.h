/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RXM_IDS_H
#define RXM_IDS_H

#include <stdbool.h>
#include <stdint.h>

struct rxm_conn;

/*
 * The connections of an endpoint by their ids. A packet in a shared receive context
 * says by an id which connection it came over, so ids are random numbers: a peer cannot
 * guess those of others. The caller serialises.
 */
struct rxm_ids {
	struct rxm_conn **buckets; /* chained by conn->id_next; NULL: none yet */
	uint32_t mask, count;
};

/* Give @conn an id that is not 0. 0, -FI_ENOMEM or -FI_EIO. */
int rxm_ids_add(struct rxm_ids *ids, struct rxm_conn *conn);
void rxm_ids_remove(struct rxm_ids *ids, struct rxm_conn *conn);
struct rxm_conn *rxm_ids_find(const struct rxm_ids *ids, uint64_t id);
void rxm_ids_done(struct rxm_ids *ids);

/* A random number that is not 0; 0: the system has none. */
uint32_t rxm_random(void);

#endif
