/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_CLOCK_H
#define WF_SYS_CLOCK_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

/* Monotonic time in nanoseconds. */
static inline uint64_t wf_now_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* wf_now_ns with a resolution of some milliseconds, at a fraction of the cost. */
static inline uint64_t wf_coarse_ns(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC_COARSE, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

/* The time @timeout_ms from now, by wf_now_ns; UINT64_MAX for a negative timeout. */
static inline uint64_t wf_deadline_ns(int timeout_ms)
{
	return timeout_ms < 0 ? UINT64_MAX
			      : wf_now_ns() + (uint64_t)timeout_ms * 1000000u;
}

/* Milliseconds until @deadline_ns, rounded up so that no wait ends early; -1:
 * forever. */
static inline int wf_remaining_ms(uint64_t deadline_ns)
{
	uint64_t now, left_ms;

	if (deadline_ns == UINT64_MAX)
		return -1;
	now = wf_now_ns();
	if (now >= deadline_ns)
		return 0;
	left_ms = (deadline_ns - now + 999999u) / 1000000u;
	return left_ms > INT_MAX ? INT_MAX : (int)left_ms;
}

static inline bool wf_expired(uint64_t deadline_ns)
{
	return deadline_ns != UINT64_MAX && wf_now_ns() >= deadline_ns;
}

#endif
