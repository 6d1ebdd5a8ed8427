/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/rxd/rxd.h"
#include "sys/clock.h"
#include "sys/compiler.h"

/*
 * Threads that sleep until there is work: they wait for an epoll set with the
 * descriptor of the queue below and a timer for the deadlines of flows.
 */

/* A queue below without a descriptor is looked at this often. */
enum { POLL_NS = 1000000 };

static void cq_ready(struct wf_watch *watch, uint32_t events)
{
	(void)watch;
	(void)events;
}

int rxd_wait_open(struct rxd_ep *ep)
{
	int fd, ret = wf_watches_open(&ep->watches);

	if (ret || !ep->has_fd || ep->cq_watch.fd >= 0)
		return ret;
	ret = fi_control(&ep->cq->fid, FI_GETWAIT, &fd);
	if (ret)
		return ret;
	ep->cq_watch = (struct wf_watch){ .ready = cq_ready, .fd = fd };
	ret = wf_watch_set(&ep->watches, &ep->cq_watch, EPOLLIN);
	if (ret)
		ep->cq_watch.fd = -1;
	return ret;
}

int rxd_wait_fd(struct wf_ep *wf)
{
	return rxd_ep_of(wf)->watches.epfd;
}

static void set_timer(struct rxd_ep *ep)
{
	uint64_t deadline_ns = ep->deadline_ns;

	if (!ep->has_fd)
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
	/* Another thread may still sleep. */
	ep->watches.timer_expired = false;
	set_timer(ep);
}

bool rxd_arm(struct wf_ep *wf)
{
	struct rxd_ep *ep = rxd_ep_of(wf);
	struct fid *fid = &ep->cq->fid;

	rxd_run_flows(ep);
	if (ep->deadline_ns <= ep->now_ns)
		return false;
	ep->watches.sleepers = true;
	set_timer(ep);
	return !ep->has_fd || !fi_trywait(ep->domain->below.fabric, &fid, 1);
}
