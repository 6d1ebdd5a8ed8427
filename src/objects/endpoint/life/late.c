/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/endpoint/life/async.h"
#include "objects/endpoint/life/bind.h"
#include "objects/endpoint/life/progress.h"
#include "objects/endpoint/log.h"
#include "objects/endpoint/scalable/scalable.h"

/*
 * Binding a counter to an endpoint that is enabled already.
 *
 * For each completion the data path reads ep->cntr with the lock of the receive context
 * or of the endpoint held. Calls that start operations read it without a lock, but the
 * application does not make them at the same time (fi_endpoint(3)). So changing it with
 * both locks held is enough; the counter counts later completions. During the change
 * the endpoint is in no progress list, so that the transport may choose anew how
 * threads run it.
 */

static void late_lock_data(struct wf_ep *runner)
{
	wf_ep_srx_lock(runner);
	wf_lock(&runner->lock);
}

static void late_unlock_data(struct wf_ep *runner)
{
	wf_unlock(&runner->lock);
	wf_ep_srx_unlock(runner);
}

/* Bind the counter and tell the transport; undo the binding if that fails. */
static int late_change(struct wf_ep *ep, struct wf_cntr *cntr, uint64_t flags)
{
	struct wf_ep *runner = ep->sep ? ep->sep->core : ep;
	int ret;

	late_lock_data(runner);
	wf_ep_set_cntr(ep, cntr, flags);
	late_unlock_data(runner);
	ret = ep->xfer->cntr_bound ? ep->xfer->cntr_bound(ep) : 0;
	if (!ret && ep->coll_ops)
		ret = ep->coll_ops->cntr_bound(ep);
	if (!ret)
		return 0;
	late_lock_data(runner);
	wf_ep_unset_cntr(ep, flags);
	late_unlock_data(runner);
	return ret;
}

int wf_ep_bind_cntr_late(struct wf_ep *ep, struct wf_cntr *cntr, uint64_t flags)
{
	struct wf_ep *runner = ep->sep ? ep->sep->core : ep;
	bool may_sleep = wf_ep_may_sleep(ep);
	int ret, err;

	wf_ep_async_stop(runner);
	wf_ep_progress_detach(ep);
	ret = late_change(ep, cntr, flags);
	if (!ret && !may_sleep && cntr->wait.obj != FI_WAIT_NONE)
		/* relaxed: a thread that already waits wakes when the endpoint joins
		 * the counter's list, and reads it again. */
		atomic_store_explicit(&cntr->needs_polling, true, memory_order_relaxed);
	err = wf_ep_progress_reattach(ep);
	late_lock_data(runner);
	wf_ep_want(runner);
	late_unlock_data(runner);
	if (err)
		wf_ep_log(ep, FI_LOG_WARN, FI_LOG_EP_CTRL,
			"fi_ep_bind: the endpoint is not run any more: %s\n",
			fi_strerror(-err));
	return ret ? ret : err;
}
