/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_GATE_H
#define WF_SYS_GATE_H

#include <assert.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "sys/compiler.h"

/*
 * Keeps one thread of the library out of objects whose calls the application serialises
 * (FI_THREAD_DOMAIN), at no cost for the application but two plain stores: a lock that
 * is biased towards the application. The thread of the library only tries to get in,
 * seldom, and executes a memory barrier for all threads of the process then.
 *
 * The application's thread stores @inside, then loads @closed; the library's thread
 * stores @closed, executes the barrier, then loads @inside. At least one of the two
 * sees the other's store: the application's thread waits, or the library's gives up.
 *
 * Sections nest. Those of the thread that has closed the gate are no-ops.
 */
struct wf_gate {
	/* Number of sections of the application's thread, each inside the one before.
	 * Only that thread stores it. */
	_Atomic uint32_t inside;
	/* A thread of the library is inside, or tries to be. */
	_Atomic uint32_t closed;
};

/* Can gates be used? False: the kernel has no such barrier (membarrier(2)), and the
 * caller uses locks instead. Any thread. */
bool wf_gate_supported(void);

static inline void wf_gate_init(struct wf_gate *gate)
{
	atomic_init(&gate->inside, 0);
	atomic_init(&gate->closed, 0);
}

/* Try to get in as the thread of the library. False: the application's thread is
 * inside, or another thread of the library. */
bool wf_gate_close(struct wf_gate *gate);
/* End the section that wf_gate_close began. */
void wf_gate_open(struct wf_gate *gate);

/* Has the calling thread closed the gate? */
bool wf_gate_is_mine(const struct wf_gate *gate);
/* The application's thread has begun its outermost section of a gate that is closed:
 * leave it, wait until the gate is open, and begin it again. */
void wf_gate_wait(struct wf_gate *gate);

WF_INLINE void wf_gate_enter(struct wf_gate *gate)
{
	uint32_t inside;

	if (wf_unlikely(atomic_load_explicit(&gate->closed, memory_order_relaxed)) &&
		wf_gate_is_mine(gate))
		return;
	inside = atomic_load_explicit(&gate->inside, memory_order_relaxed);
	atomic_store_explicit(&gate->inside, inside + 1, memory_order_relaxed);
	/* The barrier for the processor is the library's thread's. */
	atomic_signal_fence(memory_order_seq_cst);
	/* acquire: pairs with the release in wf_gate_open. */
	if (wf_unlikely(atomic_load_explicit(&gate->closed, memory_order_acquire)) &&
		!inside)
		wf_gate_wait(gate);
}

WF_INLINE void wf_gate_leave(struct wf_gate *gate)
{
	uint32_t inside = atomic_load_explicit(&gate->inside, memory_order_relaxed);

	if (wf_unlikely(atomic_load_explicit(&gate->closed, memory_order_relaxed)) &&
		wf_gate_is_mine(gate))
		return;
	assert(inside);
	/* release: pairs with the acquire in wf_gate_close. */
	atomic_store_explicit(&gate->inside, inside - 1, memory_order_release);
}

/* wf_gate_enter for a fast path that calls no function. False: the gate is closed, and
 * the caller takes the long path. */
WF_INLINE bool wf_gate_enter_inline(struct wf_gate *gate)
{
	uint32_t inside = atomic_load_explicit(&gate->inside, memory_order_relaxed);

	if (wf_unlikely(atomic_load_explicit(&gate->closed, memory_order_relaxed)))
		return false;
	atomic_store_explicit(&gate->inside, inside + 1, memory_order_relaxed);
	atomic_signal_fence(memory_order_seq_cst);
	/* acquire: pairs with the release in wf_gate_open. */
	if (wf_likely(!atomic_load_explicit(&gate->closed, memory_order_acquire)))
		return true;
	/* release: as in wf_gate_leave. */
	atomic_store_explicit(&gate->inside, inside, memory_order_release);
	return false;
}

/* End a section that wf_gate_enter_inline began. Calls no function. */
WF_INLINE void wf_gate_leave_inline(struct wf_gate *gate)
{
	uint32_t inside = atomic_load_explicit(&gate->inside, memory_order_relaxed);

	assert(inside);
	/* release: as in wf_gate_leave. */
	atomic_store_explicit(&gate->inside, inside - 1, memory_order_release);
}

#endif
