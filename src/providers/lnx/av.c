/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "objects/av/av.h"
#include "providers/lnx/addr.h"
#include "providers/lnx/lnx.h"
#include "providers/lnx/locality.h"
#include "sys/compiler.h"

/*
 * An address of ours is inserted into the AV of every member that reaches one of the
 * addresses in it, under an id that is its index here: so members tell sources in our
 * numbers, and the application's own ids are put in afterwards (completion.c).
 *
 * Which rails a peer has: where a member that does not leave the machine reaches it,
 * that one, and the others only in its place. Without, all that meet one of the
 * peer's, a fixed one for each peer unless rails are chosen for each message.
 */

static struct lnx_av *lnx_av_of(const struct wf_av *av)
{
	return av->prov_data;
}

int lnx_av_opened(struct wf_av *wf)
{
	struct lnx_domain *domain = lnx_domain_of(wf->domain);
	struct fi_av_attr attr = { .type = FI_AV_TABLE, .count = wf->attr.count };
	struct lnx_av *av = calloc(1, sizeof(*av));
	int ret = 0;

	if (!av)
		return -FI_ENOMEM;
	av->wf = wf;
	av->domain = domain;
	wf_list_init(&av->eps);
	av->stride = sizeof(struct lnx_peer) + domain->count * sizeof(fi_addr_t);
	for (unsigned int i = 0; i < domain->count && !ret; i++)
		ret = fi_av_open(domain->member[i].domain, &attr, &av->member[i], NULL);
	wf->prov_data = av;
	if (ret)
		lnx_av_closing(wf);
	return ret;
}

void lnx_av_closing(struct wf_av *wf)
{
	struct lnx_av *av = lnx_av_of(wf);

	for (unsigned int i = 0; i < av->domain->count; i++)
		if (av->member[i])
			(void)fi_close(&av->member[i]->fid);
	for (unsigned int k = 0; k < WF_AV_SEGMENTS; k++) {
		uintptr_t base =
			atomic_load_explicit(&av->segment[k], memory_order_relaxed);

		if (base)
			free((void *)(base + wf_av_segment_start(k) * av->stride));
	}
	free(av);
	wf->prov_data = NULL;
}

static int make_segment(struct lnx_av *av, unsigned int k)
{
	uint64_t size = wf_av_segment_size(k);
	char *peers = calloc(size, av->stride);

	if (!peers)
		return -FI_ENOMEM;
	for (uint64_t i = 0; i < size; i++)
		atomic_init(&((struct lnx_peer *)(peers + i * av->stride))->rail,
			LNX_NO_RAIL);
	/* release: pairs with lnx_av_peer. */
	atomic_store_explicit(&av->segment[k],
		(uintptr_t)peers - wf_av_segment_start(k) * av->stride,
		memory_order_release);
	return 0;
}

/* ---- which rails ---- */

/* The rail for the @index-th peer. */
static uint32_t first_rail(
	const struct lnx_domain *domain, uint8_t rails, uint64_t index)
{
	unsigned int turn;

	for (uint32_t i = 0; i < domain->count; i++)
		if (rails >> i & 1 && domain->link->local[i])
			return i;
	turn = (unsigned int)(index % (unsigned int)__builtin_popcount(rails));
	for (uint32_t i = 0; i < domain->count; i++)
		if (rails >> i & 1 && !turn--)
			return i;
	return LNX_NO_RAIL;
}

/* Into a member's AV. The address comes from a peer: as long as its text says, and
 * behind it zeroes for whatever the member expects. */
static int insert_one(struct lnx_av *av, unsigned int rail,
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

static uint8_t insert_all(struct lnx_av *av, struct lnx_peer *peer,
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
		if (insert_one(
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

static int add_peer(struct lnx_av *av, struct lnx_peer *peer, uint64_t index,
	const struct lnx_name *name, uint64_t flags)
{
	const struct lnx_link *link = av->domain->link;
	uint8_t rails = insert_all(av, peer, name, index, flags);
	uint32_t first;

	if (!rails) {
		lnx_log(FI_LOG_WARN, FI_LOG_AV,
			"address %llu refused: none of %s reaches it\n",
			(unsigned long long)index, link->tmpl->domain_attr->name);
		return -FI_EADDRNOTAVAIL;
	}
	first = first_rail(av->domain, rails, index);
	atomic_store_explicit(&peer->rails, rails, memory_order_relaxed);
	atomic_store_explicit(&peer->down, 0, memory_order_relaxed);
	/* release: pairs with the acquire of a sender, which then sees the rest. */
	atomic_store_explicit(&peer->rail, first, memory_order_release);
	lnx_log(FI_LOG_INFO, FI_LOG_AV,
		"address %llu: over %s, %d of %u links reach it\n",
		(unsigned long long)index, link->member[first].name,
		__builtin_popcount(rails), link->count);
	return 0;
}

static uint64_t hash_of(const struct wf_av *wf, const void *addr)
{
	return lnx_hash(0, addr, wf->table.format->addr_len);
}

/* control held. */
static void drop_peer(struct lnx_av *av, struct lnx_peer *peer, fi_addr_t index)
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

int lnx_av_inserted(struct wf_av *wf, fi_addr_t index, const void *addr, uint64_t flags)
{
	struct lnx_av *av = lnx_av_of(wf);
	unsigned int k = wf_av_segment(index);
	uint64_t hash = hash_of(wf, addr);
	struct lnx_peer *peer;
	struct lnx_addr from;
	int ret = 0;

	if (!lnx_addr_read(av->domain->link, wf->table.format->addr_format, addr,
		    wf->table.format->addr_len, &from))
		return -FI_EADDRNOTAVAIL;
	(void)pthread_mutex_lock(&av->domain->control);
	if (!atomic_load_explicit(&av->segment[k], memory_order_relaxed))
		ret = make_segment(av, k);
	if (ret)
		goto out;
	peer = lnx_av_peer(av, index);
	/* Inserted once more. */
	if (peer->hash == hash &&
		atomic_load_explicit(&peer->rail, memory_order_relaxed) != LNX_NO_RAIL)
		goto out;
	drop_peer(av, peer, index);
	peer->hash = hash;
	ret = add_peer(av, peer, index, &from.name, flags);
out:
	(void)pthread_mutex_unlock(&av->domain->control);
	return ret;
}

/* Another thread may have inserted another address in its place, or the same one again,
 * before we are told. */
void lnx_av_removed(struct wf_av *wf, fi_addr_t index)
{
	struct lnx_av *av = lnx_av_of(wf);
	struct lnx_peer *peer = lnx_av_peer(av, index);
	const void *addr;

	if (!peer)
		return;
	(void)pthread_mutex_lock(&av->domain->control);
	addr = wf_av_addr(wf, index);
	if (!addr || hash_of(wf, addr) != peer->hash)
		drop_peer(av, peer, index);
	(void)pthread_mutex_unlock(&av->domain->control);
}
