/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_PROGRESS_THREAD_H
#define WF_OBJECTS_PROGRESS_THREAD_H

#include "objects/progress/progress.h"

/*
 * A thread that runs the items of one list whenever their descriptors say that there
 * is work, and sleeps in the kernel otherwise. Items come and go while it runs; once
 * wf_progress_list_del returned, the thread does not touch the item again.
 */
struct wf_progress_thread;

/* On success the list gives its descriptors to the thread until it is stopped. The
 * list's lock must be a real one. */
int wf_progress_thread_start(
	struct wf_progress_list *list, struct wf_progress_thread **ret_thread);

/* Wakes, joins and frees it; NULL is allowed. Never called from the thread itself. */
void wf_progress_thread_stop(struct wf_progress_thread *thread);

#endif
