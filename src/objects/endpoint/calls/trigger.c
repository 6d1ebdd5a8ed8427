/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/endpoint/calls/trigger.h"
#include "objects/endpoint/life/progress.h"

/* Functions for triggered operations (triggered.c) and for deferred work
 * (deferred.c). */

int wf_trigger_queue(struct wf_domain *domain, struct wf_work *work)
{
	int ret = work->ep ? wf_ep_progress_triggers(work->ep) : 0;

	return ret ? ret : wf_trigger_wait(domain, work);
}

static bool trigger_is_of_ep(const struct wf_work *work, const void *ep)
{
	return work->ep == ep;
}

void wf_trigger_purge(struct wf_ep *ep)
{
	struct wf_list taken;

	if (!atomic_load_explicit(&ep->triggers, memory_order_acquire))
		return;
	wf_trigger_take(&ep->domain->triggers, trigger_is_of_ep, ep, &taken);
	wf_list_foreach_safe(link, &taken)
	{
		if (!wf_work_of(link)->deferred)
			wf_trigger_free_op(wf_work_of(link));
	}
}

void wf_trigger_failed(struct wf_ep *ep, const struct wf_op *op, int err)
{
	const struct wf_op_report *report = &wf_op_reports[op->kind];
	struct fi_cq_err_entry entry = {
		.op_context = op->context,
		.flags = report->comp_flags,
		.tag = op->kind == WF_OP_TRECV ? op->tag : 0,
		.err = err,
		.prov_errno = err,
		.src_addr = FI_ADDR_NOTAVAIL,
	};

	if (report->cntr == WF_CNTR_RECV)
		wf_ep_rx_err(ep, op->flags, &entry);
	else
		wf_ep_tx_err(ep, report->cntr, op->context, op->flags,
			report->comp_flags, 0, err);
}
