/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_ID_MAP_H
#define WF_SYS_ID_MAP_H

#include <stdint.h>

#include "sys/compiler.h"

/*
 * A map from small numbers to pointers, for objects that many references name: a number
 * takes less memory than a pointer. 0 is never a number. A map of zero bytes is empty.
 * The caller serialises.
 */
struct wf_id_map {
	/* Pointers by number; a free entry has the next free number, shifted left by 1,
	 * plus 1. */
	void **at;
	/* entries in @at; numbers in use; first free number */
	uint32_t capacity, used, free;
};

void wf_id_map_done(struct wf_id_map *map);

/* Add the pointer @what and return its number, below @limit. 0: all numbers are used,
 * or no memory. */
uint32_t wf_id_map_add(struct wf_id_map *map, void *what, uint32_t limit);

/* The pointer with @number, which may be any number; NULL: there is none. Pointers in
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
