/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/conn/watch.h"

#include <errno.h>
#include <unistd.h>

#include "sys/calls.h"
#include "sys/compiler.h"
#include "sys/fds.h"

enum { EVENTS_MAX = 64 };

static void watch_timer_ready(struct wf_watch *watch, uint32_t events)
{
	struct wf_watches *watches =
		wf_container_of(watch, struct wf_watches, timer_watch);

	(void)events;
	wf_timer_drain(&watches->timer);
	watches->timer_expired = true;
}

void wf_watches_init(struct wf_watches *watches)
{
	*watches = (struct wf_watches){
		.epfd = -1,
		.timer_watch = { .ready = watch_timer_ready, .fd = -1 },
	};
	wf_timer_init(&watches->timer);
}

int wf_watches_open(struct wf_watches *watches)
{
	if (watches->epfd < 0)
		watches->epfd = wf_epoll();
	return watches->epfd < 0 ? -errno : 0;
}

void wf_watches_done(struct wf_watches *watches)
{
	wf_timer_done(&watches->timer);
	if (watches->epfd >= 0)
		wf_fds_close(watches->epfd);
	watches->epfd = -1;
}

int wf_watch_set(struct wf_watches *watches, struct wf_watch *watch, uint32_t events)
{
	struct epoll_event event = { .events = events, .data.ptr = watch };
	int op = !watch->events ? EPOLL_CTL_ADD
		 : events       ? EPOLL_CTL_MOD
				: EPOLL_CTL_DEL;
	int ret;

	if (watch->events == events)
		return 0;
	ret = epoll_ctl(watches->epfd, op, watch->fd, &event) ? -errno : 0;
	if (ret && op == EPOLL_CTL_ADD)
		return ret;
	watches->count += (op == EPOLL_CTL_ADD) - (op == EPOLL_CTL_DEL);
	watch->events = events;
	return ret;
}

int wf_watches_poll(struct wf_watches *watches)
{
	struct epoll_event events[EVENTS_MAX];
	int n = wf_sys_epoll_wait(watches->epfd, events, EVENTS_MAX, 0);

	for (int i = 0; i < n; i++) {
		struct wf_watch *watch = events[i].data.ptr;

		/* The handler of an earlier event may have closed the watch. */
		if (watch->fd >= 0)
			watch->ready(watch, events[i].events);
	}
	return n > 0 ? n : 0;
}

void wf_watches_set_timer(struct wf_watches *watches, uint64_t deadline_ns)
{
	if (!wf_timer_set(&watches->timer, deadline_ns))
		return;
	watches->timer_watch.fd = watches->timer.fd;
	/* On failure only the deadline is lost. */
	(void)wf_watch_set(watches, &watches->timer_watch, EPOLLIN);
}
