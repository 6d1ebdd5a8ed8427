/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_MR_MAP_H
#define WF_OBJECTS_MR_MAP_H

#include "objects/mr/mr.h"

/* Insert @mr with its key, or if @choose with a free key up to @max_key, which is
 * stored in @mr. Takes @map->lock. -FI_ENOKEY: the key is in use, or none is free. */
int wf_mr_map_insert(
	struct wf_mr_map *map, struct wf_mr *mr, bool choose, uint64_t max_key);
/* Remove @mr; no peer accesses it any more then. */
void wf_mr_map_remove(struct wf_mr_map *map, struct wf_mr *mr);
/* Let peers access @mr, which is in the map. */
void wf_mr_map_enable(struct wf_mr_map *map, struct wf_mr *mr);
/* Count peers' accesses to @mr by @cntr from now on; NULL: its memory may have been
 * mapped anew. */
void wf_mr_map_change(struct wf_mr_map *map, struct wf_mr *mr, struct wf_cntr *cntr);

#endif
