/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/lnx/lnx.h"
#include "objects/endpoint/trigger.h"

/*
 * Members count into the application's counters by themselves. What they cannot know is
 * that an operation is deferred work, which counts at its completion counter and at
 * that of the endpoint only if it was asked to. A member counts a success right before
 * it writes the completion, and a failure right after, in one thread: so while deferred
 * work is under way a success waits until the completion tells, or anything else comes
 * from the member, or its call ends.
 *
 * Counters of bytes are told the bytes by members of ours only, and pass by here.
 */

static _Thread_local struct lnx_cntr_port *held;
static _Thread_local bool skip_failure;

void lnx_count_held(void)
{
	struct lnx_cntr_port *port = held;

	held = NULL;
	if (port)
		wf_cntr_add_n(port->fid.fid.context, 1);
}

static struct lnx_cntr_port *port_of(struct fid_peer_cntr *fid)
{
	return wf_container_of(fid, struct lnx_cntr_port, fid);
}

static void inc(struct fid_peer_cntr *fid)
{
	struct lnx_cntr_port *port = port_of(fid);

	lnx_count_held();
	if (wf_likely(!atomic_load_explicit(
		    &port->ep->listed_count, memory_order_relaxed)))
		wf_cntr_add_n(fid->fid.context, 1);
	else
		held = port;
}

static void incerr(struct fid_peer_cntr *fid)
{
	lnx_count_held();
	if (!skip_failure)
		wf_cntr_add_err(fid->fid.context);
	skip_failure = false;
}

static struct fi_ops_cntr_owner ops = {
	.size = sizeof(ops),
	.inc = inc,
	.incerr = incerr,
};

void lnx_cntr_export(
	struct lnx_ep *ep, struct wf_cntr *cntr, struct lnx_cntr_port *port)
{
	wf_cntr_export(cntr, &port->fid);
	port->ep = ep;
	if (cntr->events == FI_CNTR_EVENTS_COMP)
		port->fid.owner_ops = &ops;
}

void lnx_work_done(struct lnx_ep *ep, struct lnx_op *op, bool failed)
{
	struct wf_cntr *own = ep->wf.cntr[wf_op_reports[op->kind].cntr];
	bool counts;

	if (!(op->flags & WF_OP_WORK))
		return;
	counts = wf_work_done(&op->context, op->flags, own, failed);
	if (!own || own->events != FI_CNTR_EVENTS_COMP)
		return;
	if (failed)
		skip_failure = !counts;
	else if (!counts)
		held = NULL;
	lnx_count_held();
}
