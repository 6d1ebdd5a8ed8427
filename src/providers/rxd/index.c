/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/rxd/index.h"
#include "sys/calls.h"

#include <stdbool.h>
#include <stdlib.h>

enum { SLOTS_MIN = 32, SLOTS_MAX = 1 << 30 };

void rxd_index_done(struct rxd_index *map)
{
	free(map->slots);
	*map = (struct rxd_index){ 0 };
}

static void index_put(struct rxd_index *map, struct rxd_index_slot what)
{
	uint32_t i = what.index & map->mask;

	while (map->slots[i].index != 0)
		i = (i + 1) & map->mask;
	map->slots[i] = what;
}

/* Make room for one more peer. False: no memory. */
static bool index_grow(struct rxd_index *map)
{
	size_t count = map->slots ? (size_t)map->mask + 1 : 0;
	struct rxd_index wider = { .used = map->used };
	size_t wanted = count ? count * 2 : SLOTS_MIN;

	if (map->used < count / 2)
		return true;
	if (wanted > SLOTS_MAX)
		return false;
	wider.slots = calloc(wanted, sizeof(*wider.slots));
	if (!wider.slots)
		return false;
	wider.mask = (uint32_t)(wanted - 1);
	for (size_t i = 0; i < count; i++)
		if (map->slots[i].index != 0)
			index_put(&wider, map->slots[i]);
	free(map->slots);
	*map = wider;
	return true;
}

/* A random index that is not in use. 0: no random numbers. */
static uint32_t index_draw(const struct rxd_index *map)
{
	uint32_t index;

	do {
		if (wf_sys_getrandom(&index, sizeof(index), 0) != sizeof(index))
			return 0;
	} while (index == 0 || rxd_index_get(map, index));
	return index;
}

uint32_t rxd_index_add(struct rxd_index *map, struct rxd_peer *peer)
{
	uint32_t index = index_grow(map) ? index_draw(map) : 0;

	if (index != 0) {
		index_put(map, (struct rxd_index_slot){ index, peer });
		map->used++;
	}
	return index;
}

void rxd_index_remove(struct rxd_index *map, uint32_t index)
{
	uint32_t i = index & map->mask;

	while (map->slots[i].index != index)
		i = (i + 1) & map->mask;
	map->slots[i].index = 0;
	map->used--;
	/* The peers behind it may have been displaced by it. */
	for (i = (i + 1) & map->mask; map->slots[i].index != 0;
		i = (i + 1) & map->mask) {
		struct rxd_index_slot moved = map->slots[i];

		map->slots[i].index = 0;
		index_put(map, moved);
	}
}
