/* SPDX-License-Identifier: BSD-2-Clause */

#include "providers/verbs/cm/cm.h"
#include "providers/verbs/data/data.h"
#include "providers/verbs/device/device.h"
#include "providers/verbs/ud/ud.h"

/* Opening, enabling and closing endpoints. */

static int verbs_endpoint_enable(struct wf_ep *wf)
{
	struct verbs_ep *ep = verbs_ep_of(wf);

	int err = ep->qp ? 0 : verbs_qp_create(ep);

	return err || !ep->ud ? err : verbs_ud_enable(ep);
}

/* The sources of the CQs make progress; this is for threads that wait for one
 * endpoint. */
static void endpoint_progress(struct wf_ep *wf)
{
	struct wf_progress *tx = wf->tx_cq ? wf->tx_cq->source : NULL;
	struct wf_progress *rx = wf->rx_cq ? wf->rx_cq->source : NULL;

	if (tx)
		tx->run(tx);
	if (rx && rx != tx)
		rx->run(rx);
}

static void verbs_endpoint_destroy(struct wf_ep *wf)
{
	struct verbs_ep *ep = verbs_ep_of(wf);

	verbs_cm_free(ep);
	verbs_qp_destroy(ep);
	verbs_ud_free(ep);
	wf_ep_free(wf);
}

static int endpoint_setname(struct wf_ep *wf, const void *addr, size_t len)
{
	struct verbs_ep *ep = verbs_ep_of(wf);

	return ep->cm ? verbs_cm_setname(ep, addr, len)
		      : verbs_ud_setname(ep, addr, len);
}

static int endpoint_getname(struct wf_ep *wf, void *addr, size_t *len)
{
	struct verbs_ep *ep = verbs_ep_of(wf);

	return ep->cm ? verbs_cm_getname(ep, addr, len)
		      : verbs_ud_getname(ep, addr, len);
}

static const struct wf_xfer_ops verbs_xfer_ops = {
	.lock_kind = WF_LOCK_SPIN,
	.start = verbs_start,
	.progress = endpoint_progress,
	.run_by_cqs = true,
	.enable = verbs_endpoint_enable,
	.tables_finished = verbs_fast_finish,
	.flushed = verbs_flushed,
	.destroy = verbs_endpoint_destroy,
	.setname = endpoint_setname,
	.getname = endpoint_getname,
	.getopt = verbs_cm_getopt,
	.rx_left = verbs_rx_left,
	.tx_left = verbs_tx_left,
	.atomic_valid = verbs_atomic_valid,
};

int verbs_endpoint(struct wf_domain *domain, struct fi_info *info,
	struct fid_ep **ret_ep, uint64_t flags, void *context)
{
	struct verbs_ep *ep;
	struct wf_ep *wf;
	int err = wf_ep_new(sizeof(*ep), domain, info, &verbs_xfer_ops, context, &wf);

	(void)flags;
	if (err)
		return err;
	ep = verbs_ep_of(wf);
	ep->domain = verbs_domain_of(domain);
	err = ep->ep.type == FI_EP_MSG ? verbs_cm_new(ep, info->handle)
				       : verbs_ud_new(ep, info);
	if (err) {
		wf_ep_free(wf);
		return err;
	}
	*ret_ep = &ep->ep.fid;
	return 0;
}
