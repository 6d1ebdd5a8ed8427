/* SPDX-License-Identifier: BSD-2-Clause */
#include <sched.h>

#include "sys/lock.h"

enum { SPINS_BEFORE_YIELD = 128 };

/* Spin, and yield after a while, because the holder may be descheduled. */
static void spin(struct wf_lock *lock)
{
	unsigned int spins = 0;

	/* Wait on a plain load, so that waiters share the line instead of
	 * stealing it from the holder with every attempt. */
	do {
		while (atomic_load_explicit(&lock->held, memory_order_relaxed)) {
			if (++spins < SPINS_BEFORE_YIELD)
				wf_cpu_relax();
			else
				(void)sched_yield();
		}
	} while (atomic_exchange_explicit(&lock->held, true, memory_order_acquire));
}

void wf_lock_slow(struct wf_lock *lock)
{
	if (lock->kind == WF_LOCK_MUTEX)
		(void)pthread_mutex_lock(&lock->mutex);
	else
		spin(lock);
}

void wf_unlock_slow(struct wf_lock *lock)
{
	(void)pthread_mutex_unlock(&lock->mutex);
}

bool wf_trylock_slow(struct wf_lock *lock)
{
	return pthread_mutex_trylock(&lock->mutex) == 0;
}

int wf_lock_init(struct wf_lock *lock, enum wf_lock_kind kind)
{
	lock->kind = kind;
	atomic_init(&lock->held, false);
	return kind == WF_LOCK_MUTEX ? -pthread_mutex_init(&lock->mutex, NULL) : 0;
}

void wf_lock_done(struct wf_lock *lock)
{
	if (lock->kind == WF_LOCK_MUTEX)
		(void)pthread_mutex_destroy(&lock->mutex);
}
