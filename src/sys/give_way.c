/* SPDX-License-Identifier: BSD-2-Clause */
#include <sched.h>

#include "sys/clock.h"
#include "sys/give_way.h"

enum { PATIENCE_NS = 50000 };

void wf_give_way(struct wf_patience *patience, unsigned int stamp, bool moved)
{
	uint64_t now = wf_now_ns();
	uint64_t since =
		atomic_load_explicit(&patience->since_ns, memory_order_relaxed);
	unsigned int before =
		atomic_exchange_explicit(&patience->stamp, stamp, memory_order_relaxed);

	atomic_store_explicit(&patience->misses, 0, memory_order_relaxed);
	if (!since || before != stamp || moved)
		atomic_store_explicit(&patience->since_ns, now, memory_order_relaxed);
	else if (now - since > PATIENCE_NS)
		(void)sched_yield();
}
