/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_MEMBARRIER_H
#define WF_SYS_MEMBARRIER_H

#include <stdbool.h>

/*
 * A full memory barrier that one thread executes for all threads of all processes that
 * have joined, or for all threads of its own process; membarrier(2). It orders a rare
 * action of one thread with a frequent action of another one, which then needs no
 * barrier. Any thread may call.
 */

/* Let barriers of other processes apply to this process. False: the kernel does not
 * support them; both actions need fences. */
bool wf_membarrier_join(void);
/* Execute a barrier. False: the kernel does not support it; the call is a fence of the
 * calling thread only. */
bool wf_membarrier(void);

/* The same for the threads of this process alone: allow it, and execute it. */
bool wf_membarrier_join_own(void);
bool wf_membarrier_own(void);

#endif
