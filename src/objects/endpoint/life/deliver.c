/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/endpoint/life/deliver.h"

bool wf_ep_deliver(struct wf_ep *ep, uint64_t type, const struct wf_srx_arrival *msg)
{
	struct wf_delivery to = wf_delivery_of(ep);

	return wf_likely(to.srx != NULL) && wf_ep_deliver_inline(to, type, msg);
}
