/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_FORKS_H
#define WF_SYS_FORKS_H

#include <stdbool.h>
#include <stdint.h>

/*
 * Whether this process is the one that made an object. Memory that is shared with other
 * processes is missing in a forked child (MADV_DONTFORK), so the child must not touch
 * what it inherited. As cheap as a load, unlike getpid(2). (A child that is made
 * without the handlers of fork(2), by clone(2) for example, is not noticed.)
 */

/* Forks from the first process to this one; changes only between fork(2) and its return
 * in the child. */
extern uint32_t wf_fork_depth;

/* From now on forks are counted; before the object is made. 0 or a negative errno. */
int wf_forks_count(void);

static inline bool wf_is_forked_since(uint32_t depth)
{
	return wf_fork_depth != depth;
}

#endif
