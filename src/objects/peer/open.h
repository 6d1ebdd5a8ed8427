/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_PEER_OPEN_H
#define WF_OBJECTS_PEER_OPEN_H

#include <rdma/fabric.h>
#include <rdma/fi_collective.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_eq.h>
#include <rdma/providers/fi_peer.h>

/*
 * How the owner of an object hands it to a peer (fi_peer(3)): each call is the peer's
 * ordinary open call with FI_PEER and the right context. The peer may be any provider.
 *
 * An object of ours is first exported, once for each peer, into a fid_peer_* that the
 * caller keeps:
 *
 *   wf_cq_export, wf_cntr_export, wf_av_export, wf_av_set_export, wf_srx_export
 *
 * (domains and event queues are handed over as they are). As long as it is exported the
 * object cannot be closed. The order of the end: let the peer progress no more; for
 * receive contexts, wf_srx_drain; close the peer's object; wf_*_unexport; close the
 * object.
 *
 * What the owner does after that:
 *   CQ, counter  fi_cq_read(peer, NULL, 0), fi_cntr_read(peer) let the peer progress.
 *                Hold the lock of every receive context that the peer asks meanwhile:
 *                wf_srx_lock, as for anything else that may end in a call of the peer
 *                into the context, the closing of its endpoint too (or wf_srx_detach
 *                comes before).
 *   wait objects a CQ of a peer of ours may be opened with FI_WAIT_FD: its descriptor,
 *                by fi_control(FI_GETWAIT), is readable when the peer has to progress,
 *                after fi_trywait on the peer's fabric returned 0.
 *   addresses    what comes from the peer is in the peer's numbering: its user ids
 *                where they are set (fi_av_set_user_id), which is how an owner gets his
 *                own. That holds for completions and for receive contexts. fi_av_insert
 *                and fi_av_set_user_id of a peer take the lock of the context.
 *   completions  a receive completes when its entry has FI_COMPLETION, or when the
 *                peer's CQ is bound without FI_SELECTIVE_COMPLETION.
 *
 * -FI_EINVAL: the peer cannot import such an object.
 */

/* @attr is not changed; what it has for format, size and wait object is the peer's. */
int wf_peer_open_cq(struct fid_domain *peer, const struct fi_cq_attr *attr,
	struct fid_peer_cq *cq, struct fid_cq **ret_cq);
int wf_peer_open_cntr(struct fid_domain *peer, const struct fi_cntr_attr *attr,
	struct fid_peer_cntr *cntr, struct fid_cntr **ret_cntr);

/* The result is for fi_ep_bind to the peer's endpoints. Afterwards the peer's
 * operations are in @srx->peer_ops: -FI_EINVAL when they are not. */
int wf_peer_open_srx(struct fid_domain *peer, const struct fi_rx_attr *attr,
	struct fid_peer_srx *srx, struct fid_ep **ret_srx);

#endif
