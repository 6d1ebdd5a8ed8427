/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <sys/epoll.h>

#include "providers/rxm/conn/peer.h"
#include "sys/clock.h"

/*
 * Sleeping threads: an epoll set with the descriptors of the queues below and a timer.
 * Queues without a descriptor are looked at when the timer expires.
 */
enum { POLL_NS = 1000000 };

static void queue_ready(struct wf_watch *watch, uint32_t events)
{
	(void)watch;
	(void)events;
}

static bool watch_queue(struct rxm_ep *ep, struct wf_watch *watch, struct fid *queue)
{
	int fd;

	if (watch->events)
		return true;
	if (fi_control(queue, FI_GETWAIT, &fd))
		return false;
	watch->fd = fd;
	watch->ready = queue_ready;
	return !wf_watch_set(&ep->watches, watch, EPOLLIN);
}

int rxm_wait_open(struct rxm_ep *ep)
{
	int ret = wf_watches_open(&ep->watches);

	if (ret)
		return ret;
	ep->has_fds = watch_queue(ep, &ep->cq_watch, &ep->cq->fid) &&
		      watch_queue(ep, &ep->eq_watch, &ep->eq->fid);
	return 0;
}

int rxm_wait_fd(struct wf_ep *wf)
{
	return rxm_ep_of(wf)->watches.epfd;
}

void rxm_wake_sleepers(struct rxm_ep *ep)
{
	if (ep->watches.sleepers && !ep->running)
		wf_watches_set_timer(&ep->watches, 0);
}

static void set_timer(struct rxm_ep *ep)
{
	uint64_t deadline = rxm_peers_deadline(ep);

	if (!ep->has_fds)
		deadline = WF_MIN(deadline, wf_now_ns() + POLL_NS);
	wf_watches_set_timer(&ep->watches, deadline);
}

void rxm_rearm_timer(struct rxm_ep *ep)
{
	ep->watches.timer_expired = false;
	if (ep->watches.sleepers)
		set_timer(ep);
}

bool rxm_arm(struct wf_ep *wf)
{
	struct rxm_ep *ep = rxm_ep_of(wf);
	struct fid *queues[] = { &ep->cq->fid, &ep->eq->fid };

	ep->watches.sleepers = true;
	/* Events may be why the thread wakes. */
	ep->eq_soon = true;
	if (!wf_list_empty(&ep->failed) || !wf_list_empty(&ep->ready) ||
		!wf_list_empty(&ep->idle))
		return false;
	if (ep->has_fds &&
		fi_trywait(ep->domain->below.fabric, queues, WF_ARRAY_SIZE(queues)))
		return false;
	set_timer(ep);
	return true;
}
