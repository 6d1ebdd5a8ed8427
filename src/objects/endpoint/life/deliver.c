/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/endpoint/life/deliver.h"

bool wf_ep_deliver(struct wf_ep *ep, uint64_t type, const struct wf_srx_arrival *msg)
{
	return wf_ep_deliver_inline(ep, type, msg);
}
