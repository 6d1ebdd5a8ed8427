/* SPDX-License-Identifier: BSD-2-Clause */
#include <rdma/providers/fi_prov.h>

#include "objects/endpoint/life/cleanup.h"

/*
 * FI_AV_REMOVE_CLEANUP (fi_av(3)): removing an address from the AV also ends the
 * connection to it that a connectionless endpoint keeps. Off by default, because the
 * peer may still use the connection.
 */

struct wf_ep_cleanup {
	struct wf_av_watch watch;
	struct wf_ep *ep;
};

static void cleanup_nothing_to_do(struct wf_av_watch *watch)
{
	(void)watch;
}

static void cleanup_removed(
	struct wf_av_watch *watch, const uint64_t *index, size_t count)
{
	struct wf_ep *ep = wf_container_of(watch, struct wf_ep_cleanup, watch)->ep;

	wf_lock(&ep->lock);
	for (size_t i = 0; i < count; i++)
		ep->xfer->addr_removed(ep, index[i]);
	wf_unlock(&ep->lock);
}

static bool cleanup_is_wanted(void)
{
	int wanted = 0;

	return !fi_param_get_bool(NULL, "av_remove_cleanup", &wanted) && wanted;
}

int wf_ep_cleanup_start(struct wf_ep *ep)
{
	struct wf_ep_cleanup *cleanup;

	if (!ep->av || !ep->xfer->addr_removed || ep->cleanup || !cleanup_is_wanted())
		return 0;
	cleanup = calloc(1, sizeof(*cleanup));
	if (!cleanup)
		return -FI_ENOMEM;
	cleanup->watch.inserted = cleanup_nothing_to_do;
	cleanup->watch.removed = cleanup_removed;
	cleanup->ep = ep;
	/* First: later watches make the endpoint forget which connection an index leads
	 * to. */
	wf_av_watch_add_first(ep->av, &cleanup->watch);
	ep->cleanup = cleanup;
	return 0;
}

void wf_ep_cleanup_stop(struct wf_ep *ep)
{
	if (!ep->cleanup)
		return;
	wf_av_watch_del(ep->av, &ep->cleanup->watch);
	wf_av_watch_wait(&ep->cleanup->watch);
	free(ep->cleanup);
	ep->cleanup = NULL;
}
