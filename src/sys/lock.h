/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_LOCK_H
#define WF_SYS_LOCK_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "sys/compiler.h"
#include "sys/gate.h"

/*
 * One lock type whose kind is chosen when the object is created.
 *
 * WF_LOCK_SPIN   sections of some tens of nanoseconds, no system call inside
 * WF_LOCK_MUTEX  sections that may call the kernel: a thread that waits long sleeps
 *
 * Where the application serialises its calls (FI_THREAD_DOMAIN), the lock is a section
 * of the domain's gate instead (wf_lock_set_gate), which may be taken again by the
 * thread that has it.
 *
 * Where no thread waits, both kinds execute the same few instructions, of which one is
 * atomic. A mutex is therefore released without a full barrier between the load of
 * @sleepers and the release: a wake-up can be missed, in a window of some nanoseconds,
 * so a sleeper tries again after WF_LOCK_SLEEP_NS.
 */
enum wf_lock_kind { WF_LOCK_SPIN, WF_LOCK_MUTEX };

/* The most nanoseconds that a thread sleeps before it tries again. */
enum { WF_LOCK_SLEEP_NS = 1000000 };

struct wf_lock {
	enum wf_lock_kind kind;
	_Atomic uint32_t held; /* 0 or 1; the futex that threads sleep on */
	/* WF_LOCK_MUTEX: number of threads that sleep, or are about to. */
	_Atomic uint32_t sleepers;
	/* The gate that is used instead; NULL: none. */
	struct wf_gate *gate;
};

static inline void wf_cpu_relax(void)
{
#if defined(__x86_64__)
	__builtin_ia32_pause();
#elif defined(__aarch64__)
	__asm__ volatile("yield");
#endif
}

/* It needs no memory, and cannot fail. */
void wf_lock_init(struct wf_lock *lock, enum wf_lock_kind kind);

/* Use @gate instead of the lock, unless it is NULL. Called before the lock is used. */
static inline void wf_lock_set_gate(struct wf_lock *lock, struct wf_gate *gate)
{
	lock->gate = gate;
}

/* No thread holds the lock or waits for it. */
void wf_lock_done(struct wf_lock *lock);

/* Take a lock that another thread holds: spin, then sleep (mutex) or pause (spin lock,
 * pause.h) until it is taken. Keeps errno. */
void wf_lock_slow(struct wf_lock *lock);
/* Wake one sleeper of a lock that was just released. The memory of @lock is not
 * accessed, because another thread may have freed it since the release. Keeps errno. */
void wf_lock_wake(struct wf_lock *lock);

/* acquire: pairs with the release in wf_unlock. */
static inline bool wf_lock_take(struct wf_lock *lock)
{
	return !atomic_exchange_explicit(&lock->held, 1, memory_order_acquire);
}

WF_INLINE void wf_lock(struct wf_lock *lock)
{
	if (lock->gate) {
		wf_gate_enter(lock->gate);
		return;
	}
	if (wf_unlikely(!wf_lock_take(lock)))
		wf_lock_slow(lock);
}

WF_INLINE void wf_unlock(struct wf_lock *lock)
{
	uint32_t sleepers;

	if (lock->gate) {
		wf_gate_leave(lock->gate);
		return;
	}
	assert(atomic_load_explicit(&lock->held, memory_order_relaxed));
	/* Loaded before the release, because another thread may free the lock after
	 * it. */
	sleepers = atomic_load_explicit(&lock->sleepers, memory_order_relaxed);
	atomic_store_explicit(&lock->held, 0, memory_order_release);
	if (wf_unlikely(sleepers))
		wf_lock_wake(lock);
}

/* Take the lock if no thread holds it. False: another thread holds it; a progress loop
 * then leaves the work to that thread. */
WF_INLINE bool wf_trylock(struct wf_lock *lock)
{
	if (lock->gate) {
		wf_gate_enter(lock->gate);
		return true;
	}
	return wf_lock_take(lock);
}

/*
 * Take the lock for a section of some tens of nanoseconds in a fast path that calls no
 * function, not even to wake a sleeper: threads that wait still spin when such a
 * section ends. A thread that sleeps because the holder lost its processor tries again
 * after WF_LOCK_SLEEP_NS.
 *
 * False: the lock is held, or has sleepers, and the caller takes the long path.
 */
WF_INLINE bool wf_trylock_inline(struct wf_lock *lock)
{
	if (lock->gate)
		return wf_gate_enter_inline(lock->gate);
	return wf_likely(
		       !atomic_load_explicit(&lock->sleepers, memory_order_relaxed)) &&
	       wf_lock_take(lock);
}

/* Release a lock that wf_trylock_inline took. */
WF_INLINE void wf_unlock_inline(struct wf_lock *lock)
{
	if (lock->gate) {
		wf_gate_leave_inline(lock->gate);
		return;
	}
	assert(atomic_load_explicit(&lock->held, memory_order_relaxed));
	atomic_store_explicit(&lock->held, 0, memory_order_release);
}

#endif
