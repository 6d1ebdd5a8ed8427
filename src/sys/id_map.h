/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_ID_MAP_H
#define WF_SYS_ID_MAP_H

#include <stdint.h>

#include "sys/compiler.h"

/*
 * Small numbers that stand for pointers, for objects that many references name. 0 is
 * never a number. All zero is an empty map; the caller serialises.
 */
struct wf_id_map {
	/* Pointers by number; a free entry has the next free number, shifted left by 1,
	 * plus 1. */
	void **at;
	uint32_t capacity, used, free;
};

void wf_id_map_done(struct wf_id_map *map);

/* Add @what and return its number, below @limit; 0: all are used, or no memory. */
uint32_t wf_id_map_add(struct wf_id_map *map, void *what, uint32_t limit);

/* What @number, which may be any number, stands for; NULL: nothing. The pointers in
 * @map are even. */
static inline void *wf_id_map_get(const struct wf_id_map *map, uint64_t number)
{
	if (wf_unlikely(!number || number >= map->capacity) ||
		wf_unlikely((uintptr_t)map->at[number] & 1))
		return NULL;
	return map->at[number];
}

void wf_id_map_remove(struct wf_id_map *map, uint32_t number);

#endif
