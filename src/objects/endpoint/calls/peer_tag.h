/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_ENDPOINT_CALLS_PEER_TAG_H
#define WF_OBJECTS_ENDPOINT_CALLS_PEER_TAG_H

#include "objects/endpoint/endpoint.h"

/* Keeps the tags of a peer's transfers (transfer.h) apart from the application's. */

/* Replace the calls in ep->tagged_ops by calls that check tags. The replaced calls go
 * to wf_transfer_tagged. ep->control is held. */
void wf_ep_peer_tag_finish(struct wf_ep *ep);
struct fi_ops_tagged *wf_transfer_tagged(struct wf_transfer *transfer);

/* May deferred work of the application have @tag? Removes the peer's bit from *@ignore.
 * 0; -FI_EINVAL, logged; -FI_ENOSYS: only the peer has tagged messages. No lock is
 * held. */
int wf_ep_peer_tag_check(const struct wf_ep *ep, uint64_t tag, uint64_t *ignore);

#endif
