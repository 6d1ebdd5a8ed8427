/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_INFO_ENGINE_H
#define WF_OBJECTS_INFO_ENGINE_H

#include <rdma/fabric.h>

/* The engine that does every collective for providers without collectives of their own
 * (objects/coll), by messages of the endpoint itself. */
#define WF_INFO_ENGINE "off_coll"

/* The oldest interface version with providers that serve others by fi_peer(3). */
#define WF_INFO_ENGINE_VERSION FI_VERSION(1, 17)

/* Hints for the engine @name with the given modes; the caller frees them. NULL: no
 * memory. */
struct fi_info *wf_info_engine_hints(const char *name, uint64_t mode, int mr_mode);

#endif
