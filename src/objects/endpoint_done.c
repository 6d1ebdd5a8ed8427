/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/endpoint_internal.h"

/* How operations end: counters and completion queues, for every transport. */

/* A CQ that refuses an entry (no memory, or an imported one) cannot be told about. */
static void lost(const struct wf_ep *ep, ssize_t ret)
{
	wf_ep_log(ep, FI_LOG_WARN, FI_LOG_CQ, "a completion is lost: %s\n",
		fi_strerror((int)-ret));
}

void wf_ep_tx_done(struct wf_ep *ep, enum wf_ep_cntr cntr, void *context,
	uint64_t op_flags, uint64_t comp_flags, size_t len)
{
	ssize_t ret;

	if (ep->cntr[cntr])
		wf_cntr_add(ep->cntr[cntr], len);
	if (!(op_flags & FI_COMPLETION))
		return;
	ret = wf_cq_write(
		ep->tx_cq, context, comp_flags, 0, NULL, 0, 0, FI_ADDR_NOTAVAIL);
	if (wf_unlikely(ret < 0))
		lost(ep, ret);
}

void wf_ep_rx_done(struct wf_ep *ep, void *context, uint64_t op_flags,
	uint64_t comp_flags, size_t len, void *buf, uint64_t data, uint64_t tag,
	fi_addr_t src)
{
	ssize_t ret;

	if (ep->cntr[WF_CNTR_RECV])
		wf_cntr_add(ep->cntr[WF_CNTR_RECV], len);
	if (!(op_flags & FI_COMPLETION))
		return;
	ret = wf_cq_write(ep->rx_cq, context, comp_flags, len, buf, data, tag, src);
	if (wf_unlikely(ret < 0))
		lost(ep, ret);
}

void wf_ep_rx_release(struct wf_ep *ep, void *context)
{
	ssize_t ret = wf_cq_write(
		ep->rx_cq, context, FI_MULTI_RECV, 0, NULL, 0, 0, FI_ADDR_NOTAVAIL);

	if (wf_unlikely(ret < 0))
		lost(ep, ret);
}

static void write_err(struct wf_ep *ep, struct wf_cq *cq, struct wf_cntr *cntr,
	const struct fi_cq_err_entry *entry)
{
	ssize_t ret = wf_cq_write_err(cq, entry);

	if (cntr)
		wf_cntr_add_err(cntr);
	if (ret < 0)
		lost(ep, ret);
}

void wf_ep_tx_err(struct wf_ep *ep, enum wf_ep_cntr cntr, void *context,
	uint64_t comp_flags, size_t len, int err)
{
	struct fi_cq_err_entry entry = {
		.op_context = context,
		.flags = comp_flags,
		.len = len,
		.err = err,
		.prov_errno = err,
		.src_addr = FI_ADDR_NOTAVAIL,
	};

	write_err(ep, ep->tx_cq, ep->cntr[cntr], &entry);
}

void wf_ep_rx_err(struct wf_ep *ep, const struct fi_cq_err_entry *entry)
{
	write_err(ep, ep->rx_cq, ep->cntr[WF_CNTR_RECV], entry);
}
