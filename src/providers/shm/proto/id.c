/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/shm/proto/id.h"

#include <stdlib.h>

/*
 * Ids that peers send back in their answers: the index of an entry in the low 32 bits,
 * and its generation in the high ones, so that an answer that comes twice or is
 * invented finds no object.
 */

enum { FIRST = 16, NONE = -1 };

static bool id_grow(struct shm_conn *conn)
{
	uint32_t count = conn->ids.count ? conn->ids.count * 2 : FIRST;
	struct shm_id *ids = realloc(conn->ids.at, count * sizeof(*ids));

	if (!ids)
		return false;
	for (uint32_t i = conn->ids.count; i < count; i++)
		ids[i] = (struct shm_id){ .generation = 1,
			.type = SHM_ID_FREE,
			.next = i + 1 < count ? i + 1 : (uint32_t)NONE };
	conn->ids.free = conn->ids.count;
	conn->ids.at = ids;
	conn->ids.count = count;
	return true;
}

/* Returns 0 if there is no memory. */
uint64_t shm_id_new(struct shm_conn *conn, enum shm_id_type type, void *object)
{
	struct shm_id *id;
	uint32_t at;

	if ((!conn->ids.count || conn->ids.free == (uint32_t)NONE) && !id_grow(conn))
		return 0;
	at = conn->ids.free;
	id = &conn->ids.at[at];
	conn->ids.free = id->next;
	id->object = object;
	id->type = (uint8_t)type;
	return (uint64_t)id->generation << 32 | at;
}

void *shm_id_find(const struct shm_conn *conn, uint64_t id, enum shm_id_type type)
{
	uint32_t at = (uint32_t)id;

	if (at >= conn->ids.count || conn->ids.at[at].type != type ||
		conn->ids.at[at].generation != id >> 32)
		return NULL;
	return conn->ids.at[at].object;
}

void shm_id_free(struct shm_conn *conn, uint64_t id)
{
	struct shm_id *entry = &conn->ids.at[(uint32_t)id];

	entry->type = SHM_ID_FREE;
	/* A generation is never 0, so that no id is 0. */
	if (!++entry->generation)
		entry->generation = 1;
	entry->next = conn->ids.free;
	conn->ids.free = (uint32_t)id;
}
