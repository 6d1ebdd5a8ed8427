/* SPDX-License-Identifier: BSD-2-Clause */
#include "sys/gate.h"

#include <errno.h>
#include <pthread.h>

#include "sys/forks.h"
#include "sys/lock.h"
#include "sys/membarrier.h"
#include "sys/pause.h"

enum { SPINS = 128 };

/* The gate that this thread has closed; NULL: none. */
static _Thread_local const struct wf_gate *mine;
/* Forks before this process began to use gates. */
static uint32_t depth;
static bool supported;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void gate_probe(void)
{
	supported = !wf_forks_count() && wf_membarrier_join_own();
	depth = wf_fork_depth;
}

bool wf_gate_supported(void)
{
	(void)pthread_once(&once, gate_probe);
	return supported;
}

bool wf_gate_is_mine(const struct wf_gate *gate)
{
	return mine == gate;
}

bool wf_gate_close(struct wf_gate *gate)
{
	if (atomic_exchange_explicit(&gate->closed, 1, memory_order_acquire))
		return false;
	/* acquire: pairs with the release in wf_gate_leave. */
	if (wf_membarrier_own() &&
		!atomic_load_explicit(&gate->inside, memory_order_acquire)) {
		mine = gate;
		return true;
	}
	/* release: the application's thread may see this store in place of that of an
	 * earlier wf_gate_open. */
	atomic_store_explicit(&gate->closed, 0, memory_order_release);
	return false;
}

void wf_gate_open(struct wf_gate *gate)
{
	mine = NULL;
	/* release: pairs with the acquire in wf_gate_enter. */
	atomic_store_explicit(&gate->closed, 0, memory_order_release);
}

/* Is the gate closed by a thread of this process? In a forked child it may be closed by
 * a thread that only the parent has. */
static bool gate_is_closed(const struct wf_gate *gate)
{
	/* acquire: pairs with the release in wf_gate_open. */
	return atomic_load_explicit(&gate->closed, memory_order_acquire) &&
	       !wf_is_forked_since(depth);
}

void wf_gate_wait(struct wf_gate *gate)
{
	int err = errno;

	do {
		/* release: as in wf_gate_leave. */
		atomic_store_explicit(&gate->inside, 0, memory_order_release);
		for (unsigned int i = 0; gate_is_closed(gate); i++) {
			if (i < SPINS)
				wf_cpu_relax();
			else
				wf_pause(i - SPINS);
		}
		atomic_store_explicit(&gate->inside, 1, memory_order_relaxed);
		atomic_signal_fence(memory_order_seq_cst);
	} while (gate_is_closed(gate));
	errno = err;
}
