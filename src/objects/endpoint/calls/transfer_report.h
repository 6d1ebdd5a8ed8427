/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_ENDPOINT_CALLS_TRANSFER_REPORT_H
#define WF_OBJECTS_ENDPOINT_CALLS_TRANSFER_REPORT_H

#include "objects/endpoint/endpoint.h"

/* A peer's transfers (transfer.h) as the rest of the endpoint sees them. */

/* Reserve memory for the result of an operation, before it starts: 0 or -FI_ENOMEM; and
 * give it back, because the operation did not start. No lock is needed. */
int wf_transfer_reserve(struct wf_transfer *transfer);
void wf_transfer_unreserve(struct wf_transfer *transfer);

/* Report a result to the peer: a copy of @entry goes to its callback later, without
 * err_data if there is no memory for these. 0, or -FI_ENOMEM if nothing was reserved.
 * Any lock of the endpoint may be held. */
ssize_t wf_transfer_put(struct wf_transfer *transfer,
	const struct fi_cq_tagged_entry *entry, fi_addr_t src);
ssize_t wf_transfer_put_err(
	struct wf_transfer *transfer, const struct fi_cq_err_entry *entry);

/* The progress item that calls the peer's callbacks. */
struct wf_progress *wf_transfer_progress(struct wf_transfer *transfer);

/* Was the peer opened on @ep itself? False as well if its transfers come through a
 * provider above @ep (wf_transfer_lend). */
bool wf_transfer_owned(const struct wf_ep *ep);

/* Free the memory that wf_transfer_open allocated. No thread runs @ep any more. */
void wf_transfer_free(struct wf_ep *ep);

#endif
