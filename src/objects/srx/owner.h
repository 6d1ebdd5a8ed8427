/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_SRX_OWNER_H
#define WF_OBJECTS_SRX_OWNER_H

#include "objects/srx/srx.h"

/* Calls of a transport into the owner of its receive context; see srx.h. The owner's
 * lock is held. */

extern struct fi_ops_srx_owner wf_srx_owner_ops;

int wf_srx_own_get_msg(struct fid_peer_srx *fid, struct fi_peer_match_attr *attr,
	struct fi_peer_rx_entry **ret_entry);
int wf_srx_own_get_tag(struct fid_peer_srx *fid, struct fi_peer_match_attr *attr,
	struct fi_peer_rx_entry **ret_entry);
/* Save the unexpected message of @entry, with @size bytes of payload memory. @type:
 * FI_MSG or FI_TAGGED. If the context is imported, this calls the owner's queue_msg or
 * queue_tag. NULL: no memory; @entry is still valid. */
struct wf_srx_unexpected *wf_srx_save(uint64_t type, struct fi_peer_rx_entry *entry,
	struct wf_srx_origin *origin, size_t size);
/* Give the message, which has at least WF_SRX_ENLARGE_MIN bytes of payload memory,
 * @size bytes instead, with undefined contents. @fid: the context that it was saved in.
 * False: no memory, and nothing is changed. */
enum { WF_SRX_ENLARGE_MIN = 16 };
bool wf_srx_enlarge(
	struct fid_peer_srx *fid, struct wf_srx_unexpected *unexp, size_t size);
/* Give the message of @srx, a context of this library, that was saved with more than
 * WF_SRX_GROW_MIN bytes of payload memory @size bytes, which are more; the bytes that
 * are there stay. False: no memory. */
bool wf_srx_grow(
	struct fid_peer_srx *srx, struct wf_srx_unexpected *unexp, size_t size);
void wf_srx_release(struct wf_srx_origin *origin, struct wf_srx_unexpected *unexp);
/* The origin of the unexpected message entry->peer_context. */
struct wf_srx_origin *wf_srx_origin(const struct fi_peer_rx_entry *entry);
void wf_srx_own_free_entry(struct fi_peer_rx_entry *entry);

/* Does this library own the context? Then the call needs no table of operations. */
static inline bool wf_srx_is_own(const struct fid_peer_srx *srx)
{
	return wf_likely(srx->owner_ops == &wf_srx_owner_ops);
}

static inline int wf_srx_get_msg(struct fid_peer_srx *srx,
	struct fi_peer_match_attr *attr, struct fi_peer_rx_entry **ret_entry)
{
	return wf_srx_is_own(srx) ? wf_srx_own_get_msg(srx, attr, ret_entry)
				  : srx->owner_ops->get_msg(srx, attr, ret_entry);
}

static inline int wf_srx_get_tag(struct fid_peer_srx *srx,
	struct fi_peer_match_attr *attr, struct fi_peer_rx_entry **ret_entry)
{
	return wf_srx_is_own(srx) ? wf_srx_own_get_tag(srx, attr, ret_entry)
				  : srx->owner_ops->get_tag(srx, attr, ret_entry);
}

static inline void wf_srx_free_entry(struct fi_peer_rx_entry *entry)
{
	if (wf_srx_is_own(entry->srx))
		wf_srx_own_free_entry(entry);
	else
		entry->srx->owner_ops->free_entry(entry);
}

#endif
