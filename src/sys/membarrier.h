/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_MEMBARRIER_H
#define WF_SYS_MEMBARRIER_H

#include <stdbool.h>

/*
 * A full memory barrier that one thread executes for all threads of all processes that
 * have joined: what a frequent action needs against a rare one of another process,
 * without a barrier in the frequent one. See membarrier(2). Any thread may call.
 */

/* Let barriers reach this process. False: the kernel has none, use fences. */
bool wf_membarrier_join(void);
/* Execute one. False: the kernel has none; it is a fence of this thread. */
bool wf_membarrier(void);

#endif
