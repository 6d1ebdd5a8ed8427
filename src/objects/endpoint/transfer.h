/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_ENDPOINT_TRANSFER_H
#define WF_OBJECTS_ENDPOINT_TRANSFER_H

#include "objects/endpoint/endpoint.h"

/*
 * Transfers of a peer over an endpoint of ours (FI_PEER_TRANSFER of fi_peer(3)): the
 * peer, an offload provider say, posts operations on our endpoint with that flag, and
 * their results go to its callbacks instead of our CQ and counters.
 *
 * Callbacks run without any lock of ours, one at a time for each endpoint, by whoever
 * makes the endpoint progress; never inside the call that posted, nor inside another
 * callback. In a callback the peer may post, write to our CQ and EQ, register memory
 * and read our CQ.
 *
 * One peer for each endpoint.
 */

/*
 * Open an endpoint of @peer, which asks for peer transfers in @peer_info->mode, on top
 * of
 * @ep; our attributes are what it gets as context->info. @ep is not enabled yet. Codes
 * of the peer's fi_endpoint; -FI_EBUSY: @ep has a peer; -FI_EINVAL: the peer gave no
 * callbacks.
 */
int wf_transfer_open(struct wf_ep *ep, struct fid_domain *peer,
	struct fi_info *peer_info, struct fid_ep **ret_peer_ep);

/* No operation with the flag is posted any more: close the peer's endpoint, which
 * wf_transfer_open returned, and let results go that nobody took. The endpoint's close
 * does it too. */
int wf_transfer_close(struct wf_ep *ep);

#endif
