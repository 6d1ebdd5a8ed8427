/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_EQ_QUEUE_H
#define WF_OBJECTS_EQ_QUEUE_H

#include "objects/eq/eq.h"

/* The list of events inside an event queue; eq.c is the object around it. */

/* Queue an event of the application (fi_eq_write). -FI_EAGAIN: the queue is full. */
ssize_t wf_eq_insert(struct wf_eq *eq, uint32_t event, const void *buf, size_t len);

/* Copy the first event, or the first error, and remove it unless @flags has FI_PEEK.
 * -FI_EAGAIN: there is none; -FI_EAVAIL: an error is first. */
ssize_t wf_eq_take(
	struct wf_eq *eq, uint32_t *event, void *buf, size_t len, uint64_t flags);
ssize_t wf_eq_take_err(struct wf_eq *eq, struct fi_eq_err_entry *buf, uint64_t flags);

/* Allocate the event that is used when there is no memory. Returns 0 or -FI_ENOMEM. */
int wf_eq_spare_init(struct wf_eq *eq);

/* Free all events, the spare one too, with the fi_info of each FI_CONNREQ that was not
 * read. */
void wf_eq_drop_all(struct wf_eq *eq);

/* True if @fid was opened by wf_eq_open of this library, false for a foreign EQ. */
bool wf_eq_is_ours(const struct fid_eq *fid);

#endif
