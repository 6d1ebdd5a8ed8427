/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/absent/absent.h"
#include "objects/endpoint/calls/build.h"
#include "providers/lnx/deferred.h"
#include "providers/lnx/failover.h"
#include "providers/lnx/record.h"
#include "providers/lnx/stripe/stripe.h"

/*
 * Completions that members write to peer CQs, if their queues are not linked with the
 * application's (wf_cq_link). Members report sources as indices in the AV of lnx; the
 * application gets the result of wf_av_report.
 *
 * A transmission over a recorded rail is counted and completed by completion_tx_write
 * and completion_tx_writeerr, which call wf_ep_tx_done and wf_ep_tx_fail like any
 * transport.
 */

static struct lnx_port *completion_port_of(struct fid_peer_cq *fid)
{
	return wf_container_of(fid, struct lnx_port, fid);
}

static struct lnx_rail *completion_rail_of(struct lnx_port *port)
{
	return &port->ep->rail[port->rail];
}

static fi_addr_t completion_source(const struct lnx_port *port, fi_addr_t src)
{
	if (src == FI_ADDR_NOTAVAIL || !port->sources)
		return FI_ADDR_NOTAVAIL;
	return wf_av_report(port->ep->wf.av, src);
}

static ssize_t completion_rx_write(struct fid_peer_cq *fid, void *context,
	uint64_t flags, size_t len, void *buf, uint64_t data, uint64_t tag,
	fi_addr_t src)
{
	struct lnx_port *port = completion_port_of(fid);
	bool is_transfer;

	if (!lnx_deferred_done(completion_rail_of(port), &context, false, &is_transfer))
		return 0;
	if (wf_likely(!is_transfer))
		return wf_cq_write(port->cq, context, flags, len, buf, data, tag,
			completion_source(port, src));
	/* The peer gets indices, also where the application has set ids. */
	wf_ep_rx_done(&port->ep->wf, context, FI_PEER_TRANSFER | FI_COMPLETION, flags,
		len, buf, data, tag, port->sources ? src : FI_ADDR_NOTAVAIL);
	return 0;
}

static ssize_t completion_rx_writeerr(
	struct fid_peer_cq *fid, const struct fi_cq_err_entry *member_entry)
{
	struct fi_cq_err_entry entry = *member_entry;
	struct lnx_port *port = completion_port_of(fid);
	bool is_transfer;

	/* A failure is reported even if the deferred receive asked for no
	 * completion. */
	(void)lnx_deferred_done(
		completion_rail_of(port), &entry.op_context, true, &is_transfer);
	entry.src_addr = completion_source(port, entry.src_addr);
	if (wf_likely(!is_transfer))
		return wf_cq_write_err(port->cq, &entry);
	wf_ep_rx_err(&port->ep->wf, FI_PEER_TRANSFER, &entry);
	return 0;
}

static ssize_t completion_tx_write(struct fid_peer_cq *fid, void *context,
	uint64_t flags, size_t len, void *buf, uint64_t data, uint64_t tag,
	fi_addr_t src)
{
	struct lnx_port *port = completion_port_of(fid);
	const struct wf_op_report *report;
	struct lnx_op op;

	if (!completion_rail_of(port)->recorded)
		return wf_cq_write(port->cq, context, flags, len, buf, data, tag, src);
	op = *(struct lnx_op *)context;
	lnx_op_free(port->ep, context);
	if (wf_unlikely(op.head_of != NULL)) {
		lnx_stripe_head_done(port->ep, op.head_of, 0);
		return 0;
	}
	report = &wf_op_reports[op.kind];
	wf_ep_tx_done(&port->ep->wf, report->cntr, op.context, op.flags,
		report->comp_flags, op.len);
	return 0;
}

static ssize_t completion_tx_writeerr(
	struct fid_peer_cq *fid, const struct fi_cq_err_entry *member_entry)
{
	struct fi_cq_err_entry entry = *member_entry;
	struct lnx_port *port = completion_port_of(fid);
	struct lnx_op *rec, op;

	if (!completion_rail_of(port)->recorded)
		return wf_cq_write_err(port->cq, &entry);
	rec = lnx_op_find(port->ep, entry.op_context, port->rail);
	/* The error belongs to no operation, so it is not counted. */
	if (!rec)
		return wf_cq_write_err(port->cq, &entry);
	op = *rec;
	lnx_op_free(port->ep, rec);
	entry.op_context = op.context;
	if (!op.cancelled)
		lnx_rail_failed(port->ep, op.peer, port->rail, entry.err);
	if (wf_unlikely(op.head_of != NULL)) {
		lnx_stripe_head_done(port->ep, op.head_of, entry.err);
		return 0;
	}
	wf_ep_tx_fail(&port->ep->wf, wf_op_reports[op.kind].cntr, op.flags, &entry);
	return 0;
}

static struct fi_ops_cq_owner tx_ops = {
	.size = sizeof(tx_ops),
	.write = completion_tx_write,
	.writeerr = completion_tx_writeerr,
};

static struct fi_ops_cq_owner rx_ops = {
	.size = sizeof(rx_ops),
	.write = completion_rx_write,
	.writeerr = completion_rx_writeerr,
};

static void completion_init(struct lnx_port *port, struct lnx_ep *ep, unsigned int rail,
	struct wf_cq *cq, struct fi_ops_cq_owner *ops)
{
	*port = (struct lnx_port){
		.fid = {
			.fid.fclass = FI_CLASS_PEER_CQ,
			.fid.context = cq,
			.fid.ops = &wf_absent_fid,
			.owner_ops = ops,
		},
		.ep = ep,
		.cq = cq,
		.rail = rail,
		.sources = ep->wf.info->caps & FI_SOURCE,
	};
}

void lnx_ports_init(struct lnx_ep *ep, unsigned int rail)
{
	completion_init(&ep->rail[rail].tx, ep, rail, ep->wf.tx_cq, &tx_ops);
	completion_init(&ep->rail[rail].rx, ep, rail, ep->wf.rx_cq, &rx_ops);
}
