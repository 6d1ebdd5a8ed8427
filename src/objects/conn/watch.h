/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_CONN_WATCH_H
#define WF_OBJECTS_CONN_WATCH_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/epoll.h>

#include "sys/timer.h"

/*
 * The file descriptors that an endpoint polls: its epoll set, which a thread may also
 * sleep on, with a timer in it for deadlines.
 *
 * The endpoint's lock guards all of this, and the caller of each function holds it.
 * wf_watches_init, wf_watches_open and wf_watches_done are called without it, before
 * the endpoint is used and after.
 */

/* One descriptor, embedded in the struct of its owner: a connection, a listener. */
struct wf_watch {
	/* Called by wf_watches_poll with the EPOLL* bits that are ready. May close this
	 * and other watches; the memory of a closed watch stays valid until
	 * wf_watches_poll returns. */
	void (*ready)(struct wf_watch *watch, uint32_t events);
	int fd;          /* -1: closed */
	uint32_t events; /* EPOLL* bits to wait for; 0: not in the epoll set. */
};

/* All watches of one endpoint. */
struct wf_watches {
	int epfd;           /* Epoll descriptor; -1: not opened. */
	unsigned int count; /* Watches in the epoll set. */
	/* A thread may sleep on epfd: new deadlines must be set in the timer. */
	bool sleepers;
	/* The timer expired: the transport sets it again for threads that still sleep,
	 * and clears this member. */
	bool timer_expired;
	struct wf_timer timer;       /* Readable at the next deadline. */
	struct wf_watch timer_watch; /* Watch of @timer. */
};

void wf_watches_init(struct wf_watches *watches);
/* Open the epoll set, unless it is open. 0 or a negative errno code. */
int wf_watches_open(struct wf_watches *watches);
/* Close the epoll set and the timer. */
void wf_watches_done(struct wf_watches *watches);

/* Wait for @events (EPOLL* bits) on @watch; 0 removes it from the epoll set. 0 or a
 * negative errno code. */
int wf_watch_set(struct wf_watches *watches, struct wf_watch *watch, uint32_t events);

/* Call ready() of the watches that are ready, without blocking. Returns their
 * number. */
int wf_watches_poll(struct wf_watches *watches);

/* Wake sleepers at @deadline_ns (wf_now_ns time); 0: now; UINT64_MAX: never. */
void wf_watches_set_timer(struct wf_watches *watches, uint64_t deadline_ns);

/* There is a new deadline @deadline_ns (wf_now_ns time): set the timer for threads that
 * already sleep and do not know it. */
static inline void wf_watches_expect(struct wf_watches *watches, uint64_t deadline_ns)
{
	if (watches->sleepers && deadline_ns < watches->timer.deadline_ns)
		wf_watches_set_timer(watches, deadline_ns);
}

#endif
