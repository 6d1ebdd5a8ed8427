/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/lnx/lnx.h"

/*
 * Messages that wait when the address of their sender is removed are not from whoever
 * gets the same index next. A member of this library looks after that by itself; one
 * that knows the public operations only cannot, because they have nothing for it, and
 * the owner knows what was removed. Removing and inserting hold the control lock, so
 * there is no message of the next one yet.
 */

static fi_addr_t unknown(struct fi_peer_rx_entry *entry)
{
	(void)entry;
	return FI_ADDR_UNSPEC;
}

static bool is_at(fi_addr_t addr, const void *arg)
{
	return addr == *(const fi_addr_t *)arg;
}

static bool needs_us(const struct lnx_rail *rail)
{
	return rail->srx && !rail->here;
}

void lnx_forget_sources(struct lnx_av *av, fi_addr_t index)
{
	wf_list_foreach(link, &av->eps)
	{
		struct lnx_ep *ep = wf_list_entry(link, struct lnx_ep, av_link);

		for (unsigned int i = 0; i < ep->count; i++)
			if (needs_us(&ep->rail[i]))
				wf_srx_ask_again(&ep->rail[i].srx_port.fid, unknown,
					is_at, &index);
	}
}

void lnx_sources_enabled(struct lnx_ep *ep)
{
	bool any = false;

	for (unsigned int i = 0; i < ep->count; i++)
		any |= needs_us(&ep->rail[i]);
	if (!any)
		return;
	(void)pthread_mutex_lock(&ep->domain->control);
	wf_list_push(&ep->av->eps, &ep->av_link);
	(void)pthread_mutex_unlock(&ep->domain->control);
}

void lnx_sources_done(struct lnx_ep *ep)
{
	(void)pthread_mutex_lock(&ep->domain->control);
	wf_list_remove(&ep->av_link);
	(void)pthread_mutex_unlock(&ep->domain->control);
}
