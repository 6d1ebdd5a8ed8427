/* SPDX-License-Identifier: BSD-2-Clause */
#include "sys/forks.h"

#include <pthread.h>

uint32_t wf_fork_depth;

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int err;

static void in_child(void)
{
	wf_fork_depth++;
}

static void watch(void)
{
	err = pthread_atfork(NULL, NULL, in_child);
}

int wf_forks_count(void)
{
	(void)pthread_once(&once, watch);
	return -err;
}
