/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_MR_MAP_H
#define WF_OBJECTS_MR_MAP_H

#include "objects/mr/mr.h"

/* Insert @mr with its key, or if @choose with a free key up to @max_key, which is
 * stored in @mr. Takes @map->lock. -FI_ENOKEY: the key is in use, or none is free. */
int wf_mr_map_insert(
	struct wf_mr_map *map, struct wf_mr *mr, bool choose, uint64_t max_key);
void wf_mr_map_remove(struct wf_mr_map *map, struct wf_mr *mr);

#endif
