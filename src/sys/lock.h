/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_LOCK_H
#define WF_SYS_LOCK_H

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

#include "sys/compiler.h"

/*
 * One lock type whose kind is chosen when the object is created, so that an application
 * that promised to serialise its calls pays one predictable branch.
 *
 * WF_LOCK_NONE   the caller serialises (FI_THREAD_DOMAIN, FI_THREAD_COMPLETION
 *                without a progress thread)
 * WF_LOCK_SPIN   sections of some tens of nanoseconds, no system call inside
 * WF_LOCK_MUTEX  sections that may call the kernel
 */
enum wf_lock_kind { WF_LOCK_NONE, WF_LOCK_SPIN, WF_LOCK_MUTEX };

struct wf_lock {
	enum wf_lock_kind kind;
	atomic_bool held; /* WF_LOCK_SPIN only */
	pthread_mutex_t mutex;
};

static inline void wf_cpu_relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

int wf_lock_init(struct wf_lock *lock, enum wf_lock_kind kind);
void wf_lock_done(struct wf_lock *lock);

/* For WF_LOCK_MUTEX, and for a spin lock that another thread holds. */
void wf_lock_slow(struct wf_lock *lock);
void wf_unlock_slow(struct wf_lock *lock);
bool wf_trylock_slow(struct wf_lock *lock);

/* acquire: pairs with the release in wf_unlock. */
static inline bool wf_lock_spin_try(struct wf_lock *lock)
{
	return !atomic_exchange_explicit(&lock->held, true, memory_order_acquire);
}

WF_INLINE void wf_lock(struct wf_lock *lock)
{
	if (lock->kind == WF_LOCK_NONE)
		return;
	if (wf_unlikely(lock->kind != WF_LOCK_SPIN || !wf_lock_spin_try(lock)))
		wf_lock_slow(lock);
}

WF_INLINE void wf_unlock(struct wf_lock *lock)
{
	if (lock->kind == WF_LOCK_NONE)
		return;
	if (wf_likely(lock->kind == WF_LOCK_SPIN))
		atomic_store_explicit(&lock->held, false, memory_order_release);
	else
		wf_unlock_slow(lock);
}

/* Take the lock if no thread holds it. False: another thread holds it; a progress loop
 * then leaves the work to that thread. */
WF_INLINE bool wf_trylock(struct wf_lock *lock)
{
	if (lock->kind == WF_LOCK_NONE)
		return true;
	return wf_likely(lock->kind == WF_LOCK_SPIN) ? wf_lock_spin_try(lock)
						     : wf_trylock_slow(lock);
}

/* wf_trylock for fast paths, which calls no function: false also for every mutex. */
WF_INLINE bool wf_trylock_inline(struct wf_lock *lock)
{
	if (lock->kind == WF_LOCK_NONE)
		return true;
	return wf_likely(lock->kind == WF_LOCK_SPIN && wf_lock_spin_try(lock));
}

/* Release a lock that wf_trylock_inline took. */
WF_INLINE void wf_unlock_inline(struct wf_lock *lock)
{
	if (lock->kind != WF_LOCK_NONE)
		atomic_store_explicit(&lock->held, false, memory_order_release);
}

#endif
