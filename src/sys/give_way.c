/* SPDX-License-Identifier: BSD-2-Clause */
#include <sched.h>

#include "sys/clock.h"
#include "sys/give_way.h"

enum {
	PATIENCE_NS = 50000,
	CHECK_NS = PATIENCE_NS / 4, /* at most, between two checks */
	WINDOW_MIN = 16,
};

/* The polls until the next check: a poll of a network takes a hundred times as long as
 * one of memory. */
static unsigned int give_way_next_window(struct wf_patience *patience, uint64_t now)
{
	unsigned int window =
		atomic_load_explicit(&patience->window, memory_order_relaxed);
	uint64_t took =
		now - atomic_load_explicit(&patience->check_ns, memory_order_relaxed);

	atomic_store_explicit(&patience->check_ns, now, memory_order_relaxed);
	if (!window)
		window = WF_PATIENCE_MISSES;
	else if (took > CHECK_NS && window > WINDOW_MIN)
		window /= 2;
	else if (took < CHECK_NS / 2 && window < WF_PATIENCE_MISSES)
		window *= 2;
	atomic_store_explicit(&patience->window, window, memory_order_relaxed);
	return window;
}

void wf_give_way(struct wf_patience *patience, unsigned int stamp, bool moved)
{
	uint64_t now = wf_now_ns();
	uint64_t since =
		atomic_load_explicit(&patience->since_ns, memory_order_relaxed);
	unsigned int before =
		atomic_exchange_explicit(&patience->stamp, stamp, memory_order_relaxed);

	atomic_store_explicit(&patience->misses,
		WF_PATIENCE_MISSES - give_way_next_window(patience, now),
		memory_order_relaxed);
	if (!since || before != stamp || moved)
		atomic_store_explicit(&patience->since_ns, now, memory_order_relaxed);
	else if (now - since > PATIENCE_NS)
		(void)sched_yield();
}
