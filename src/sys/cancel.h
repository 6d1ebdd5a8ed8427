/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_CANCEL_H
#define WF_SYS_CANCEL_H

#include <pthread.h>

/*
 * Deferred cancellation of threads. System calls that the library makes with a lock
 * held are cancellation points, and a thread that ended there would leave the lock
 * behind. Calls that may sleep therefore switch cancellation off and restore the
 * thread's own state for the sleep itself, where a cleanup handler undoes what the
 * sleeper has announced.
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
