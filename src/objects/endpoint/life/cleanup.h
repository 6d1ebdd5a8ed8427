/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_ENDPOINT_LIFE_CLEANUP_H
#define WF_OBJECTS_ENDPOINT_LIFE_CLEANUP_H

#include "objects/endpoint/endpoint.h"

/* Begin and end to watch the AV of @ep, if FI_AV_REMOVE_CLEANUP (fi_av(3)) asks for
 * that: the removal of an address ends the connection to it. start: 0 or a negative
 * FI_E code; ep->control is held. stop: no lock is held. */
int wf_ep_cleanup_start(struct wf_ep *ep);
void wf_ep_cleanup_stop(struct wf_ep *ep);

#endif
