/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_CANCEL_H
#define WF_SYS_CANCEL_H

#include <pthread.h>

/*
 * Deferred cancellation of threads. System calls that the library makes with a lock
 * held are cancellation points, and a thread that was cancelled there would leave the
 * lock held. Calls that may sleep therefore switch cancellation off. For the sleep
 * itself they restore the thread's own state, with a cleanup handler that undoes the
 * sleeper's registrations.
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

#endif
