/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_GIVE_WAY_H
#define WF_SYS_GIVE_WAY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "sys/compiler.h"

/*
 * Giving up the processor in loops that ask for something again and again.
 *
 * A program may have more threads that poll than the machine has processors. The peer
 * that a thread waits for then runs only when the thread's time slice ends, which takes
 * milliseconds for each piece of a message. So a poller that has found nothing for
 * longer than any peer that runs needs for an answer yields now and then. Yielding
 * returns at once where no other thread waits for the processor.
 *
 * Any thread, without a lock; the numbers are relaxed atomics because threads may share
 * what they poll, and two that count at once do no harm.
 */
struct wf_patience {
	atomic_uint misses;        /* in a row that are not looked at yet */
	atomic_uint stamp;         /* what the poller had found, at the last look */
	_Atomic uint64_t since_ns; /* when that was seen first */
};

enum { WF_PATIENCE_MISSES = 256 };

/* A poll found nothing. True: time for wf_give_way. */
static inline bool wf_patience_ends(struct wf_patience *patience)
{
	unsigned int misses =
		atomic_load_explicit(&patience->misses, memory_order_relaxed) + 1;

	atomic_store_explicit(&patience->misses, misses, memory_order_relaxed);
	return wf_unlikely(misses >= WF_PATIENCE_MISSES);
}

/* @stamp: a number that differs after each poll that finds something; @moved: part of
 * something long has moved meanwhile. */
void wf_give_way(struct wf_patience *patience, unsigned int stamp, bool moved);

#endif
