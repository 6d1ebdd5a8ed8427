/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_ENDPOINT_CALLS_TABLES_H
#define WF_OBJECTS_ENDPOINT_CALLS_TABLES_H

#include "objects/endpoint/endpoint.h"

/* Fill one table of data transfer calls of @ep by its capabilities (msg.c, tagged.c,
 * rma.c, atomic.c). ep->control is held. */
void wf_ep_msg_finish(struct wf_ep *ep);
void wf_ep_tagged_finish(struct wf_ep *ep);
void wf_ep_rma_finish(struct wf_ep *ep);
void wf_ep_atomic_finish(struct wf_ep *ep);

#endif
