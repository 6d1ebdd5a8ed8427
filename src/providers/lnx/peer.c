/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>

#include "providers/lnx/addr.h"
#include "providers/lnx/av.h"
#include "providers/lnx/sources.h"
#include "providers/lnx/stripe/stripe.h"

/*
 * An address of lnx is inserted into the AV of every member that reaches one of the
 * links in the address. Its id in that AV is its index in the AV of lnx, so that
 * members report sources as such indices; completion.c translates them to the
 * application's ids.
 *
 * The rails of a peer: a member that reaches only this machine, if it reaches the peer,
 * and other members only instead of such a member. Without it, all members that reach
 * one of the peer's links: one of them is chosen for each peer, or for each message if
 * FI_LNX_PER_MSG is set.
 */

/* The rail in the set @rails to use first for the peer at @index. */
static uint32_t peer_first_rail(
	const struct lnx_domain *domain, uint8_t rails, uint64_t index)
{
	unsigned int nth;

	for (uint32_t i = 0; i < domain->count; i++)
		if (rails >> i & 1 && domain->link->local[i])
			return i;
	nth = (unsigned int)(index % (unsigned int)__builtin_popcount(rails));
	for (uint32_t i = 0; i < domain->count; i++)
		if (rails >> i & 1 && !nth--)
			return i;
	return LNX_NO_RAIL;
}

/* Insert one address into the AV of one member. The address comes from a peer and has
 * @link->len bytes; zeroes follow it, because the member may read more. */
static int peer_insert_one(struct lnx_av *av, unsigned int rail,
	const struct lnx_name_link *link, uint64_t index, uint64_t flags,
	fi_addr_t *ret_addr)
{
	uint32_t addr[2 * WF_AV_ADDR_WORDS] = { 0 };
	fi_addr_t id = index;
	int ret;

	memcpy(addr, link->addr, link->len);
	ret = lnx_sources_insert(av, rail, addr, &id, flags | FI_AV_USER_ID);
	if (ret == 1)
		*ret_addr = id;
	return ret == 1 ? 0 : ret < 0 ? ret : -FI_EADDRNOTAVAIL;
}

static uint8_t peer_insert_all(struct lnx_av *av, struct lnx_peer *peer,
	const struct lnx_name *name, uint64_t index, uint64_t flags)
{
	struct lnx_domain *domain = av->domain;
	int pair[LNX_MAX_LINKS];
	struct lnx_name mine;
	uint8_t rails = 0;

	lnx_domain_name(domain, &mine);
	lnx_name_pair(&mine, name, domain->link->local, pair);
	for (unsigned int i = 0; i < domain->count; i++) {
		peer->addr[i] = FI_ADDR_NOTAVAIL;
		if (pair[i] < 0)
			continue;
		if (peer_insert_one(
			    av, i, &name->link[pair[i]], index, flags, &peer->addr[i]))
			lnx_log(FI_LOG_INFO, FI_LOG_AV,
				"address %llu: not reached over %s\n",
				(unsigned long long)index,
				domain->link->member[i].name);
		else
			rails |= (uint8_t)(1u << i);
	}
	return rails;
}

int lnx_peer_add(struct lnx_av *av, struct lnx_peer *peer, uint64_t index,
	const struct lnx_name *name, uint64_t flags)
{
	const struct lnx_link *link = av->domain->link;
	uint8_t rails = peer_insert_all(av, peer, name, index, flags);
	uint32_t first;

	if (!rails) {
		lnx_log(FI_LOG_WARN, FI_LOG_AV,
			"address %llu refused: none of %s reaches it\n",
			(unsigned long long)index, link->tmpl->domain_attr->name);
		return -FI_EADDRNOTAVAIL;
	}
	first = peer_first_rail(av->domain, rails, index);
	atomic_store_explicit(&peer->rails, rails, memory_order_relaxed);
	atomic_store_explicit(&peer->down, 0, memory_order_relaxed);
	peer->stripes = lnx_stripe_reaches(av->domain, name);
	/* release: pairs with the acquire of a sender, which then sees the other
	 * fields. */
	atomic_store_explicit(&peer->rail, first, memory_order_release);
	lnx_log(FI_LOG_INFO, FI_LOG_AV,
		"address %llu: over %s, %d of %u links reach it\n",
		(unsigned long long)index, link->member[first].name,
		__builtin_popcount(rails), link->count);
	return 0;
}

void lnx_peer_drop(struct lnx_av *av, struct lnx_peer *peer, fi_addr_t index)
{
	if (atomic_load_explicit(&peer->rail, memory_order_relaxed) == LNX_NO_RAIL)
		return;
	atomic_store_explicit(&peer->rail, LNX_NO_RAIL, memory_order_relaxed);
	atomic_store_explicit(&peer->rails, 0, memory_order_relaxed);
	for (unsigned int i = 0; i < av->domain->count; i++)
		if (peer->addr[i] != FI_ADDR_NOTAVAIL)
			(void)fi_av_remove(av->member[i], &peer->addr[i], 1, 0);
	lnx_sources_forget(av, index);
}
