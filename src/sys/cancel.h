/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_CANCEL_H
#define WF_SYS_CANCEL_H

#include <pthread.h>

#include "sys/compiler.h"

/*
 * Deferred cancellation of threads. A thread that was cancelled with a lock held would
 * leave the lock held. System calls are made by sys/calls.h, which switches
 * cancellation off around each, and calls into other libraries are made with it off.
 * Calls of the interface that may sleep switch it off, too. For the sleep itself they
 * restore the thread's own state, with a cleanup handler that undoes the sleeper's
 * registrations.
 */

/* Returns the state for wf_cancel_set. */
static inline int wf_cancel_off(void)
{
	int state;

	(void)pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &state);
	return state;
}

static inline void wf_cancel_set(int state)
{
	(void)pthread_setcancelstate(state, &state);
}

static inline void wf_cancel_p(const int *state)
{
	wf_cancel_set(*state);
}

/* A declaration: cancellation is off to the end of the scope. */
#define WF_NO_CANCELLATION                                                             \
	__attribute__((unused)) CLEANUP(wf_cancel) int cancel_state_ = wf_cancel_off()

#endif
