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

/* Completion flags that an entry brings along. */
static const uint64_t entry_flags = FI_MSG | FI_TAGGED | FI_RECV | FI_REMOTE_CQ_DATA;

static void *first_buf(const struct fi_peer_rx_entry *entry)
{
	return entry->count ? entry->iov[0].iov_base : NULL;
}

void wf_srx_done(struct wf_ep *ep, struct fi_peer_rx_entry *entry, uint64_t flags,
	size_t len, uint64_t data, fi_addr_t src)
{
	/* Whoever posted to a shared context did not know this endpoint's CQ. */
	wf_ep_rx_done(ep, entry->context, entry->flags | ep->rx.forced,
		(entry->flags & entry_flags) | flags, len, first_buf(entry), data,
		entry->tag, src);
	wf_srx_free_entry(entry);
}

void wf_srx_fail(struct wf_ep *ep, struct fi_peer_rx_entry *entry, uint64_t flags,
	size_t len, size_t olen, uint64_t data, fi_addr_t src, int err)
{
	struct fi_cq_err_entry cq_entry = {
		.op_context = entry->context,
		.flags = (entry->flags & entry_flags) | flags,
		.len = len,
		.buf = first_buf(entry),
		.data = data,
		.tag = entry->tag,
		.olen = olen,
		.err = err,
		.prov_errno = err,
		.src_addr = src,
	};

	wf_ep_rx_err(ep, &cq_entry);
	wf_srx_free_entry(entry);
}
