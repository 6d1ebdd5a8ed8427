/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/verbs/mr/cache.h"

#include <errno.h>
#include <stdlib.h>

/*
 * Registrations are in a list, the last used one first: an application uses few buffers
 * again and again, and a search without result takes little time compared to pinning
 * pages.
 *
 * Memory is not allocated, freed or unmapped with the lock held: the kernel makes a
 * thread wait that unmaps watched memory, and other threads would wait for that thread.
 */
struct verbs_mr_cache {
	struct ibv_pd *pd;
	const struct wf_mem_monitor_ops *monitor;
	struct fid *handle; /* handle of fi_open("mr_cache") */
	size_t max_count, max_size;
	struct wf_lock lock; /* guards the fields below */
	uint64_t pos;        /* position in the monitor's log */
	size_t count, size;  /* number of registrations in @list, and their bytes */
	struct wf_list list; /* struct verbs_mr_kept, by link */
};

static struct verbs_mr_kept *cache_kept_of(struct wf_list *link)
{
	return wf_list_entry(link, struct verbs_mr_kept, link);
}

/* Remove @kept from the list, so that no new region uses it. If no region uses it, it
 * moves to @ended. */
static void cache_unlist(
	struct verbs_mr_cache *cache, struct verbs_mr_kept *kept, struct wf_list *ended)
{
	wf_list_remove(&kept->link);
	kept->listed = false;
	cache->count--;
	cache->size -= kept->len;
	if (!kept->users)
		wf_list_push(ended, &kept->link);
}

static bool cache_overlaps(const struct verbs_mr_kept *kept, struct wf_mem_range range)
{
	const uintptr_t start = (uintptr_t)kept->addr;

	return start < range.end && range.start < start + kept->len;
}

/* Unlist the registrations whose memory is in the monitor's log. */
static void cache_follow_log(struct verbs_mr_cache *cache, struct wf_list *ended)
{
	struct wf_mem_range range;

	while (cache->monitor->next(&cache->pos, &range)) {
		struct wf_list *link = cache->list.next, *next;

		for (; link != &cache->list; link = next) {
			next = link->next;
			if (cache_overlaps(cache_kept_of(link), range))
				cache_unlist(cache, cache_kept_of(link), ended);
		}
	}
}

/* Unlist the least recently used registrations without users, until there are at most
 * @count of at most @size bytes. */
static void cache_shrink(
	struct verbs_mr_cache *cache, size_t count, size_t size, struct wf_list *ended)
{
	struct wf_list *link = cache->list.prev, *prev;

	for (; link != &cache->list && (cache->count > count || cache->size > size);
		link = prev) {
		prev = link->prev;
		if (!cache_kept_of(link)->users)
			cache_unlist(cache, cache_kept_of(link), ended);
	}
}

static void cache_end(struct verbs_mr_cache *cache, struct verbs_mr_kept *kept)
{
	int err;

	if (kept->watched)
		cache->monitor->unsubscribe(kept->addr, kept->len, kept->era);
	err = VERBS_IBV(dereg_mr(kept->mr));
	if (err)
		(void)verbs_failed(FI_LOG_MR, "ibv_dereg_mr", err);
	free(kept);
}

static void cache_end_all(struct verbs_mr_cache *cache, struct wf_list *ended)
{
	struct wf_list *link;

	while ((link = wf_list_pop(ended)))
		cache_end(cache, cache_kept_of(link));
}

static bool cache_contains(const struct verbs_mr_kept *kept, const struct iovec *iov)
{
	const char *addr = iov->iov_base;

	return addr >= kept->addr && iov->iov_len <= kept->len &&
	       (size_t)(addr - kept->addr) <= kept->len - iov->iov_len;
}

static struct verbs_mr_kept *cache_find(struct verbs_mr_cache *cache,
	const struct iovec *iov, int access, struct wf_list *ended)
{
	wf_list_foreach(link, &cache->list)
	{
		struct verbs_mr_kept *kept = cache_kept_of(link);

		if (kept->access != access || !cache_contains(kept, iov))
			continue;
		if (cache->monitor->valid(kept->addr, kept->len, kept->era))
			return kept;
		cache_unlist(cache, kept, ended);
		return NULL;
	}
	return NULL;
}

/* Find a registration in the list, and add a user. NULL: there is none. */
static struct verbs_mr_kept *cache_take(
	struct verbs_mr_cache *cache, const struct iovec *iov, int access)
{
	struct verbs_mr_kept *kept;
	struct wf_list ended;

	wf_list_init(&ended);
	wf_lock(&cache->lock);
	cache_follow_log(cache, &ended);
	kept = cache_find(cache, iov, access, &ended);
	if (kept) {
		kept->users++;
		wf_list_remove(&kept->link);
		wf_list_insert_after(&cache->list, &kept->link);
	}
	wf_unlock(&cache->lock);
	cache_end_all(cache, &ended);
	return kept;
}

int verbs_mr_cache_register(struct verbs_mr_cache *cache, struct ibv_pd *pd,
	const struct iovec *iov, int access, struct ibv_mr **ret_mr)
{
	struct wf_list ended;

	*ret_mr = VERBS_IBV(reg_mr(pd, iov->iov_base, iov->iov_len, access));
	if (*ret_mr)
		return 0;
	if (!cache || errno != ENOMEM)
		return verbs_failed(FI_LOG_MR, "ibv_reg_mr", errno);
	wf_list_init(&ended);
	wf_lock(&cache->lock);
	cache_shrink(cache, 0, 0, &ended);
	wf_unlock(&cache->lock);
	cache_end_all(cache, &ended);
	return verbs_mr_cache_register(NULL, pd, iov, access, ret_mr);
}

/* Put @kept in the list, so that other regions can use it. */
static void cache_list(struct verbs_mr_cache *cache, struct verbs_mr_kept *kept)
{
	struct wf_list ended;

	wf_list_init(&ended);
	wf_lock(&cache->lock);
	kept->listed = true;
	wf_list_insert_after(&cache->list, &kept->link);
	cache->count++;
	cache->size += kept->len;
	cache_shrink(cache, cache->max_count, cache->max_size, &ended);
	wf_unlock(&cache->lock);
	cache_end_all(cache, &ended);
}

int verbs_mr_cache_get(struct verbs_mr_cache *cache, const struct iovec *iov,
	int access, struct verbs_mr_kept **ret_kept)
{
	struct verbs_mr_kept *kept = cache_take(cache, iov, access);
	int err;

	if (kept) {
		*ret_kept = kept;
		return 0;
	}
	kept = calloc(1, sizeof(*kept));
	if (!kept)
		return -FI_ENOMEM;
	kept->addr = iov->iov_base;
	kept->len = iov->iov_len;
	kept->access = access;
	kept->users = 1;
	/* Subscribe before the pages are pinned, so that no change is missed. */
	kept->watched = iov->iov_len <= cache->max_size &&
			!cache->monitor->subscribe(kept->addr, kept->len, &kept->era);
	err = verbs_mr_cache_register(cache, cache->pd, iov, access, &kept->mr);
	if (err) {
		if (kept->watched)
			cache->monitor->unsubscribe(kept->addr, kept->len, kept->era);
		free(kept);
		return err;
	}
	if (kept->watched)
		cache_list(cache, kept);
	*ret_kept = kept;
	return 0;
}

void verbs_mr_cache_put(struct verbs_mr_cache *cache, struct verbs_mr_kept *kept)
{
	struct wf_list ended;

	wf_list_init(&ended);
	wf_lock(&cache->lock);
	if (!--kept->users && !kept->listed)
		wf_list_push(&ended, &kept->link);
	/* Registrations that were in use may now be ended. */
	cache_shrink(cache, cache->max_count, cache->max_size, &ended);
	wf_unlock(&cache->lock);
	cache_end_all(cache, &ended);
}

/* The monitor of the process. NULL: there is none, or it cannot be used. */
static const struct wf_mem_monitor_ops *cache_open_monitor(struct fid **ret_handle)
{
	struct wf_mem_monitor_ops *ops;
	struct fid *handle;

	if (fi_open(FI_VERSION(1, 13), "mr_cache", NULL, 0, 0, &handle, NULL))
		return NULL;
	if (fi_open_ops(handle, WF_MEM_MONITOR, 0, (void **)&ops, NULL) ||
		ops->size < sizeof(*ops) || ops->start()) {
		(void)fi_close(handle);
		return NULL;
	}
	*ret_handle = handle;
	return ops;
}

struct verbs_mr_cache *verbs_mr_cache_new(struct ibv_pd *pd)
{
	struct verbs_mr_cache *cache = calloc(1, sizeof(*cache));

	if (!cache)
		return NULL;
	wf_lock_init(&cache->lock, WF_LOCK_MUTEX);
	cache->monitor = cache_open_monitor(&cache->handle);
	if (!cache->monitor) {
		wf_lock_done(&cache->lock);
		free(cache);
		return NULL;
	}
	cache->pd = pd;
	cache->max_count = cache->monitor->max_count();
	cache->max_size = cache->monitor->max_size();
	cache->pos = cache->monitor->now();
	wf_list_init(&cache->list);
	return cache;
}

void verbs_mr_cache_free(struct verbs_mr_cache *cache)
{
	struct wf_list ended;

	if (!cache)
		return;
	wf_list_init(&ended);
	cache_shrink(cache, 0, 0, &ended);
	cache_end_all(cache, &ended);
	cache->monitor->stop();
	(void)fi_close(cache->handle);
	wf_lock_done(&cache->lock);
	free(cache);
}

bool verbs_mr_cache_takes(int access)
{
	return !(access & ~IBV_ACCESS_LOCAL_WRITE);
}
