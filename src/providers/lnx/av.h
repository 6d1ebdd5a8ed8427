/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_LNX_AV_H
#define WF_LNX_AV_H

#include <stdatomic.h>

#include "objects/av/av.h"
#include "providers/lnx/domain.h"
#include "sys/compiler.h"

/* The rail of a peer that no rail reaches. */
enum { LNX_NO_RAIL = LNX_MAX_LINKS };

/* The peer at one address. Written with lnx_domain.control held, except @rail and
 * @down, which transmissions change without it; read without a lock. */
struct lnx_peer {
	/* Index of the rail in use. If several rails reach the peer, transmissions may
	 * change it to another one of @rails. LNX_NO_RAIL: the AV has no address at
	 * this index. */
	_Atomic uint32_t rail;
	_Atomic uint8_t rails; /* Rails that reach the peer, one bit each. */
	_Atomic uint8_t down;  /* Rails of @rails that failed, one bit each. */
	/* Striped messages can be sent to it. Constant while it has a rail. */
	bool stripes;
	uint64_t hash;    /* Hash of the peer's address; see lnx_av_removed. */
	fi_addr_t addr[]; /* Address of the peer in each member's AV. */
};

/* The address vector of lnx: prov_data of its struct wf_av. */
struct lnx_av {
	struct wf_av *wf;
	struct lnx_domain *domain;
	struct fid_av *member[LNX_MAX_LINKS];
	/* Endpoints that have members of other libraries, linked by lnx_ep.av_link; see
	 * sources.c. Guarded by domain->control. */
	struct wf_list eps;
	atomic_bool inserting; /* A member's fi_av_insert is running; see sources.c. */
	size_t stride;         /* Bytes from one struct lnx_peer to the next. */
	/* Pointers to the memory of the peers, which is divided into segments like the
	 * slots in objects/av/table.h. A segment is allocated with domain->control held
	 * and freed with the AV. */
	_Atomic uintptr_t segment[WF_AV_SEGMENTS];
};

/* Hooks of struct wf_prov; their contracts apply. */
int lnx_av_opened(struct wf_av *av);
void lnx_av_closing(struct wf_av *av);
int lnx_av_inserted(
	struct wf_av *av, fi_addr_t index, const void *addr, uint64_t flags);
void lnx_av_removed(struct wf_av *av, fi_addr_t index);

/* The segment for lnx_av_peer_in that contains the peer at @index, which is below 1 <<
 * WF_AV_MAX_BITS; 0: no address has ever been inserted into this segment. No lock. */
static inline uintptr_t lnx_av_segment(const struct lnx_av *av, uint64_t index)
{
	/* acquire: pairs with the release in the allocation of the segment, which is
	 * initialised then. */
	return atomic_load_explicit(
		&av->segment[wf_av_segment(index)], memory_order_acquire);
}

static inline struct lnx_peer *lnx_av_peer_in(
	const struct lnx_av *av, uintptr_t segment, uint64_t index)
{
	return (struct lnx_peer *)(segment + index * av->stride);
}

/* The peer at @addr, whose rail may be LNX_NO_RAIL; NULL: no address has ever been
 * inserted into its segment. No lock. */
static inline struct lnx_peer *lnx_av_peer(const struct lnx_av *av, fi_addr_t addr)
{
	uintptr_t segment;

	addr &= av->wf->index_mask;
	if (wf_unlikely(addr >> WF_AV_MAX_BITS))
		return NULL;
	segment = lnx_av_segment(av, addr);
	return segment ? lnx_av_peer_in(av, segment, addr) : NULL;
}

/* peer.c: insert the addresses of @name into the AVs of the members that reach them.
 * The result is @peer, at @index; @flags are those of fi_av_insert(3). Returns 0 or a
 * negative fi_errno; -FI_EADDRNOTAVAIL, which is logged: no member reaches any address.
 * domain->control is held. */
int lnx_peer_add(struct lnx_av *av, struct lnx_peer *peer, uint64_t index,
	const struct lnx_name *name, uint64_t flags);

/* Remove @peer from the members' AVs, unless that was done. domain->control is held. */
void lnx_peer_drop(struct lnx_av *av, struct lnx_peer *peer, fi_addr_t index);

#endif
