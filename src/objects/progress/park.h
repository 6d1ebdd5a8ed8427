/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_PROGRESS_PARK_H
#define WF_OBJECTS_PROGRESS_PARK_H

#include "objects/progress/progress.h"

/* Shared by progress.c and park.c. Except for push_woken, the caller holds the list's
 * lock. */

/* Ask the list of @ref to unpark it at its next run. Any thread may call this, without
 * the list's lock; the caller keeps @ref from being freed. */
void wf_progress_push_woken(struct wf_progress_ref *ref);
/* Unpark all items that were pushed. */
void wf_progress_take_woken(struct wf_progress_list *list);
/* Mark the item as awake: the list runs it again. */
void wf_progress_unpark_item(struct wf_progress_ref *ref);
/* Remove @ref from the list. It was unlinked from its item, so no thread pushes it. */
void wf_progress_forget(struct wf_progress_ref *ref);

#endif
