/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_RXD_INDEX_H
#define WF_RXD_INDEX_H

#include <stddef.h>
#include <stdint.h>

#include "sys/compiler.h"

struct rxd_peer;

/*
 * The peers of an endpoint by the index that each was given. An index is a random
 * number of 32 bits: packets name it, and a host that was not told the index of a peer
 * cannot guess it. A table of zero bytes is empty. The caller serialises.
 */
struct rxd_index {
	/* Open addressing: a peer is at the slot of the low bits of its index, or
	 * behind that slot without a gap. NULL: no peer was added yet. */
	struct rxd_index_slot *slots;
	uint32_t mask; /* number of slots (a power of two) - 1 */
	uint32_t used; /* number of peers; at most half of the slots */
};

struct rxd_index_slot {
	uint32_t index; /* 0: the slot is free */
	struct rxd_peer *peer;
};

void rxd_index_done(struct rxd_index *map);

/* Add @peer by a new index, which is returned. 0: no memory, or no random numbers. */
uint32_t rxd_index_add(struct rxd_index *map, struct rxd_peer *peer);

/* Remove the peer with @index, which is in the table. */
void rxd_index_remove(struct rxd_index *map, uint32_t index);

/* The peer with @index, which may be any number; NULL: there is none. */
static inline struct rxd_peer *rxd_index_get(
	const struct rxd_index *map, uint64_t index)
{
	if (wf_unlikely(!map->slots || !index))
		return NULL;
	for (uint32_t i = (uint32_t)index & map->mask; map->slots[i].index != 0;
		i = (i + 1) & map->mask)
		if (map->slots[i].index == index)
			return map->slots[i].peer;
	return NULL;
}

#endif
