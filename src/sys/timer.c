/* SPDX-License-Identifier: BSD-2-Clause */
#include "sys/timer.h"

#include <errno.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

int wf_timer_open(void)
{
	int fd = timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

void wf_timer_set(int fd, uint64_t deadline_ns)
{
	struct itimerspec spec = { 0 };

	if (deadline_ns != UINT64_MAX) {
		spec.it_value.tv_sec = (time_t)(deadline_ns / 1000000000u);
		spec.it_value.tv_nsec = (long)(deadline_ns % 1000000000u);
		/* All zero would disarm it. */
		if (!deadline_ns)
			spec.it_value.tv_nsec = 1;
	}
	(void)timerfd_settime(fd, TFD_TIMER_ABSTIME, &spec, NULL);
}

void wf_timer_drain(int fd)
{
	uint64_t count;

	(void)!read(fd, &count, sizeof(count));
}
