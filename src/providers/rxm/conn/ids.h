/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_RXM_CONN_IDS_H
#define WF_RXM_CONN_IDS_H

#include <stdbool.h>
#include <stdint.h>

struct rxm_conn;

/*
 * The connections of an endpoint by their ids. The id in a packet from a shared receive
 * context tells which connection the packet belongs to. So ids are random numbers: a
 * peer cannot guess those of other connections. The caller holds ep.lock.
 */
struct rxm_ids {
	/* Hash buckets, chained by conn->id_next; NULL: no connection yet. */
	struct rxm_conn **buckets;
	uint32_t mask, count;
};

/* Give @conn an id that is not 0. Returns 0, -FI_ENOMEM or -FI_EIO. */
int rxm_ids_add(struct rxm_ids *ids, struct rxm_conn *conn);
void rxm_ids_remove(struct rxm_ids *ids, struct rxm_conn *conn);
struct rxm_conn *rxm_ids_find(const struct rxm_ids *ids, uint64_t id);
void rxm_ids_done(struct rxm_ids *ids);

/* A random number that is not 0; 0: the system cannot give one. */
uint32_t rxm_random(void);

#endif
