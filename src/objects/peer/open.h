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
 * Functions with which the owner of an object opens it in a peer (fi_peer(3)): each one
 * is the peer's ordinary open call with FI_PEER and the matching context. The peer may
 * be any provider.
 *
 * The owner first exports its object, once for each peer, into a fid_peer_* that the
 * owner keeps:
 *
 *   wf_cq_export, wf_cntr_export, wf_av_export, wf_av_set_export, wf_srx_export
 *
 * (domains and event queues are imported without that). An exported object cannot be
 * closed. Order of closing: stop the progress of the peer; for receive contexts,
 * wf_srx_drain; close the peer's object; wf_*_unexport; close the object.
 *
 * While the peer's object is open:
 *   CQ, counter  fi_cq_read(peer, NULL, 0) and fi_cntr_read(peer) make the peer's
 *                progress. The owner holds the lock of every receive context that the
 *                peer may call meanwhile (wf_srx_lock). It does so around every other
 *                call that may make the peer call into the context, too: the closing of
 *                the peer's endpoint, unless wf_srx_detach was called before.
 *   wait objects a CQ of a peer in this library may be opened with FI_WAIT_FD: after
 *                fi_trywait on the peer's fabric returned 0, its descriptor, from
 *                fi_control(FI_GETWAIT), becomes readable when the peer has work.
 *   addresses    completions and receive contexts get the peer's addresses from the
 *                peer: user ids where they are set. The owner sets its own addresses as
 *                user ids (fi_av_set_user_id). fi_av_insert and fi_av_set_user_id of a
 *                peer take the lock of the receive context.
 *   completions  a receive writes a completion when its entry has FI_COMPLETION, or
 *                when the peer's CQ is bound without FI_SELECTIVE_COMPLETION.
 *
 * -FI_EINVAL: the peer cannot import such an object.
 */

/* The peer applies the format, size and wait object of @attr; @attr is not changed. */
int wf_peer_open_cq(struct fid_domain *peer, const struct fi_cq_attr *attr,
	struct fid_peer_cq *cq, struct fid_cq **ret_cq);
int wf_peer_open_cntr(struct fid_domain *peer, const struct fi_cntr_attr *attr,
	struct fid_peer_cntr *cntr, struct fid_cntr **ret_cntr);

/* The result is bound to the peer's endpoints with fi_ep_bind. The peer stores its
 * operations in @srx->peer_ops; -FI_EINVAL when one is missing. */
int wf_peer_open_srx(struct fid_domain *peer, const struct fi_rx_attr *attr,
	struct fid_peer_srx *srx, struct fid_ep **ret_srx);

#endif
