/* SPDX-License-Identifier: BSD-2-Clause */
#include "sys/clock.h"
#include "sys/give_way.h"
#include "sys/pause.h"

enum {
	PATIENCE_NS = 50000,
	CHECK_NS = PATIENCE_NS / 4, /* at most, between two checks */
	WINDOW_MIN = 16,
	/* A pause of this length is one in which another thread ran. */
	SWITCH_NS = 5000,
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

/* Sleep now and then where others want the processor: see pause.h. Behind each sleep
 * comes a yield, which tells whether they still do. */
static void give_way_pause(struct wf_patience *patience, uint64_t now)
{
	unsigned int vain = atomic_load_explicit(&patience->vain, memory_order_relaxed);

	wf_pause(vain);
	if (vain == WF_PAUSE_YIELDS)
		vain--;
	else
		vain = wf_now_ns() - now > SWITCH_NS ? vain + 1 : 0;
	atomic_store_explicit(&patience->vain, vain, memory_order_relaxed);
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
	if (!since || before != stamp || moved) {
		atomic_store_explicit(&patience->since_ns, now, memory_order_relaxed);
		atomic_store_explicit(&patience->vain, 0, memory_order_relaxed);
	} else if (now - since > PATIENCE_NS) {
		give_way_pause(patience, now);
	}
}
