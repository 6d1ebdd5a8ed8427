/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_ENDPOINT_TRIGGER_H
#define WF_OBJECTS_ENDPOINT_TRIGGER_H

#include "objects/endpoint/endpoint.h"
#include "objects/trigger/queue.h"

/* Operations that wait for a counter: those with FI_TRIGGER, and deferred work. They
 * are queued in objects/trigger; here they are checked, kept and started.
 * fi_trigger(3). */

/* Drop all work of an endpoint that is being closed. */
void wf_trigger_purge(struct wf_ep *ep);

/* An operation with FI_TRIGGER; checked, and copied if it has to wait. */
ssize_t wf_trigger_post(struct wf_ep *ep, const struct wf_op *op);

/* Withdraw one such operation that has not started; writes its FI_ECANCELED entry. */
bool wf_trigger_cancel(struct wf_ep *ep, const void *context);

/* The control commands of a domain. */
int wf_work_queue(struct wf_domain *domain, struct fi_deferred_work *work);
int wf_work_cancel(struct wf_domain *domain, struct fi_deferred_work *work);
int wf_work_flush(struct wf_domain *domain, struct fid_cntr *cntr);

/*
 * An operation with WF_OP_WORK is over: counts on its completion counter, and replaces
 * @context, the work, by the application's for the CQ entry. True when @own, the
 * endpoint's counter for such operations (may be NULL), has to count as well.
 */
bool wf_work_done(
	void **context, uint64_t op_flags, const struct wf_cntr *own, bool failed);

/* Queue @work, whose threshold, cntr, ep, start and kind are set; its endpoint starts
 * work from now on. On failure it was not put anywhere. */
int wf_trigger_queue(struct wf_domain *domain, struct wf_work *work);

/* Free a triggered operation that will not start. */
void wf_trigger_free_op(struct wf_work *work);

/* The operation never started because of @err (positive): as any failure. */
void wf_trigger_failed(struct wf_ep *ep, const struct wf_op *op, int err);

#endif
