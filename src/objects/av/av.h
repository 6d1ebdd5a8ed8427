/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_AV_H
#define WF_OBJECTS_AV_H

#include <stdatomic.h>
#include <stdbool.h>
#include <rdma/fi_domain.h>
#include <rdma/providers/fi_peer.h>

#include "objects/av/table.h"
#include "objects/domain/domain.h"
#include "objects/eq/eq.h"
#include "sys/lock.h"

struct wf_av_shared;

/*
 * An address vector of fixed-size addresses: those of IP sockets, and names of
 * endpoints on this machine (FI_ADDR_STR), padded.
 *
 * A fi_addr_t is the index of a slot: the lowest free one, so a table AV counts up
 * from 0 and FI_AV_MAP does the same. What readers and writers may do at once is told
 * in table.h; @lock guards all changes, @eq and the AV sets, and is a leaf: nothing
 * is called under it that takes another lock. User ids have segments of their own,
 * made when the first id is set.
 *
 * An AV with a name lives in a shared memory object (@shared). One opened with FI_PEER
 * holds nothing and refers to its owner's (@peer).
 */
struct wf_av {
	struct wf_av_table table;
	uint64_t index_mask; /* clears receive context bits and group id */
	_Atomic uintptr_t ids[WF_AV_SEGMENTS]; /* like the slots of the table */
	bool id_only; /* FI_AV_USER_ID at open: what has no id has no address */

	struct fid_av fid;
	struct wf_domain *domain;
	struct fi_av_attr attr; /* name and map_addr are those of @shared */
	atomic_int refs;        /* endpoints bound, sets, exports */
	struct wf_lock lock;
	struct wf_eq *eq;
	struct wf_av_shared *shared;
	struct fid_peer_av *peer;
	pthread_mutex_t watch_lock; /* of @watches; a leaf */
	struct wf_list watches;
	void *prov_data; /* the provider's own, from wf_prov.av_opened on */
};

/* Somebody who wants to know that addresses were inserted, or removed, by this process.
 * No lock of the AV is held. */
struct wf_av_watch {
	void (*inserted)(struct wf_av_watch *watch);
	/* Nothing is at these @count indexes any more, unless it is something new. */
	void (*removed)(struct wf_av_watch *watch, const uint64_t *index, size_t count);
	struct wf_list link;
	atomic_uint holds; /* threads that tell it something right now */
};

/* After wf_av_watch_del returned, nobody begins to tell @watch anything, but somebody
 * may be at it: it lives until wf_av_watch_wait returned, which is called without any
 * lock that its functions take. del is called with whatever lock. */
void wf_av_watch_add(struct wf_av *av, struct wf_av_watch *watch);
/* It is told before all others that are there. */
void wf_av_watch_add_first(struct wf_av *av, struct wf_av_watch *watch);
void wf_av_watch_del(struct wf_av *av, struct wf_av_watch *watch);
bool wf_av_watch_is_told(struct wf_av_watch *watch);
void wf_av_watch_wait(struct wf_av_watch *watch);

static inline struct wf_av *wf_av_of(struct fid_av *fid)
{
	return wf_container_of(fid, struct wf_av, fid);
}

int wf_av_open(struct fid_domain *domain, struct fi_av_attr *attr,
	struct fid_av **ret_av, void *context);

/* For addresses that this process has not seen yet. */
const void *wf_av_addr_slow(struct wf_av *av, uint64_t index);

/* The address at @addr, or NULL when nothing is inserted there. Stays in place until
 * it is removed; its length is wf_av_addrlen, of a text up to its NUL. */
static inline const void *wf_av_addr(struct wf_av *av, fi_addr_t addr)
{
	const struct wf_av_slot *slot;

	addr &= av->index_mask;
	slot = wf_av_slot_at(&av->table, addr);
	if (wf_unlikely(!slot))
		return wf_av_addr_slow(av, addr);
	return wf_likely(wf_av_slot_live(slot)) ? wf_av_slot_addr(&av->table, slot)
						: NULL;
}

static inline size_t wf_av_addrlen(const struct wf_av *av)
{
	return av->table.format->addr_len;
}

/* Where @addr (a raw address of the AV's format) is inserted: an index, or
 * FI_ADDR_NOTAVAIL. Takes no lock unless addresses are being removed meanwhile. */
fi_addr_t wf_av_index(struct wf_av *av, const void *addr, size_t addrlen);

/* What completions report for @index: its user id where one is set. */
static inline fi_addr_t wf_av_report(const struct wf_av *av, fi_addr_t index)
{
	uintptr_t ids;

	if (index >> WF_AV_MAX_BITS)
		return FI_ADDR_NOTAVAIL;
	/* acquire: pairs with the release in wf_av_set_id; the ids are initialised. */
	ids = atomic_load_explicit(
		&av->ids[wf_av_segment(index)], memory_order_acquire);
	if (!ids)
		return av->id_only ? FI_ADDR_NOTAVAIL : index;
	return atomic_load_explicit(
		(_Atomic uint64_t *)(ids + index * sizeof(uint64_t)),
		memory_order_relaxed);
}

/* Was @addr inserted with FI_FIREWALL_ADDR: it does not accept connections. */
static inline bool wf_av_firewalled(struct wf_av *av, fi_addr_t addr)
{
	const struct wf_av_slot *slot =
		wf_av_slot_at(&av->table, addr & av->index_mask);

	return slot && (atomic_load_explicit(&slot->state, memory_order_relaxed) &
			       WF_AV_FIREWALLED);
}

static inline struct wf_domain *wf_av_domain(struct wf_av *av)
{
	return av->domain;
}

/* Endpoints bound; fi_close answers -FI_EBUSY while there are any. */
static inline void wf_av_ref(struct wf_av *av)
{
	atomic_fetch_add_explicit(&av->refs, 1, memory_order_relaxed);
}

static inline void wf_av_unref(struct wf_av *av)
{
	/* release: what the user of the AV did is done before fi_close may pass. */
	atomic_fetch_sub_explicit(&av->refs, 1, memory_order_release);
}

/* Print a raw address as fi_av_straddr(3) says: at most *len bytes, and *len becomes
 * what the whole text needs. NULL when the format is not known. */
const char *wf_av_straddr(
	uint32_t addr_format, const void *addr, char *buf, size_t *len);

/* Fill @ret for import into a peer, each peer its own: its owner_ops answer for @av,
 * which stays open until wf_av_unexport. -FI_EINVAL: it is imported itself. See
 * objects/peer/open.h. */
int wf_av_export(struct wf_av *av, struct fid_peer_av *ret);
void wf_av_unexport(struct fid_peer_av *peer);

#endif
