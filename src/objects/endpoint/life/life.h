/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_ENDPOINT_LIFE_H
#define WF_OBJECTS_ENDPOINT_LIFE_H

#include "objects/endpoint/caps.h"
#include "objects/endpoint/log.h"

/* Steps in the life of an endpoint that contexts and aliases take, too. */

/* Close one handle, the endpoint or an alias; the last one frees the endpoint.
 * -FI_EBUSY: contexts or groups are open. Takes ep->control. */
int wf_ep_put(struct wf_ep *ep);

/* Last step of fi_enable: fill the tables of data transfer calls by the capabilities of
 * @ep. ep->control is held. */
void wf_ep_finish_tables(struct wf_ep *ep);

#endif
