/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_TIMER_H
#define WF_SYS_TIMER_H

#include <stdbool.h>
#include <stdint.h>

/* A descriptor that becomes readable at a deadline by wf_now_ns, for epoll sets. It is
 * opened when the first deadline is set. */
struct wf_timer {
	int fd; /* -1: not opened yet */
	uint64_t
		deadline_ns; /* UINT64_MAX: no deadline, or it passed and was drained */
};

void wf_timer_init(struct wf_timer *timer);
void wf_timer_done(struct wf_timer *timer);

/* Set the deadline; UINT64_MAX: none. True: the descriptor was opened by this call, so
 * the caller adds it to its epoll set. If it cannot be opened no deadline is set, and
 * the next call tries to open it. */
bool wf_timer_set(struct wf_timer *timer, uint64_t deadline_ns);

/* Read the descriptor, so that it is not readable any more. */
void wf_timer_drain(struct wf_timer *timer);

#endif
