/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_GIVE_WAY_H
#define WF_SYS_GIVE_WAY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "sys/compiler.h"

/*
 * Yielding the processor in loops that poll.
 *
 * A program may have more threads that poll than the machine has processors. Then the
 * peer that a thread waits for runs only when the thread's time slice ends, which takes
 * milliseconds for each piece of a message. So a poller that has found nothing for
 * longer than a running peer needs for an answer yields now and then. Yielding returns
 * at once if no other thread waits for the processor.
 *
 * Any thread, without a lock; the numbers are relaxed atomics because threads may share
 * them, and two threads that count at once do no harm.
 */
struct wf_patience {
	/* Polls that found nothing since the last check, and those that @window leaves
	 * out of WF_PATIENCE_MISSES. */
	atomic_uint misses;
	atomic_uint window;        /* polls between two checks; 0: not known yet */
	atomic_uint stamp;         /* @stamp of wf_give_way at the last check */
	_Atomic uint64_t since_ns; /* wf_now_ns when that stamp was first seen */
	_Atomic uint64_t check_ns; /* wf_now_ns at the last check */
	/* Pauses in which other threads used the processor, without progress. */
	atomic_uint vain;
};

/* The most polls between two checks; fewer where a poll takes long. */
enum { WF_PATIENCE_MISSES = 256 };

/* Count a poll that found nothing. True: the caller calls wf_give_way. */
static inline bool wf_patience_ends(struct wf_patience *patience)
{
	unsigned int misses =
		atomic_load_explicit(&patience->misses, memory_order_relaxed) + 1;

	atomic_store_explicit(&patience->misses, misses, memory_order_relaxed);
	return wf_unlikely(misses >= WF_PATIENCE_MISSES);
}

/* Check whether to yield, and do so. @stamp: a number that differs after each poll that
 * finds something; @moved: progress was made meanwhile that does not change the
 * stamp. */
void wf_give_way(struct wf_patience *patience, unsigned int stamp, bool moved);

#endif
