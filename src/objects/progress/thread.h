/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_PROGRESS_THREAD_H
#define WF_OBJECTS_PROGRESS_THREAD_H

#include "objects/progress/progress.h"

/*
 * A thread that runs the items of one list whenever their descriptors report work, and
 * sleeps in the kernel otherwise. Items may be added and removed while it runs; once
 * wf_progress_list_del returned, the thread does not touch the item again.
 */
struct wf_progress_thread;

/* Start the thread. Until wf_progress_thread_stop the list's wait is the thread's. The
 * list's lock must not be a gate. 0 or a negative fabric errno. */
int wf_progress_thread_start(
	struct wf_progress_list *list, struct wf_progress_thread **ret_thread);

/* Stop, join and free @thread; NULL is allowed. Never called from the thread itself. */
void wf_progress_thread_stop(struct wf_progress_thread *thread);

#endif
