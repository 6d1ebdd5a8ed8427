/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_AV_AV_H
#define WF_OBJECTS_AV_AV_H

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
 * An address vector (fi_av(3)) of fixed-size addresses: IP socket addresses, and names
 * of endpoints on this machine (FI_ADDR_STR), padded.
 *
 * A fi_addr_t is the index of a slot: the lowest free one, so a table AV counts up
 * from 0 and FI_AV_MAP does the same. table.h says what readers and writers may do
 * concurrently; @lock guards all changes, @eq and the AV sets, and is a leaf: no other
 * lock is taken under it. User ids have segments of their own, made when the first id
 * is set.
 *
 * An AV with a name is in a shared memory object (@shared). An AV opened with
 * FI_PEER holds no addresses and refers to its owner's AV (@peer).
 */
struct wf_av {
	struct wf_av_table table;
	uint64_t index_mask; /* clears receive context bits and group id */
	/* User ids by segment, addressed like the table's slots, each as its difference
	 * (exclusive or) from wf_av_unset_id; 0: no id was set. */
	_Atomic uintptr_t ids[WF_AV_SEGMENTS];
	/* Opened with FI_AV_USER_ID: completions report FI_ADDR_NOTAVAIL for an
	 * address without an id. */
	bool id_only;

	struct fid_av fid;
	struct wf_domain *domain;
	/* Attributes that the AV was opened with. name and map_addr: a copy and the
	 * address of the mapping, for an AV with a name, else NULL. */
	struct fi_av_attr attr;
	atomic_int refs;             /* endpoints bound, sets, exports */
	struct wf_lock lock;         /* guards changes, see above */
	struct wf_eq *eq;            /* bound by fi_av_bind, or NULL */
	struct wf_av_shared *shared; /* NULL: a private table */
	struct fid_peer_av *peer;    /* the owner's AV of an imported one, or NULL */
	pthread_mutex_t watch_lock;  /* guards @watches; a leaf */
	struct wf_list watches;      /* struct wf_av_watch, in the order of calling */
	struct wf_list sets;         /* struct wf_av_set: all that are open */
	void *prov_data;             /* the provider's own, from wf_prov.av_opened on */
};

/* Callbacks for addresses that this process inserts or removes. They are called without
 * any lock of the AV. */
struct wf_av_watch {
	void (*inserted)(struct wf_av_watch *watch); /* Addresses were inserted. */
	/* The addresses at these @count indexes were removed; new addresses may have
	 * been inserted there since. */
	void (*removed)(struct wf_av_watch *watch, const uint64_t *index, size_t count);
	struct wf_list link; /* in wf_av.watches */
	atomic_uint holds;   /* number of threads inside a callback of this watch */
};

/* Register a watch, and remove it. After wf_av_watch_del returned no new callback
 * begins, but one may still run: free @watch only after wf_av_watch_wait, which is
 * called without any lock that the callbacks take. del may be called with any lock but
 * the AV's watch_lock. */
void wf_av_watch_add(struct wf_av *av, struct wf_av_watch *watch);
/* wf_av_watch_add for a watch whose callbacks run before those of all watches that are
 * registered. */
void wf_av_watch_add_first(struct wf_av *av, struct wf_av_watch *watch);
void wf_av_watch_del(struct wf_av *av, struct wf_av_watch *watch);
/* True while a callback of @watch runs. */
bool wf_av_watch_is_called(struct wf_av_watch *watch);
void wf_av_watch_wait(struct wf_av_watch *watch);

static inline struct wf_av *wf_av_of(struct fid_av *fid)
{
	return wf_container_of(fid, struct wf_av, fid);
}

/* fi_ops_domain.av_open; see fi_av(3). */
int wf_av_open(struct fid_domain *domain, struct fi_av_attr *attr,
	struct fid_av **ret_av, void *context);

/* wf_av_addr for a segment that another process added and this one has not mapped. */
const void *wf_av_addr_slow(struct wf_av *av, uint64_t index);

/* The index in @addr, without the bits of a receive context or group. */
static inline uint64_t wf_av_slot_index(const struct wf_av *av, fi_addr_t addr)
{
	return addr & av->index_mask;
}

/* Number of the bits of an fi_addr_t that name a receive context (fi_av(3)). */
static inline unsigned int wf_av_rx_ctx_bits(const struct wf_av *av)
{
	return (unsigned int)av->attr.rx_ctx_bits;
}

/* The counter that advances when any process removes an address, for an AV that
 * processes share; NULL for a private AV, whose watches report removals. Constant as
 * long as the AV is open. */
static inline const _Atomic uint32_t *wf_av_shared_seq(const struct wf_av *av)
{
	return av->shared ? &av->table.state->seq : NULL;
}

/* The address at @addr, or NULL when none is inserted there. Takes no lock. The memory
 * stays valid until the address is removed; it has wf_av_addrlen bytes, or for
 * FI_ADDR_STR ends with its NUL. */
static inline const void *wf_av_addr(struct wf_av *av, fi_addr_t addr)
{
	const struct wf_av_slot *slot;

	addr = wf_av_slot_index(av, addr);
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

/* The index of @addr (a raw address of the AV's format), or FI_ADDR_NOTAVAIL when it is
 * not inserted. Takes the AV's lock only if addresses are being removed
 * concurrently. */
fi_addr_t wf_av_index(struct wf_av *av, const void *addr, size_t addrlen);

/* What completions report for an index without a user id. */
static inline fi_addr_t wf_av_unset_id(const struct wf_av *av, uint64_t index)
{
	return av->id_only ? FI_ADDR_NOTAVAIL : index;
}

/* What completions report for @index: its user id if one is set, otherwise the index,
 * or FI_ADDR_NOTAVAIL in an AV opened with FI_AV_USER_ID. */
static inline fi_addr_t wf_av_report(const struct wf_av *av, fi_addr_t index)
{
	uintptr_t ids;

	if (index >> WF_AV_MAX_BITS)
		return FI_ADDR_NOTAVAIL;
	/* acquire: pairs with the release in wf_av_set_id; the ids are initialised. */
	ids = atomic_load_explicit(
		&av->ids[wf_av_segment(index)], memory_order_acquire);
	if (!ids)
		return wf_av_unset_id(av, index);
	return wf_av_unset_id(av, index) ^
	       atomic_load_explicit(
		       (_Atomic uint64_t *)(ids + index * sizeof(uint64_t)),
		       memory_order_relaxed);
}

/* True if @addr was inserted with FI_FIREWALL_ADDR: the peer accepts no connections. */
static inline bool wf_av_firewalled(struct wf_av *av, fi_addr_t addr)
{
	const struct wf_av_slot *slot =
		wf_av_slot_at(&av->table, wf_av_slot_index(av, addr));

	return slot && (atomic_load_explicit(&slot->state, memory_order_relaxed) &
			       WF_AV_FIREWALLED);
}

static inline struct wf_domain *wf_av_domain(struct wf_av *av)
{
	return av->domain;
}

/* Count a user of the AV (endpoint, set, export); fi_close returns -FI_EBUSY while
 * there are any. */
static inline void wf_av_ref(struct wf_av *av)
{
	atomic_fetch_add_explicit(&av->refs, 1, memory_order_relaxed);
}

static inline void wf_av_unref(struct wf_av *av)
{
	/* release: the user's accesses happen before fi_close frees the AV. */
	atomic_fetch_sub_explicit(&av->refs, 1, memory_order_release);
}

/*
 * For a layer that changes an AV of its own, which is private, within progress:
 * fi_av_insert of one address with the user id @id, fi_av_remove, and fi_av_set_user_id
 * of an inserted address, without calling watches. So they do not call the receive
 * context, whose lock the caller may hold. 0 or a negative FI_E code; *ret_addr is
 * written on success only.
 */
int wf_av_insert_untold(
	struct wf_av *av, const void *addr, fi_addr_t id, fi_addr_t *ret_addr);
int wf_av_remove_untold(struct wf_av *av, fi_addr_t addr);
int wf_av_set_id_untold(struct wf_av *av, fi_addr_t addr, fi_addr_t id);

/* Print a raw address as fi_av_straddr(3) does: at most *len bytes, NUL included; *len
 * becomes the size of the whole text. NULL when the format is not known. */
const char *wf_av_straddr(
	uint32_t addr_format, const void *addr, char *buf, size_t *len);

/* Fill @ret, one for each peer, for the import of @av into a peer (fi_peer(3)); its
 * owner_ops operate on @av, which cannot be closed until wf_av_unexport. -FI_EINVAL:
 * @av is imported itself. See objects/peer/open.h. */
int wf_av_export(struct wf_av *av, struct fid_peer_av *ret);
void wf_av_unexport(struct fid_peer_av *peer);

#endif
