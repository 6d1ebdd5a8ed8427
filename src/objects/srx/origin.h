/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_SRX_ORIGIN_H
#define WF_OBJECTS_SRX_ORIGIN_H

#include "objects/srx/internal.h"

/* The origins of unexpected messages, by number; lock held. */

enum { WF_SRX_MAX_ORIGINS = 1 << 24 };

/* Count one more message of @origin. False: no memory for its number. */
static inline bool wf_srx_origin_get(struct wf_srx *srx, struct wf_srx_origin *origin)
{
	if (wf_unlikely(!origin->count))
		origin->number =
			wf_id_map_add(&srx->origins, origin, WF_SRX_MAX_ORIGINS);
	if (wf_unlikely(!origin->number))
		return false;
	origin->count++;
	return true;
}

/* Count one message less. */
static inline void wf_srx_origin_put(struct wf_srx *srx, struct wf_srx_origin *origin)
{
	if (!--origin->count)
		wf_id_map_remove(&srx->origins, origin->number);
}

#endif
