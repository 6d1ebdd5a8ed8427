/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/endpoint/life/async.h"
#include "objects/endpoint/calls/transfer.h"
#include "objects/lower/info.h"
#include "providers/lnx/deferred.h"
#include "providers/lnx/endpoint.h"
#include "providers/lnx/fast_path.h"
#include "providers/lnx/sources.h"

/*
 * A member's endpoint (objects/lower/endpoint.h). It is opened with the attributes of
 * the endpoint of lnx, and imports the objects that the application bound to the
 * latter.
 *
 * A transmission of a member completes only if lnx asks for it: the member's CQ for
 * transmissions is a queue of its own, bound with FI_SELECTIVE_COMPLETION. Both queues
 * of a member stay empty, because their entries are written to the application's CQ.
 */

/* The member's capabilities that the application uses. lnx itself does triggers and
 * multi-receive buffers. */
static uint64_t rail_member_caps(uint64_t ours, uint64_t members)
{
	const uint64_t own = FI_TRIGGER | FI_MULTI_RECV | FI_COLLECTIVE;
	const uint64_t always =
		FI_PEER | FI_AV_USER_ID | FI_LOCAL_COMM | FI_REMOTE_COMM;

	/* Collectives are made of tagged messages. */
	if (ours & FI_COLLECTIVE)
		ours |= FI_TAGGED | FI_SEND | FI_RECV;
	return ((ours & ~own) | always) & members;
}

int lnx_rail_open(
	struct lnx_ep *ep, unsigned int index, const struct lnx_name_link *source)
{
	const struct wf_lower_domain *domain = &ep->domain->member[index];
	struct lnx_rail *rail = &ep->rail[index];
	struct fi_info *info = fi_dupinfo(domain->info);
	int ret;

	if (!info || (source && !wf_lower_info_set_source(info, source->addr,
					source->len, source->format))) {
		fi_freeinfo(info);
		return -FI_ENOMEM;
	}
	wf_lower_info_fit(info, ep->wf.info);
	info->caps = rail_member_caps(ep->wf.info->caps, info->caps);
	/* Errors of injected operations report the context of the endpoint of lnx. */
	ret = wf_lower_ep_open(&rail->below, domain, info, ep->wf.fid.fid.context);
	rail->recorded = ep->tracked || !rail->below.builtin;
	if (!ret && rail->below.builtin)
		wf_ep_async_below(&ep->wf, rail->below.builtin);
	return ret;
}

static int rail_import_cqs(struct lnx_ep *ep, unsigned int index)
{
	struct lnx_rail *rail = &ep->rail[index];
	uint64_t rx_flags = FI_RECV;
	int ret = 0;

	/* A receive that is posted to a shared context has no information on how the CQ
	 * is bound to the endpoint of lnx. */
	if (ep->wf.rx_selective)
		rx_flags |= FI_SELECTIVE_COMPLETION;
	if (!rail->below.cq)
		lnx_ports_init(ep, index);
	if (ep->wf.tx_cq)
		ret = wf_lower_ep_import_cq(&rail->below, &rail->tx.fid,
			rail->tx.cq->ring.format, FI_TRANSMIT | FI_SELECTIVE_COMPLETION,
			ep->may_sleep);
	if (!ret && ep->wf.rx_cq)
		ret = wf_lower_ep_import_cq(&rail->below, &rail->rx.fid,
			rail->rx.cq->ring.format, rx_flags, ep->may_sleep);
	return ret;
}

/* Does the member count the event? completion.c counts transmissions over a recorded
 * rail. */
static bool rail_is_counted_by(const struct lnx_rail *rail, enum wf_ep_cntr event)
{
	return !rail->recorded || event == WF_CNTR_RECV ||
	       event == WF_CNTR_REMOTE_READ || event == WF_CNTR_REMOTE_WRITE;
}

static int rail_import_cntr(
	struct lnx_ep *ep, struct lnx_rail *rail, enum wf_ep_cntr event)
{
	struct wf_cntr *cntr = ep->wf.cntr[event];
	bool deferred = !rail->below.builtin && event == WF_CNTR_RECV;

	if (!cntr || !rail_is_counted_by(rail, event))
		return 0;
	return wf_lower_ep_import_cntr(
		&rail->below, event, cntr, deferred ? &lnx_deferred_cntr_ops : NULL);
}

int lnx_rail_bind_cntrs(struct lnx_ep *ep, unsigned int index)
{
	int ret = 0;

	for (int i = 0; i < WF_CNTR_COUNT && !ret; i++)
		ret = rail_import_cntr(ep, &ep->rail[index], (enum wf_ep_cntr)i);
	lnx_fast_path_link(ep, &ep->rail[index]);
	return ret;
}

static int rail_import_srx(struct lnx_ep *ep, struct lnx_rail *rail)
{
	struct wf_lower_ep *below = &rail->below;
	int ret;

	if (below->builtin)
		return wf_lower_ep_import_srx(below, &ep->wf, NULL);
	if (below->srx)
		return 0;
	lnx_sources_export(rail);
	ret = wf_lower_ep_import_srx(below, &ep->wf, &rail->srx_ops);
	if (!ret && below->srx)
		lnx_deferred_srx_opened(rail);
	return ret;
}

int lnx_rail_enable(struct lnx_ep *ep, unsigned int index)
{
	struct lnx_rail *rail = &ep->rail[index];
	int ret;

	if (rail->below.enabled)
		return 0;
	if (rail->below.builtin)
		wf_transfer_lend(&ep->wf, rail->below.builtin);
	ret = wf_lower_ep_set_limits(&rail->below, &ep->wf);
	if (!ret)
		ret = wf_lower_ep_bind(&rail->below, &ep->av->member[index]->fid, 0);
	if (!ret)
		ret = rail_import_cqs(ep, index);
	if (!ret)
		ret = lnx_rail_bind_cntrs(ep, index);
	if (!ret)
		ret = rail_import_srx(ep, rail);
	return ret ? ret : wf_lower_ep_enable(&rail->below);
}
