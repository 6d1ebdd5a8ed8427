/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/endpoint/scalable/shared.h"

/* Contexts that endpoints share (fi_stx_context(3), fi_srx_context(3)) hold options and
 * flags in a struct wf_ep. They have no transport: no operation starts there. */
static const struct wf_xfer_ops no_transport = {
	.lock_kind = WF_LOCK_MUTEX,
};

int wf_ep_init_shared(struct wf_ep *ep, struct wf_domain *domain, struct fi_info *info,
	size_t fclass, struct fi_ops *fid_ops, void *context)
{
	int ret = wf_ep_init(ep, domain, info, &no_transport, context);

	fi_freeinfo(info);
	if (ret)
		return ret;
	ep->fid.fid.fclass = fclass;
	ep->fid.fid.ops = fid_ops;
	return 0;
}
