/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_ID_MAP_H
#define WF_SYS_ID_MAP_H

#include <stdint.h>

#include "sys/compiler.h"

/*
 * Numbers that stand for pointers, where there are many of the references and few of
 * the things. 0 is nobody's number. All zero is an empty map; the caller serialises.
 */
struct wf_id_map {
	void **at; /* by number; of those that are free the next one, and 1 */
	uint32_t room, used, free;
};

void wf_id_map_done(struct wf_id_map *map);

/* The number of @what, below @limit; 0 when there is none, or no memory. */
uint32_t wf_id_map_add(struct wf_id_map *map, void *what, uint32_t limit);

void wf_id_map_remove(struct wf_id_map *map, uint32_t number);

#endif
