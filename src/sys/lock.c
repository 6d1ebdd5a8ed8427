/* SPDX-License-Identifier: BSD-2-Clause */
#include "sys/lock.h"

#include <errno.h>
#include <linux/futex.h>
#include <stddef.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "sys/pause.h"

enum { SPINS = 128 };

/* Wait with plain loads, so that waiters share the cache line instead of taking it from
 * the holder with every attempt. False: the lock is still held. */
static bool lock_spin(struct wf_lock *lock)
{
	for (unsigned int i = 0; i < SPINS; i++) {
		if (!atomic_load_explicit(&lock->held, memory_order_relaxed) &&
			wf_lock_take(lock))
			return true;
		wf_cpu_relax();
	}
	return false;
}

/* The holder may have lost its processor: pause between the attempts. */
static void lock_pause_until_taken(struct wf_lock *lock)
{
	unsigned int round = 0;

	do {
		while (atomic_load_explicit(&lock->held, memory_order_relaxed))
			wf_pause(round++);
	} while (!wf_lock_take(lock));
}

static void lock_sleep_until_taken(struct wf_lock *lock)
{
	const struct timespec limit = { .tv_nsec = WF_LOCK_SLEEP_NS };

	/* relaxed: the kernel has a full barrier before it compares @held. */
	atomic_fetch_add_explicit(&lock->sleepers, 1, memory_order_relaxed);
	while (!wf_lock_take(lock))
		(void)syscall(
			SYS_futex, &lock->held, FUTEX_WAIT_PRIVATE, 1, &limit, NULL, 0);
	atomic_fetch_sub_explicit(&lock->sleepers, 1, memory_order_relaxed);
}

void wf_lock_slow(struct wf_lock *lock)
{
	int err = errno;

	if (lock_spin(lock))
		return;
	if (lock->kind == WF_LOCK_MUTEX)
		lock_sleep_until_taken(lock);
	else
		lock_pause_until_taken(lock);
	errno = err;
}

void wf_lock_wake(struct wf_lock *lock)
{
	int err = errno;

	(void)syscall(SYS_futex, &lock->held, FUTEX_WAKE_PRIVATE, 1, NULL, NULL, 0);
	errno = err;
}

void wf_lock_init(struct wf_lock *lock, enum wf_lock_kind kind)
{
	lock->kind = kind;
	atomic_init(&lock->held, 0);
	atomic_init(&lock->sleepers, 0);
	lock->gate = NULL;
}

void wf_lock_done(struct wf_lock *lock)
{
	assert(!atomic_load_explicit(&lock->held, memory_order_relaxed));
	(void)lock;
}
