/* SPDX-License-Identifier: BSD-2-Clause */
#include "sys/pause.h"

#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <time.h>

#include "sys/calls.h"

enum {
	PAUSE_NS = 20000,
	DOUBLED_MAX = 6,
};

static void pause_sleep(unsigned int round)
{
	unsigned int doubled = round / WF_PAUSE_YIELDS;
	struct timespec time = {
		.tv_nsec = PAUSE_NS << (doubled < DOUBLED_MAX ? doubled : DOUBLED_MAX)
	};
	int err = errno;

	(void)wf_sys_nanosleep(&time, NULL);
	errno = err;
}

void wf_pause(unsigned int round)
{
	if (round < WF_PAUSE_YIELDS)
		(void)sched_yield();
	else
		pause_sleep(round);
}
