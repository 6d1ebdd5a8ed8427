/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_ENDPOINT_LIFE_LIFE_H
#define WF_OBJECTS_ENDPOINT_LIFE_LIFE_H

#include "objects/endpoint/caps.h"
#include "objects/endpoint/log.h"

/* Steps in the life of an endpoint that contexts and aliases take, too. */

/* Close one handle, the endpoint or an alias; the last one frees the endpoint.
 * -FI_EBUSY: contexts or groups are open. Takes ep->control. */
int wf_ep_put(struct wf_ep *ep);

/* Last step of fi_enable: fill the tables of data transfer calls by the capabilities of
 * @ep. ep->control is held. */
void wf_ep_finish_tables(struct wf_ep *ep);

/* fi_open_ops of an endpoint of this library that is no alias. -FI_ENOSYS: it has no
 * table of that name. Any thread, no lock. */
int wf_ep_ops_open(
	struct fid *fid, const char *name, uint64_t flags, void **ops, void *context);

/* As WF_FID_OPS, with that call. */
#define WF_EP_FID_OPS(close_, bind_, control_)                                         \
	{                                                                              \
		.size = sizeof(struct fi_ops), .close = (close_), .bind = (bind_),     \
		.control = (control_), .ops_open = wf_ep_ops_open,                     \
		.tostr = wf_absent_tostr, .ops_set = wf_absent_ops_set,                \
	}

/* forked.c: from now on, have forked children refuse to use @ep. 0 or a negative
 * errno. */
int wf_ep_watch_forks(struct wf_ep *ep);

#endif
