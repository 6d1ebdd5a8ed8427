/* SPDX-License-Identifier: BSD-2-Clause */
#include "sys/timer.h"

#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "sys/calls.h"

void wf_timer_init(struct wf_timer *timer)
{
	timer->fd = -1;
	timer->deadline_ns = UINT64_MAX;
}

void wf_timer_done(struct wf_timer *timer)
{
	if (timer->fd >= 0)
		(void)wf_sys_close(timer->fd);
}

bool wf_timer_set(struct wf_timer *timer, uint64_t deadline_ns)
{
	struct itimerspec spec = { 0 };
	bool opens = timer->fd < 0;

	if (timer->deadline_ns == deadline_ns)
		return false;
	if (opens)
		timer->fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);
	if (timer->fd < 0)
		return false;
	timer->deadline_ns = deadline_ns;
	if (deadline_ns != UINT64_MAX) {
		spec.it_value.tv_sec = (time_t)(deadline_ns / 1000000000u);
		spec.it_value.tv_nsec = (long)(deadline_ns % 1000000000u);
		/* All zero would disarm it. */
		if (!deadline_ns)
			spec.it_value.tv_nsec = 1;
	}
	(void)timerfd_settime(timer->fd, TFD_TIMER_ABSTIME, &spec, NULL);
	return opens;
}

void wf_timer_drain(struct wf_timer *timer)
{
	uint64_t count;

	/* The read fails if the timer was set again and has not expired. */
	if (wf_sys_read(timer->fd, &count, sizeof(count)) == (ssize_t)sizeof(count))
		timer->deadline_ns = UINT64_MAX;
}
