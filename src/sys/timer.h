/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_TIMER_H
#define WF_SYS_TIMER_H

#include <stdbool.h>
#include <stdint.h>

/* A descriptor that becomes readable at a deadline of wf_now_ns, for epoll sets. It is
 * opened when there is a deadline for the first time. */
struct wf_timer {
	int fd;               /* -1: none yet */
	uint64_t deadline_ns; /* UINT64_MAX: none, or it was over and drained */
};

void wf_timer_init(struct wf_timer *timer);
void wf_timer_done(struct wf_timer *timer);

/* UINT64_MAX: never. True: the descriptor is new and in no set. Where it cannot be
 * opened nothing happens, and the next call tries again. */
bool wf_timer_set(struct wf_timer *timer, uint64_t deadline_ns);

/* It is not readable any more. */
void wf_timer_drain(struct wf_timer *timer);

#endif
