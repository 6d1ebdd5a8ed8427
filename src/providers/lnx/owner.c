/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/absent/absent.h"
#include "objects/endpoint/build.h"
#include "providers/lnx/lnx.h"

/*
 * What members write: completions. Sources come as indices of our AV and leave as what
 * the application calls them. Members count by themselves, into the application's
 * counters.
 */

static struct lnx_port *port_of(struct fid_peer_cq *fid)
{
	return wf_container_of(fid, struct lnx_port, fid);
}

static fi_addr_t source(const struct lnx_port *port, fi_addr_t src)
{
	if (src == FI_ADDR_NOTAVAIL || !port->sources)
		return FI_ADDR_NOTAVAIL;
	return wf_av_report(port->ep->wf.av, src);
}

/* Is it about an operation that we keep an eye on? */
static inline struct lnx_op *find(const struct lnx_port *port, const void *context)
{
	struct lnx_op *op = lnx_op_find(port->ep, context);

	if (wf_unlikely(!op && port->ep->counts))
		lnx_count_held();
	return op;
}

static ssize_t rx_write(struct fid_peer_cq *fid, void *context, uint64_t flags,
	size_t len, void *buf, uint64_t data, uint64_t tag, fi_addr_t src)
{
	struct lnx_port *port = port_of(fid);
	struct lnx_op *found = find(port, context), op;

	if (wf_unlikely(found != NULL)) {
		op = *found;
		lnx_op_free(port->ep, found);
		lnx_work_done(port->ep, &op, false);
		context = op.context;
		if (!(op.flags & FI_COMPLETION))
			return 0;
	}
	return wf_cq_write(
		port->cq, context, flags, len, buf, data, tag, source(port, src));
}

static ssize_t tx_write(struct fid_peer_cq *fid, void *context, uint64_t flags,
	size_t len, void *buf, uint64_t data, uint64_t tag, fi_addr_t src)
{
	struct lnx_port *port = port_of(fid);
	struct lnx_op *found = find(port, context), op;

	if (wf_likely(!port->ep->tracked && !found))
		return wf_cq_write(port->cq, context, flags, len, buf, data, tag, src);
	if (!found)
		found = context;
	op = *found;
	lnx_op_free(port->ep, found);
	lnx_work_done(port->ep, &op, false);
	if (!(op.flags & FI_COMPLETION))
		return 0;
	return wf_cq_write(port->cq, op.context, flags, len, buf, data, tag, src);
}

static ssize_t rx_writeerr(
	struct fid_peer_cq *fid, const struct fi_cq_err_entry *member_entry)
{
	struct fi_cq_err_entry entry = *member_entry;
	struct lnx_port *port = port_of(fid);
	struct lnx_op *found = find(port, entry.op_context), op;

	if (found) {
		op = *found;
		lnx_op_free(port->ep, found);
		lnx_work_done(port->ep, &op, true);
		entry.op_context = op.context;
	}
	entry.src_addr = source(port, entry.src_addr);
	return wf_cq_write_err(port->cq, &entry);
}

static ssize_t tx_writeerr(
	struct fid_peer_cq *fid, const struct fi_cq_err_entry *member_entry)
{
	struct fi_cq_err_entry entry = *member_entry;
	struct lnx_port *port = port_of(fid);
	struct lnx_op *found = find(port, entry.op_context), op;

	if (port->ep->tracked && !found)
		found = entry.op_context;
	if (found) {
		op = *found;
		lnx_op_free(port->ep, found);
		lnx_work_done(port->ep, &op, true);
		entry.op_context = op.context;
		if (port->ep->tracked && !op.cancelled)
			lnx_rail_failed(port->ep, op.peer, port->rail, entry.err);
	}
	return wf_cq_write_err(port->cq, &entry);
}

static struct fi_ops_cq_owner tx_ops = {
	.size = sizeof(tx_ops),
	.write = tx_write,
	.writeerr = tx_writeerr,
};

static struct fi_ops_cq_owner rx_ops = {
	.size = sizeof(rx_ops),
	.write = rx_write,
	.writeerr = rx_writeerr,
};

static void init(struct lnx_port *port, struct lnx_ep *ep, unsigned int rail,
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
	init(&ep->rail[rail].tx, ep, rail, ep->wf.tx_cq, &tx_ops);
	init(&ep->rail[rail].rx, ep, rail, ep->wf.rx_cq, &rx_ops);
}
