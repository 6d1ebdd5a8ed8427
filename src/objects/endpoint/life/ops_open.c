/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "objects/endpoint/life/life.h"
#include "sys/peer_counts.h"

/* Tables of other calls of an endpoint, by name: fi_open_ops in fi_fabric(3). */

static void ops_open_get_peer_counts(struct fid *fid, struct wf_peer_counts *ret)
{
	struct wf_ep *ep = wf_container_of(fid, struct wf_ep, fid.fid);

	ep->xfer->peer_counts(ep, ret);
}

static struct wf_peer_counts_ops peer_counts_ops = {
	.size = sizeof(peer_counts_ops),
	.get = ops_open_get_peer_counts,
};

int wf_ep_ops_open(
	struct fid *fid, const char *name, uint64_t flags, void **ops, void *context)
{
	struct wf_ep *ep = wf_container_of(fid, struct wf_ep, fid.fid);

	(void)flags;
	(void)context;
	if (!name || !ops || !ep->xfer->peer_counts || strcmp(name, WF_PEER_COUNTS))
		return -FI_ENOSYS;
	*ops = &peer_counts_ops;
	return 0;
}
