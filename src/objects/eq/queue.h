/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_EQ_QUEUE_H
#define WF_OBJECTS_EQ_QUEUE_H

#include "objects/eq/eq.h"

/* The list of events inside an event queue; eq.c is the object around it. */

/* What fi_eq_write does: -FI_EAGAIN when the application has filled the queue. */
ssize_t wf_eq_insert(struct wf_eq *eq, uint32_t event, const void *buf, size_t len);

/* Copy the first event, or the first error, and unless FI_PEEK is given take it.
 * -FI_EAGAIN: none; -FI_EAVAIL: an error is first. */
ssize_t wf_eq_take(
	struct wf_eq *eq, uint32_t *event, void *buf, size_t len, uint64_t flags);
ssize_t wf_eq_take_err(struct wf_eq *eq, struct fi_eq_err_entry *buf, uint64_t flags);

/* Free everything, with what events own that nobody reads any more. */
void wf_eq_drop_all(struct wf_eq *eq);

/* Was it opened by wf_eq_open of this library, and not by a stranger? */
bool wf_eq_is_ours(const struct fid_eq *fid);

#endif
