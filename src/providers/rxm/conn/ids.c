/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/rxm/conn/ids.h"

#include <stdlib.h>
#include <sys/random.h>

#include "providers/rxm/conn/conn.h"
#include "sys/calls.h"

enum { FIRST_BUCKETS = 16 };

uint32_t rxm_random(void)
{
	uint32_t n = 0;

	while (!n)
		if (wf_sys_getrandom(&n, sizeof(n), 0) < 0)
			return 0;
	return n;
}

struct rxm_conn *rxm_ids_find(const struct rxm_ids *ids, uint64_t id)
{
	struct rxm_conn *conn = ids->buckets ? ids->buckets[id & ids->mask] : NULL;

	while (conn && conn->id != id)
		conn = conn->id_next;
	return conn;
}

static void ids_link_in(struct rxm_conn **buckets, uint32_t mask, struct rxm_conn *conn)
{
	struct rxm_conn **bucket = &buckets[conn->id & mask];

	conn->id_next = *bucket;
	*bucket = conn;
}

static bool ids_grow(struct rxm_ids *ids)
{
	uint32_t count = ids->buckets ? 2 * (ids->mask + 1) : FIRST_BUCKETS;
	struct rxm_conn **buckets = calloc(count, sizeof(struct rxm_conn *)), *next;

	if (!buckets)
		return false;
	for (uint32_t i = 0; ids->buckets && i <= ids->mask; i++)
		for (struct rxm_conn *conn = ids->buckets[i]; conn; conn = next) {
			next = conn->id_next;
			ids_link_in(buckets, count - 1, conn);
		}
	free(ids->buckets);
	ids->buckets = buckets;
	ids->mask = count - 1;
	return true;
}

int rxm_ids_add(struct rxm_ids *ids, struct rxm_conn *conn)
{
	if ((!ids->buckets || ids->count > ids->mask) && !ids_grow(ids) &&
		!ids->buckets)
		return -FI_ENOMEM;
	/* In some packets release 1.17 sends the id back sign-extended from 32 bits, so
	 * the sign bit is 0. */
	do {
		conn->id = rxm_random() >> 1;
		if (!conn->id)
			return -FI_EIO;
	} while (rxm_ids_find(ids, conn->id));
	ids_link_in(ids->buckets, ids->mask, conn);
	ids->count++;
	return 0;
}

void rxm_ids_remove(struct rxm_ids *ids, struct rxm_conn *conn)
{
	struct rxm_conn **at;

	if (!conn->id)
		return;
	at = &ids->buckets[conn->id & ids->mask];
	while (*at != conn)
		at = &(*at)->id_next;
	*at = conn->id_next;
	ids->count--;
	conn->id = 0;
}

void rxm_ids_done(struct rxm_ids *ids)
{
	free(ids->buckets);
	*ids = (struct rxm_ids){ .buckets = NULL };
}
