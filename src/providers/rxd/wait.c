/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/rxd/rxd.h"
#include "sys/clock.h"
#include "sys/compiler.h"

/*
 * Sleeping threads wait for the descriptors of the queue below and for a timer with the
 * deadlines of flows.
 */

/* A queue below without a descriptor is read this often. */
enum { POLL_NS = 1000000 };

int rxd_wait_open(struct rxd_ep *ep)
{
	int ret = wf_watches_open(&ep->watches);

	return ret ? ret : wf_fds_add(&ep->fds, ep->watches.epfd);
}

int rxd_wait_enable(struct rxd_ep *ep)
{
	if (!ep->cq.has_fd)
		return 0;
	return wf_lower_wait_add(&ep->cq_wait, &ep->cq.fid->fid, &ep->fds);
}

void rxd_wait_close(struct rxd_ep *ep)
{
	wf_lower_wait_del(&ep->cq_wait);
}

struct wf_fds *rxd_wait_fds(struct wf_ep *wf)
{
	return &rxd_ep_of(wf)->fds;
}

static void rxd_wait_set_timer(struct rxd_ep *ep)
{
	uint64_t deadline_ns = ep->deadline_ns;

	if (!ep->cq.has_fd)
		deadline_ns = WF_MIN(deadline_ns, wf_now_ns() + POLL_NS);
	wf_watches_set_timer(&ep->watches, deadline_ns);
}

void rxd_timer_tick(struct rxd_ep *ep)
{
	bool awake = !wf_ep_is_armed(&ep->ep) && !wf_domain_has_thread(ep->ep.domain);

	if (ep->watches.timer.deadline_ns <= ep->now_ns)
		(void)wf_watches_poll(&ep->watches);
	if (awake) {
		ep->watches.sleepers = false;
		return;
	}
	if (!ep->watches.timer_expired)
		return;
	/* Another thread may still sleep: set the timer again. */
	ep->watches.timer_expired = false;
	rxd_wait_set_timer(ep);
}

bool rxd_arm(struct wf_ep *wf)
{
	struct rxd_ep *ep = rxd_ep_of(wf);
	struct fid *fid = &ep->cq.fid->fid;

	rxd_run_flows(ep);
	if (ep->deadline_ns <= ep->now_ns)
		return false;
	ep->watches.sleepers = true;
	rxd_wait_set_timer(ep);
	return !ep->cq.has_fd || !fi_trywait(ep->domain->below.fabric, &fid, 1);
}
