/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_PROGRESS_PARK_H
#define WF_OBJECTS_PROGRESS_PARK_H

#include "objects/progress/progress.h"

/* Between progress.c and park.c. The list's lock is held, but for the first. */

/* The ref's list will rouse it. Any thread; the ref stays meanwhile. */
void wf_progress_push_woken(struct wf_progress_ref *ref);
/* Rouse all that were pushed. */
void wf_progress_take_woken(struct wf_progress_list *list);
/* From now on it is among those that run. */
void wf_progress_unpark_item(struct wf_progress_ref *ref);
/* Take it out of the list; nobody pushes it any more. */
void wf_progress_forget(struct wf_progress_ref *ref);

#endif
