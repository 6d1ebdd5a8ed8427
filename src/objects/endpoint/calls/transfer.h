/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_ENDPOINT_CALLS_TRANSFER_H
#define WF_OBJECTS_ENDPOINT_CALLS_TRANSFER_H

#include "objects/endpoint/endpoint.h"

/*
 * Transfers of a peer over an endpoint of this library (FI_PEER_TRANSFER in
 * fi_peer(3)): the peer, for example an offload provider, posts operations on the
 * endpoint with that flag, and their results go to its callbacks instead of the
 * endpoint's CQ and counters.
 *
 * The thread that runs the endpoint's progress calls the callbacks without holding a
 * lock, one at a time for each endpoint; never inside the call that posted the
 * operation, nor inside another callback. In a callback the peer may post operations,
 * write to the endpoint's CQ and EQ, register memory and read the CQ.
 *
 * An endpoint has at most one peer. On one with FI_COLLECTIVE every tagged transfer of
 * the peer has WF_OP_PEER_TAG in its tag and no message of the application has it, so
 * that neither ever matches the other (peer_tag.c); the peer's receives do not count
 * against the limit of posted receives.
 *
 * On an endpoint with FI_SOURCE a tagged receive of the peer may name a source, also if
 * the application's may not, and callbacks report sources as indices in the AV, also if
 * the application has set ids.
 */

/*
 * Open an endpoint of the domain @peer, which requests peer transfers in
 * @peer_info->mode, on top of @ep; it gets our attributes as context->info. @ep must
 * not be enabled yet. 0, or a code of the peer's fi_endpoint; -FI_EBUSY: @ep has a
 * peer; -FI_EINVAL: the peer gave no callbacks.
 */
int wf_transfer_open(struct wf_ep *ep, struct fid_domain *peer,
	struct fi_info *peer_info, struct fid_ep **ret_peer_ep);

/* Close the peer's endpoint, which wf_transfer_open returned, and drop results that
 * were not reported to it yet. The peer posts no more operations with FI_PEER_TRANSFER.
 * The closing of @ep does this, too. 0, or the code of fi_close: the peer's endpoint is
 * still open. No lock is held. */
int wf_transfer_close(struct wf_ep *ep);

/* @below is an endpoint that carries messages of @ep, whose provider is a layer:
 * results of the peer's transfers on @below go to the peer of @ep. Called before @below
 * is enabled; @ep is closed after @below. */
void wf_transfer_lend(const struct wf_ep *ep, struct wf_ep *below);

#endif
