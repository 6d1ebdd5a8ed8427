/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_CONN_WATCH_H
#define WF_OBJECTS_CONN_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "sys/timer.h"

/*
 * The descriptors that an endpoint listens to: its epoll set, which a thread may sleep
 * on as well, and a timer in it for what has a deadline.
 *
 * The endpoint's lock guards all of this, and the caller of each function holds it;
 * wf_watches_init, wf_watches_open and wf_watches_done are called without, before the
 * endpoint is used and after.
 */

/* A descriptor, embedded in what it belongs to: a connection, a listener. */
struct wf_watch {
	/* Called by wf_watches_poll with the EPOLL* bits that came up. May close this
	 * and other watches; the memory of a closed one stays until wf_watches_poll
	 * returns. */
	void (*ready)(struct wf_watch *watch, uint32_t events);
	int fd;          /* -1: closed */
	uint32_t events; /* EPOLL* bits to listen to; 0: not in the epoll set */
};

/* All of one endpoint. */
struct wf_watches {
	int epfd;           /* -1: not opened */
	unsigned int count; /* watches in the epoll set */
	/* A thread may sleep on epfd: it has to be told of deadlines. */
	bool sleepers;
	/* The timer ended: the transport sets it again for threads that still sleep,
	 * and clears this. */
	bool timer_expired;
	struct wf_timer timer;
	struct wf_watch timer_watch;
};

void wf_watches_init(struct wf_watches *watches);
/* Open the epoll set, unless it is open. 0 or a negative errno code. */
int wf_watches_open(struct wf_watches *watches);
/* Close the epoll set and the timer. */
void wf_watches_done(struct wf_watches *watches);

/* Listen for @events (EPOLL* bits; 0: for none, which takes it out of the set).
 * 0 or a negative errno code. */
int wf_watch_set(struct wf_watches *watches, struct wf_watch *watch, uint32_t events);

/* Call ready() of the watches where something came up; does not block. How many. */
int wf_watches_poll(struct wf_watches *watches);

/* End a sleep at @deadline_ns of wf_now_ns: 0: now; UINT64_MAX: never. */
void wf_watches_set_timer(struct wf_watches *watches, uint64_t deadline_ns);

/* There is a new deadline, at @deadline_ns of wf_now_ns: threads that sleep already do
 * not know it. */
static inline void wf_watches_expect(struct wf_watches *watches, uint64_t deadline_ns)
{
	if (watches->sleepers && deadline_ns < watches->timer.deadline_ns)
		wf_watches_set_timer(watches, deadline_ns);
}

#endif
