/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_AV_SET_H
#define WF_OBJECTS_AV_SET_H

#include <stdatomic.h>
#include <rdma/fi_collective.h>

#include "objects/av/av.h"

/*
 * An AV set (fi_av_set(3)): an ordered set of addresses of one AV, guarded by the AV's
 * lock.
 *
 * A set opened with FI_PEER has no members of its own: it asks its owner's (@peer).
 */
struct wf_av_set {
	struct fid_av_set fid;
	struct wf_av *av;
	fi_addr_t *member; /* @count members in their order, memory for @capacity */
	size_t count, capacity, limit; /* limit: the most members that are allowed */
	uint64_t *in;    /* bitmap of @in_words words: bit i is set if i is a member */
	size_t in_words; /* 64-bit words in @in */
	uint64_t flags;  /* fi_av_set_attr.flags */
	atomic_int refs; /* groups joined, exports */
	struct fid_peer_av_set *peer; /* the owner's set of an imported one, or NULL */
	struct wf_list link;          /* in av->sets */
};

static inline struct wf_av_set *wf_av_set_of(const struct fid_av_set *fid)
{
	return wf_container_of(fid, struct wf_av_set, fid);
}

/* fi_ops_av.av_set; see fi_av_set(3). */
int wf_av_set_open(struct fid_av *av, struct fi_av_set_attr *attr,
	struct fid_av_set **ret_set, void *context);

/* Copy the members to @addr, which has space for *count, and store their number in
 * *count. -FI_ETOOSMALL: only the number is stored. Takes the AV's lock. */
int wf_av_set_members(struct wf_av_set *set, fi_addr_t *addr, size_t *count);

/* Does the open set of @av with the address @coll_addr (fi_av_set_addr(3)), which may
 * be any number, contain the @count addresses at @addr? -FI_EINVAL: there is no such
 * set, or it lacks one. Takes the AV's lock. */
int wf_av_set_covers(
	struct wf_av *av, fi_addr_t coll_addr, const fi_addr_t *addr, size_t count);

/* The set behind @fid if it is open on @av and has members of its own; NULL: not. @fid
 * may be any address. Takes the AV's lock. */
struct wf_av_set *wf_av_set_open_on(struct wf_av *av, const struct fid_av_set *fid);

/* Fill @ret for import into a peer; see wf_av_export. */
int wf_av_set_export(struct wf_av_set *set, struct fid_peer_av_set *ret);
void wf_av_set_unexport(struct fid_peer_av_set *peer);

/* Count a group that joined; fi_close returns -FI_EBUSY while there are any. */
static inline void wf_av_set_ref(struct wf_av_set *set)
{
	atomic_fetch_add_explicit(&set->refs, 1, memory_order_relaxed);
}

static inline void wf_av_set_unref(struct wf_av_set *set)
{
	/* release: the group's accesses happen before fi_close frees the set. */
	atomic_fetch_sub_explicit(&set->refs, 1, memory_order_release);
}

#endif
