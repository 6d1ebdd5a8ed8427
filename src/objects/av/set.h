/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_AV_SET_H
#define WF_OBJECTS_AV_SET_H

#include <stdatomic.h>
#include <rdma/fi_collective.h>

#include "objects/av/av.h"

/*
 * An ordered set of addresses of one AV, whose lock guards it. @member tells the
 * order, @in has a bit for each index that is a member, so that no call searches. It
 * may take @limit members.
 *
 * A set opened with FI_PEER has no members of its own: it asks its owner's (@peer).
 */
struct wf_av_set {
	struct fid_av_set fid;
	struct wf_av *av;
	fi_addr_t *member;
	size_t count, room, limit;
	uint64_t *in;
	size_t in_words;
	uint64_t flags;
	atomic_int refs; /* groups joined, exports */
	struct fid_peer_av_set *peer;
};

static inline struct wf_av_set *wf_av_set_of(const struct fid_av_set *fid)
{
	return wf_container_of(fid, struct wf_av_set, fid);
}

/* fi_ops_av.av_set. */
int wf_av_set_open(struct fid_av *av, struct fi_av_set_attr *attr,
	struct fid_av_set **ret_set, void *context);

/* Copy the members to @addr and their number to *count; -FI_ETOOSMALL and only the
 * number when there is no room for them. */
int wf_av_set_members(struct wf_av_set *set, fi_addr_t *addr, size_t *count);

/* Fill @ret for import into a peer; see wf_av_export. */
int wf_av_set_export(struct wf_av_set *set, struct fid_peer_av_set *ret);
void wf_av_set_unexport(struct fid_peer_av_set *peer);

/* Groups joined; fi_close answers -FI_EBUSY while there are any. */
static inline void wf_av_set_ref(struct wf_av_set *set)
{
	atomic_fetch_add_explicit(&set->refs, 1, memory_order_relaxed);
}

static inline void wf_av_set_unref(struct wf_av_set *set)
{
	/* release: the group is done with the set before fi_close may pass. */
	atomic_fetch_sub_explicit(&set->refs, 1, memory_order_release);
}

#endif
