/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LNX_AV_H
#define LNX_AV_H

#include <stdatomic.h>

#include "objects/av/av.h"
#include "providers/lnx/domain.h"
#include "sys/compiler.h"

/* In place of a rail's number: there is none. */
enum { LNX_NO_RAIL = LNX_MAX_LINKS };

/* The peer at one address. Written under lnx_domain.control, but for @rail and @down,
 * which transmissions change as well; read without lock. */
struct lnx_peer {
	/* The rail in use. With several, other ones of @rails may be used in turn, or
	 * instead. LNX_NO_RAIL: nothing is inserted at the address. */
	_Atomic uint32_t rail;
	_Atomic uint8_t rails; /* one bit for each rail that reaches the peer */
	_Atomic uint8_t down;  /* the bits of @rails that failed */
	uint64_t hash;         /* of the address; see lnx_av_removed */
	fi_addr_t addr[];      /* of the peer in each member's AV */
};

/* The address vector of lnx, as prov_data of its struct wf_av. */
struct lnx_av {
	struct wf_av *wf;
	struct lnx_domain *domain;
	struct fid_av *member[LNX_MAX_LINKS];
	/* Endpoints with members of other libraries, by lnx_ep.av_link; see sources.c.
	 * Guarded by domain->control. */
	struct wf_list eps;
	atomic_bool inserting; /* fi_av_insert of a member runs; see sources.c */
	size_t stride;         /* bytes of one struct lnx_peer */
	/* Addresses of the peers' memory, in segments as the slots of
	 * objects/av/table.h. A segment is made under domain->control and stays. */
	_Atomic uintptr_t segment[WF_AV_SEGMENTS];
};

/* Hooks of struct wf_prov, whose contracts apply. */
int lnx_av_opened(struct wf_av *av);
void lnx_av_closing(struct wf_av *av);
int lnx_av_inserted(
	struct wf_av *av, fi_addr_t index, const void *addr, uint64_t flags);
void lnx_av_removed(struct wf_av *av, fi_addr_t index);

/* The segment of the peer at @index, which is below 1 << WF_AV_MAX_BITS, for
 * lnx_av_peer_in; 0: nothing was ever inserted into it. No lock. */
static inline uintptr_t lnx_av_segment(const struct lnx_av *av, uint64_t index)
{
	/* acquire: pairs with the release of the insertion: the segment is initialised.
	 */
	return atomic_load_explicit(
		&av->segment[wf_av_segment(index)], memory_order_acquire);
}

static inline struct lnx_peer *lnx_av_peer_in(
	const struct lnx_av *av, uintptr_t segment, uint64_t index)
{
	return (struct lnx_peer *)(segment + index * av->stride);
}

/* The peer at @addr, whose rail may be LNX_NO_RAIL; NULL when nothing was ever inserted
 * into its segment. No lock. */
static inline struct lnx_peer *lnx_av_peer(const struct lnx_av *av, fi_addr_t addr)
{
	uintptr_t segment;

	addr &= av->wf->index_mask;
	if (wf_unlikely(addr >> WF_AV_MAX_BITS))
		return NULL;
	segment = lnx_av_segment(av, addr);
	return segment ? lnx_av_peer_in(av, segment, addr) : NULL;
}

/* peer.c: insert @name into the AVs of the members that reach one of its links, as
 * @peer at @index; @flags as of fi_av_insert(3). -FI_EADDRNOTAVAIL, logged: no member
 * does. domain->control is held here and below. */
int lnx_peer_add(struct lnx_av *av, struct lnx_peer *peer, uint64_t index,
	const struct lnx_name *name, uint64_t flags);

/* Remove @peer from the members' AVs; nothing to do if it is removed. */
void lnx_peer_drop(struct lnx_av *av, struct lnx_peer *peer, fi_addr_t index);

#endif
