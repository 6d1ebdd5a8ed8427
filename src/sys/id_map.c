/* SPDX-License-Identifier: BSD-2-Clause */
#include <assert.h>
#include <stdbool.h>

#include "sys/id_map.h"

/* A map of up to this many numbers is kept when it has become empty. */
enum { KEPT = 1024, FIRST_CAPACITY = 16 };

void wf_id_map_done(struct wf_id_map *map)
{
	free(map->at);
	*map = (struct wf_id_map){ 0 };
}

static void id_map_set_free(struct wf_id_map *map, uint32_t number)
{
	map->at[number] = (void *)((uintptr_t)map->free << 1 | 1);
	map->free = number;
}

static bool id_map_grow(struct wf_id_map *map, uint32_t limit)
{
	uint32_t capacity = map->capacity ? map->capacity * 2 : FIRST_CAPACITY;
	void **at;

	capacity = WF_MIN(capacity, limit);
	if (capacity <= map->capacity)
		return false;
	at = realloc(map->at, capacity * sizeof(*at));
	if (!at)
		return false;
	map->at = at;
	/* Low numbers are used first; 0 never is. */
	for (uint32_t i = capacity - 1; i >= WF_MAX(map->capacity, 1); i--)
		id_map_set_free(map, i);
	map->capacity = capacity;
	return true;
}

uint32_t wf_id_map_add(struct wf_id_map *map, void *what, uint32_t limit)
{
	uint32_t number;

	if (wf_unlikely(!map->free) && !id_map_grow(map, limit))
		return 0;
	number = map->free;
	map->free = (uint32_t)((uintptr_t)map->at[number] >> 1);
	map->at[number] = what;
	map->used++;
	return number;
}

void wf_id_map_remove(struct wf_id_map *map, uint32_t number)
{
	assert(number && number < map->capacity && map->used);
	id_map_set_free(map, number);
	if (!--map->used && map->capacity > KEPT)
		wf_id_map_done(map);
}
