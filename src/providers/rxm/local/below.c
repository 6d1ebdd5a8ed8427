/* SPDX-License-Identifier: BSD-2-Clause */
#include <strings.h>

#include "objects/local/mode.h"
#include "providers/rxm/local/local.h"

bool rxm_local_possible(const struct rxm_domain *domain)
{
	return domain->own && !domain->local_mr &&
	       !strcasecmp(domain->below.info->fabric_attr->prov_name, "tcp");
}

static struct rxm_ep *rxm_below_ep_of_item(struct wf_progress *item)
{
	return rxm_ep_of(wf_container_of(item, struct wf_ep, progress));
}

static void rxm_below_run(struct wf_progress *item)
{
	wf_local_run(rxm_below_ep_of_item(item)->below);
}

/* wf_progress.moved: partial progress calls do not count what they find. */
static bool rxm_below_moved(struct wf_progress *item)
{
	return wf_local_moved(rxm_below_ep_of_item(item)->below);
}

void rxm_local_open(struct rxm_ep *ep)
{
	struct rxm_domain *domain = ep->domain;

	if (ep->below || wf_local_mode == WF_LOCAL_OFF || !rxm_local_possible(domain) ||
		wf_local_open(
			&ep->ep, &domain->local, ep->memory_forbidden, &ep->below))
		return;
	/* Sleeping threads wait for both endpoints. */
	if (ep->below->sleeps && wf_fds_add(&ep->fds, wf_local_fd(ep->below))) {
		wf_local_close(&ep->below);
		return;
	}
	wf_ep_set_run(&ep->ep, rxm_below_run);
	wf_ep_set_moved(&ep->ep, rxm_below_moved);
}

/* The endpoint ends, and with it the set of descriptors that has that of @ep->below. */
void rxm_local_close(struct rxm_ep *ep)
{
	wf_local_close(&ep->below);
}
