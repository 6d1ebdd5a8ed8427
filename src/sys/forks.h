/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_FORKS_H
#define WF_SYS_FORKS_H

#include <stdbool.h>
#include <stdint.h>

#include "sys/list.h"

/*
 * Tells whether this process is the one that made an object, or a forked child. Memory
 * that is shared with other processes is missing in a child (MADV_DONTFORK), so a child
 * must not use objects that refer to it. The answer takes one load, unlike getpid(2). A
 * child that is made without the handlers of fork(2), by clone(2) for example, is not
 * noticed.
 */

/* Number of forks between the process that called wf_forks_count first and this one. It
 * changes only in a child, before fork(2) returns. An object keeps the value of the
 * time when it was made. */
extern uint32_t wf_fork_depth;

/* Count forks from now on; called before an object is made. 0 or a negative errno. Any
 * thread, any number of calls. */
int wf_forks_count(void);

/* An object that a forked child makes unusable. */
struct wf_fork_hook {
	struct wf_list link;
	/* Called in the child, by its only thread, before fork(2) returns there: must
	 * not allocate or wait for a lock. */
	void (*in_child)(struct wf_fork_hook *hook);
};

/* Have @hook called in each child from now on, until it is removed. 0 or a negative
 * errno. Any thread. A child may remove hooks as well. */
int wf_fork_hook_add(
	struct wf_fork_hook *hook, void (*in_child)(struct wf_fork_hook *hook));
/* No-op if @hook, which is all zero, was never added. */
void wf_fork_hook_remove(struct wf_fork_hook *hook);

/* Around what a thread of the library does: no process is forked meanwhile, so that a
 * child finds no lock held by a thread that it does not have. Sections do not nest, and
 * may end in another thread than they began in. The caller's locks are not taken while
 * a process forks. */
void wf_fork_defer(void);
void wf_fork_allow(void);

/* Is this process a child of the one in which wf_fork_depth was @depth? */
static inline bool wf_is_forked_since(uint32_t depth)
{
	return wf_fork_depth != depth;
}

#endif
