/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_ENDPOINT_CALLS_TRIGGER_H
#define WF_OBJECTS_ENDPOINT_CALLS_TRIGGER_H

#include "objects/endpoint/endpoint.h"
#include "objects/trigger/queue.h"

/* Operations that wait for a counter: operations with FI_TRIGGER, and deferred work
 * (fi_trigger(3)). objects/trigger queues them; the functions here check, copy and
 * start them. */

/* Drop all queued operations of @ep, which is being closed. */
void wf_trigger_purge(struct wf_ep *ep);

/* Start @op, which has FI_TRIGGER and is checked, or queue a copy until its counter
 * reaches the threshold. 0 or a negative FI_E code. */
ssize_t wf_trigger_post(struct wf_ep *ep, const struct wf_op *op);

/* fi_cancel(3): withdraw one triggered operation with @context that has not started,
 * and write its FI_ECANCELED entry. False: there is none. */
bool wf_trigger_cancel(struct wf_ep *ep, const void *context);

/* FI_QUEUE_WORK, FI_CANCEL_WORK and FI_FLUSH_WORK of fi_control on a domain. 0 or a
 * negative FI_E code. */
int wf_work_queue(struct wf_domain *domain, struct fi_deferred_work *work);
int wf_work_cancel(struct wf_domain *domain, struct fi_deferred_work *work);
int wf_work_flush(struct wf_domain *domain, struct fid_cntr *cntr);

/*
 * An operation with WF_OP_WORK has ended: count it on its completion counter, and
 * replace *@context, the struct fi_deferred_work, with the application's context for
 * the CQ entry. True: @own, the endpoint's counter for such operations (may be NULL),
 * must count as well.
 */
bool wf_work_done(
	void **context, uint64_t op_flags, const struct wf_cntr *own, bool failed);

/* Queue @work, whose threshold, cntr, ep, start and deferred are set; from now on
 * progress of its endpoint starts queued work. On failure @work is not queued. */
int wf_trigger_queue(struct wf_domain *domain, struct wf_work *work);

/* Free a triggered operation (FI_TRIGGER) that will not start. */
void wf_trigger_free_op(struct wf_work *work);

/* Write the error entry of an operation that could not start because of @err
 * (positive), and add to the counter's error value. */
void wf_trigger_failed(struct wf_ep *ep, const struct wf_op *op, int err);

#endif
