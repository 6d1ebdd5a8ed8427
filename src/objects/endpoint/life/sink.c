/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/endpoint/life/srx_attach.h"
#include "objects/endpoint/log.h"

/* An endpoint as seen by its receive context: it reports results and makes progress. */

static void sink_fail(struct wf_srx_sink *sink, uint64_t op_flags,
	const struct fi_cq_err_entry *entry)
{
	wf_ep_rx_err(wf_ep_of_sink(sink), op_flags, entry);
}

static ssize_t sink_answer(struct wf_srx_sink *sink, uint64_t op_flags,
	const struct fi_cq_tagged_entry *entry, fi_addr_t src)
{
	struct wf_ep *ep = wf_ep_of_sink(sink);

	if (ep->av && src != FI_ADDR_NOTAVAIL)
		src = wf_av_report(ep->av, src);
	return wf_ep_rx_answer(ep, op_flags, entry, src);
}

static ssize_t sink_answer_err(struct wf_srx_sink *sink, uint64_t op_flags,
	const struct fi_cq_err_entry *entry)
{
	return wf_ep_rx_answer_err(wf_ep_of_sink(sink), op_flags, entry);
}

static void sink_release(struct wf_srx_sink *sink, uint64_t op_flags, void *context)
{
	wf_ep_rx_release(wf_ep_of_sink(sink), op_flags, context);
}

static void sink_progress(struct wf_srx_sink *sink)
{
	struct wf_ep *ep = wf_ep_of_sink(sink);

	if (!ep->xfer->progress || !wf_trylock(&ep->lock))
		return;
	ep->xfer->progress(ep);
	wf_unlock(&ep->lock);
}

const struct wf_srx_sink_ops wf_ep_sink_ops = {
	.fail = sink_fail,
	.answer = sink_answer,
	.answer_err = sink_answer_err,
	.release = sink_release,
	.progress = sink_progress,
};

void wf_ep_srx_export(struct wf_srx *srx, struct wf_srx_port *port, struct wf_ep *ep,
	struct fi_ops_srx_peer *peer_ops)
{
	wf_srx_export(srx, port,
		&(struct wf_srx_user){
			.sink = &ep->srx_sink,
			.peer_ops = peer_ops,
			.forced = ep->rx_selective ? 0 : FI_COMPLETION,
			.addr_mask = ep->av ? ep->av->index_mask : 0,
		});
}

struct wf_srx_attr wf_ep_srx_attr(struct wf_ep *ep)
{
	return (struct wf_srx_attr){
		.prov = ep->domain->prov->fi,
		.size = ep->info->rx_attr->size,
		.iov_limit = ep->rx_iov_limit,
		/* A connected endpoint has one peer, so sources do not matter. */
		.caps = ep->type == FI_EP_MSG ? 0 : ep->caps,
		.min_multi_recv = &ep->min_multi_recv,
	};
}

ssize_t wf_ep_srx_start(struct wf_ep *ep, struct wf_op *op)
{
	return wf_srx_post(ep->srx_queue, op);
}

ssize_t wf_ep_srx_refuse(struct wf_ep *ep, struct wf_op *op)
{
	(void)op;
	wf_ep_log(ep, FI_LOG_WARN, FI_LOG_EP_DATA,
		"receive refused: they are posted to the shared receive context that "
		"is bound to the endpoint\n");
	return -FI_ENOSYS;
}

void wf_ep_srx_flush(struct wf_ep *ep, int err)
{
	if (!ep->srx_ctx && ep->srx_queue)
		wf_srx_flush(ep->srx_queue, err);
}
