/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/shm/copy/regions.h"

#include <stdlib.h>
#include <unistd.h>

#include "providers/shm/conn/await.h"
#include "providers/shm/conn/peer.h"
#include "sys/calls.h"
#include "sys/membarrier.h"
#include "sys/sealed.h"

static struct shm_regions *regions_of(struct wf_mr_watch *watch)
{
	return wf_container_of(watch, struct shm_regions, watch);
}

/* A forked child has neither the table nor the connections of its parent. */
static bool regions_is_inherited(const struct shm_regions *regions)
{
	return regions->ep->pid != getpid();
}

/* The accesses of the peer of @conn to regions of this endpoint. */
static struct shm_visits *regions_visits_of(const struct shm_conn *conn)
{
	return &conn->segment->visits[conn->out_lane];
}

/* ---- entries ---- */

static uint32_t regions_probe(uint64_t key, uint32_t i)
{
	return (shm_table_first(key) + i) % SHM_TABLE_SIZE;
}

/* The entry that describes @mr, or a free one if that is NULL; -1: there is none. */
static int regions_find(
	const struct shm_regions *regions, uint64_t key, const struct wf_mr *mr)
{
	for (uint32_t i = 0; i < SHM_TABLE_PROBES; i++)
		if (regions->owner[regions_probe(key, i)] == mr)
			return (int)regions_probe(key, i);
	return -1;
}

static uint32_t regions_flags_of(
	const struct shm_regions *regions, const struct wf_mr *mr)
{
	const struct wf_ep *ep = &regions->ep->ep;
	uint32_t flags = 0;

	if (mr->access & FI_REMOTE_READ)
		flags |= SHM_MAY_READ;
	if (mr->access & FI_REMOTE_WRITE)
		flags |= SHM_MAY_WRITE;
	if (wf_ep_counts(ep, WF_CNTR_REMOTE_READ))
		flags |= SHM_TELL_READ;
	if (wf_ep_counts(ep, WF_CNTR_REMOTE_WRITE) || mr->cntr)
		flags |= SHM_TELL_WRITE;
	return flags;
}

static void regions_describe(const struct shm_regions *regions, const struct wf_mr *mr,
	struct shm_described *to)
{
	to->key = mr->fid.key;
	to->base = mr->base;
	to->len = mr->len;
	to->flags = regions_flags_of(regions, mr);
	to->count = (uint32_t)mr->iov_count;
	for (size_t i = 0; i < mr->iov_count; i++) {
		to->piece[i].base = (uintptr_t)mr->iov[i].iov_base;
		to->piece[i].len = mr->iov[i].iov_len;
	}
}

/* The region has no entry. */
static void regions_leave_out(struct shm_regions *regions)
{
	/* release: the application tells its peers the key after this. */
	(void)atomic_fetch_add_explicit(
		&regions->table->left_out, 1, memory_order_release);
	if (!regions->is_full)
		shm_log(FI_LOG_INFO, FI_LOG_MR,
			"not all regions are published: operations on others are "
			"requests\n");
	regions->is_full = true;
}

static void regions_open_region(struct wf_mr_watch *watch, struct wf_mr *mr, bool again)
{
	struct shm_regions *regions = regions_of(watch);
	struct shm_entry *entry;
	int at;

	if (regions_is_inherited(regions))
		return;
	at = regions_find(regions, mr->fid.key, again ? mr : NULL);
	if (at < 0 && again)
		return;
	if (at < 0 || mr->iov_count > SHM_IOV_LIMIT) {
		regions_leave_out(regions);
		return;
	}
	entry = &regions->table->entry[at];
	regions->owner[at] = mr;
	/* A reader that finds a part of what follows finds another serial number
	 * afterwards. */
	atomic_thread_fence(memory_order_release);
	regions_describe(regions, mr, &entry->region);
	atomic_store_explicit(&entry->serial, ++regions->serial, memory_order_release);
}

/* ---- the end of accesses ---- */

struct visit {
	const struct shm_visits *words;
	uint32_t at; /* index plus 1; 0: of any region */
};

/* Is the peer in the middle of the access? */
static bool regions_is_accessing(const void *arg)
{
	const struct visit *visit = arg;
	/* G5: acquire, pairs with G3. */
	uint32_t busy = atomic_load_explicit(&visit->words->busy, memory_order_acquire);

	return visit->at ? busy == visit->at : busy != 0;
}

/* Wait until the peer's access has ended. An access takes less than a millisecond. */
static void regions_await(const struct shm_conn *conn, uint32_t at)
{
	struct visit visit = { regions_visits_of(conn), at };

	if (!shm_await(conn, regions_is_accessing, &visit))
		shm_log(FI_LOG_WARN, FI_LOG_MR,
			"a region is closed that %s is accessing, and does not go on\n",
			shm_conn_name(conn));
}

static bool regions_is_used(const struct shm_conn *conn)
{
	return atomic_load_explicit(
		&regions_visits_of(conn)->used, memory_order_relaxed);
}

static struct shm_conn *regions_conn_of(struct wf_list *link)
{
	return wf_list_entry(link, struct shm_conn, access.visit_link);
}

static void regions_end_visits(struct shm_regions *regions, uint32_t at)
{
	bool any = false;

	atomic_thread_fence(memory_order_seq_cst);
	wf_list_foreach(it, &regions->visits)
	{
		any |= regions_is_used(regions_conn_of(it));
	}
	if (!any)
		return;
	(void)wf_membarrier();
	wf_list_foreach(it, &regions->visits)
	{
		regions_await(regions_conn_of(it), at);
	}
}

static void regions_close_region(
	struct wf_mr_watch *watch, struct wf_mr *mr, bool again)
{
	struct shm_regions *regions = regions_of(watch);
	int at;

	if (regions_is_inherited(regions))
		return;
	at = regions_find(regions, mr->fid.key, mr);
	if (at < 0 && again)
		return;
	if (at < 0) {
		(void)atomic_fetch_sub_explicit(
			&regions->table->left_out, 1, memory_order_relaxed);
		return;
	}
	/* G4 */
	atomic_store_explicit(&regions->table->entry[at].serial,
		again ? SHM_SERIAL_CHANGING : SHM_SERIAL_NONE, memory_order_relaxed);
	regions_end_visits(regions, (uint32_t)at + 1);
	if (!again)
		regions->owner[at] = NULL;
}

/* ---- connections ---- */

void shm_regions_enter(struct shm_conn *conn)
{
	struct shm_regions *regions = &conn->ep->regions;
	struct wf_mr_map *map = wf_ep_mr_map(&conn->ep->ep);

	if (!regions->table)
		return;
	wf_lock(&map->lock);
	wf_list_push(&regions->visits, &conn->access.visit_link);
	wf_unlock(&map->lock);
	/* release: accesses are waited for from now on. */
	atomic_store_explicit(&regions_visits_of(conn)->open, 1, memory_order_release);
}

void shm_regions_leave(struct shm_conn *conn)
{
	struct wf_mr_map *map = wf_ep_mr_map(&conn->ep->ep);

	if (wf_list_empty(&conn->access.visit_link))
		return;
	wf_lock(&map->lock);
	/* G4 */
	atomic_store_explicit(&regions_visits_of(conn)->open, 0, memory_order_relaxed);
	atomic_thread_fence(memory_order_seq_cst);
	if (regions_is_used(conn)) {
		(void)wf_membarrier();
		regions_await(conn, 0);
	}
	wf_list_remove(&conn->access.visit_link);
	wf_unlock(&map->lock);
}

/* ---- the table ---- */

void shm_regions_init(struct shm_ep *ep)
{
	ep->regions = (struct shm_regions){
		.watch = { .open = regions_open_region, .close = regions_close_region },
		.ep = ep,
		.fd = -1,
		.serial = SHM_SERIAL_FIRST - 1,
	};
	wf_list_init(&ep->regions.visits);
	wf_list_init(&ep->regions.watch.link);
}

static bool regions_make_table(struct shm_regions *regions)
{
	void *mem;

	if (!regions->owner)
		regions->owner = calloc(SHM_TABLE_SIZE, sizeof(*regions->owner));
	if (!regions->owner)
		return false;
	if (wf_sealed_new(SHM_TABLE_NAME, sizeof(struct shm_table), &regions->fd, &mem))
		return false;
	regions->table = mem;
	regions->table->instance = regions->ep->peers->instance;
	regions->fence = !wf_membarrier_join();
	regions->table->flags = (regions->fence ? SHM_TABLE_FENCE : 0) |
				(shm_params.disable_cma ? SHM_TABLE_NO_COPIES : 0);
	return true;
}

void shm_regions_open(struct shm_ep *ep)
{
	struct shm_regions *regions = &ep->regions;

	if (shm_params.disable_mapping || regions->table)
		return;
	if (!regions_make_table(regions)) {
		shm_log(FI_LOG_INFO, FI_LOG_MR,
			"no memory to publish regions: operations of peers are "
			"requests\n");
		return;
	}
	wf_mr_map_watch(wf_ep_mr_map(&ep->ep), &regions->watch);
	regions->is_watching = true;
}

int shm_regions_change(struct wf_ep *wf)
{
	struct shm_regions *regions = &shm_ep_of(wf)->regions;

	if (regions->is_watching)
		wf_mr_map_refresh(wf_ep_mr_map(wf), &regions->watch);
	return 0;
}

void shm_regions_done(struct shm_ep *ep)
{
	struct shm_regions *regions = &ep->regions;

	if (regions->is_watching)
		wf_mr_map_unwatch(wf_ep_mr_map(&ep->ep), &regions->watch);
	if (regions->table && !regions_is_inherited(regions))
		wf_sealed_unmap(regions->table, sizeof(*regions->table));
	if (regions->fd >= 0)
		(void)wf_sys_close(regions->fd);
	free(regions->owner);
}
