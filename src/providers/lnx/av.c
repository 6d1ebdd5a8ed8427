/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/lnx/av.h"

#include <stdlib.h>

#include "providers/lnx/addr.h"
#include "providers/lnx/locality.h"

/* Address vectors of lnx: the members' AVs, and the memory of the peers. */

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

static int av_make_segment(struct lnx_av *av, unsigned int k)
{
	uint64_t size = wf_av_segment_size(k);
	char *peers = calloc(size, av->stride);

	if (!peers)
		return -FI_ENOMEM;
	for (uint64_t i = 0; i < size; i++)
		atomic_init(&((struct lnx_peer *)(peers + i * av->stride))->rail,
			LNX_NO_RAIL);
	/* release: pairs with the acquire in lnx_av_segment. */
	atomic_store_explicit(&av->segment[k],
		(uintptr_t)peers - wf_av_segment_start(k) * av->stride,
		memory_order_release);
	return 0;
}

static uint64_t av_hash_of(const struct wf_av *wf, const void *addr)
{
	return lnx_hash(0, addr, wf->table.format->addr_len);
}

int lnx_av_inserted(struct wf_av *wf, fi_addr_t index, const void *addr, uint64_t flags)
{
	struct lnx_av *av = lnx_av_of(wf);
	unsigned int k = wf_av_segment(index);
	uint64_t hash = av_hash_of(wf, addr);
	struct lnx_peer *peer;
	struct lnx_addr from;
	int ret = 0;

	if (!lnx_addr_read(av->domain->link, wf->table.format->addr_format, addr,
		    wf->table.format->addr_len, &from))
		return -FI_EADDRNOTAVAIL;
	(void)pthread_mutex_lock(&av->domain->control);
	if (!atomic_load_explicit(&av->segment[k], memory_order_relaxed))
		ret = av_make_segment(av, k);
	if (ret)
		goto out;
	peer = lnx_av_peer(av, index);
	/* The same address is inserted again. */
	if (peer->hash == hash &&
		atomic_load_explicit(&peer->rail, memory_order_relaxed) != LNX_NO_RAIL)
		goto out;
	lnx_peer_drop(av, peer, index);
	peer->hash = hash;
	ret = lnx_peer_add(av, peer, index, &from.name, flags);
out:
	(void)pthread_mutex_unlock(&av->domain->control);
	return ret;
}

/* Another thread may have inserted a different address at @index before this call, or
 * the same one again. */
void lnx_av_removed(struct wf_av *wf, fi_addr_t index)
{
	struct lnx_av *av = lnx_av_of(wf);
	struct lnx_peer *peer = lnx_av_peer(av, index);
	const void *addr;

	if (!peer)
		return;
	(void)pthread_mutex_lock(&av->domain->control);
	addr = wf_av_addr(wf, index);
	if (!addr || av_hash_of(wf, addr) != peer->hash)
		lnx_peer_drop(av, peer, index);
	(void)pthread_mutex_unlock(&av->domain->control);
}
