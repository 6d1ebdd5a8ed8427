/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/endpoint/internal.h"
#include "objects/endpoint/scalable.h"

/*
 * Counters that are bound to an endpoint after it was enabled.
 *
 * The data path looks at ep->cntr for each completion, with the lock of the receive
 * context or of the endpoint held, except in a call that starts an operation, which
 * the application does not make at the same time (fi_endpoint(3)). So a change with
 * both locks held is enough; it counts what completes afterwards. While the change is
 * under way no queue runs the endpoint, so that a transport may choose how it is run
 * anew.
 */

static void lock_data(struct wf_ep *runner)
{
	wf_ep_srx_lock(runner);
	wf_lock(&runner->lock);
}

static void unlock_data(struct wf_ep *runner)
{
	wf_unlock(&runner->lock);
	wf_ep_srx_unlock(runner);
}

/* Set or unset, and the transport told. */
static int change(struct wf_ep *ep, struct wf_cntr *cntr, uint64_t flags)
{
	struct wf_ep *runner = ep->sep ? ep->sep->core : ep;
	int ret;

	lock_data(runner);
	wf_ep_set_cntr(ep, cntr, flags);
	unlock_data(runner);
	ret = ep->xfer->cntr_bound ? ep->xfer->cntr_bound(ep) : 0;
	if (!ret)
		return 0;
	lock_data(runner);
	wf_ep_unset_cntr(ep, flags);
	unlock_data(runner);
	return ret;
}

int wf_ep_bind_cntr_late(struct wf_ep *ep, struct wf_cntr *cntr, uint64_t flags)
{
	bool may_sleep = wf_ep_may_sleep(ep);
	int ret, err;

	wf_ep_progress_detach(ep);
	ret = change(ep, cntr, flags);
	if (!ret && !may_sleep && cntr->wait.obj != FI_WAIT_NONE)
		/* relaxed: a thread that waits already is woken when the endpoint
		 * joins the counter's list, and looks again. */
		atomic_store_explicit(&cntr->naps, true, memory_order_relaxed);
	err = wf_ep_progress_reattach(ep);
	if (err)
		wf_ep_log(ep, FI_LOG_WARN, FI_LOG_EP_CTRL,
			"fi_ep_bind: the endpoint is not run any more: %s\n",
			fi_strerror(-err));
	return ret ? ret : err;
}
