/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/lnx/param.h"
#include "providers/lnx/short.h"

ssize_t lnx_send_small(struct wf_ep *wf, enum wf_op_kind kind, const void *buf,
	size_t len, fi_addr_t addr, uint64_t tag)
{
	return lnx_send_short(lnx_ep_of(wf), kind, buf, len, addr, tag);
}

static void set_cq(struct fid_cq *fid, struct lnx_port *port, bool on)
{
	struct wf_cq *cq = fid ? wf_cq_imported(fid) : NULL;

	if (cq)
		wf_cq_set_direct(cq, on ? port->cq : NULL);
}

static void set_cntr(struct fid_cntr *fid, struct lnx_cntr_port *port, bool on)
{
	struct wf_cntr *cntr = fid ? wf_cntr_imported(fid) : NULL;

	if (cntr)
		wf_cntr_set_direct(cntr, on ? port->fid.fid.context : NULL);
}

void lnx_short_direct(struct lnx_ep *ep, bool on)
{
	for (unsigned int i = 0; i < ep->count; i++) {
		struct lnx_rail *rail = &ep->rail[i];

		set_cq(rail->tx_cq, &rail->tx, on && !ep->tracked);
		set_cq(rail->rx_cq, &rail->rx, on);
		for (int k = 0; k < WF_CNTR_COUNT; k++)
			set_cntr(rail->cntr[k], &rail->cntr_port[k], on);
	}
}

/* May this rail be taken without further thought? */
static bool is_plain(const struct lnx_ep *ep, unsigned int index)
{
	return !lnx_params.stats && !(ep->per_msg && !ep->domain->link->local[index]);
}

/* Sources are our indices; the application's ids come last. */
static void set_source(struct lnx_ep *ep, struct fid_cq *fid)
{
	struct wf_cq *cq = fid ? wf_cq_imported(fid) : NULL;

	if (cq)
		cq->direct_av = ep->wf.av;
}

void lnx_short_enabled(struct lnx_ep *ep)
{
	for (unsigned int i = 0; i < ep->count; i++) {
		struct lnx_rail *rail = &ep->rail[i];

		rail->here = wf_ep_here(rail->ep);
		set_source(ep, rail->rx_cq);
		if (rail->here && is_plain(ep, i))
			ep->rail_short[i] = (struct lnx_short){
				.send = rail->here->xfer->send_small,
				.ep = rail->here,
				.limit = rail->here->small_limit,
			};
	}
	lnx_short_direct(ep, true);
}
