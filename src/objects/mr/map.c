/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>

#include "objects/mr/map.h"

enum { FIRST_BUCKETS = 16 };

int wf_mr_map_init(struct wf_mr_map *map, enum wf_lock_kind kind)
{
	memset(map, 0, sizeof(*map));
	map->buckets = calloc(FIRST_BUCKETS, sizeof(struct wf_mr *));
	if (!map->buckets)
		return -FI_ENOMEM;
	map->bucket_count = FIRST_BUCKETS;
	wf_list_init(&map->watches);
	wf_lock_init(&map->lock, kind);
	return 0;
}

void wf_mr_map_done(struct wf_mr_map *map)
{
	assert(!map->count);
	free(map->buckets);
	wf_lock_done(&map->lock);
}

/* Keys are often small and consecutive, so the top bits of a product spread them. */
static struct wf_mr **map_bucket_of(struct wf_mr **buckets, size_t count, uint64_t key)
{
	uint64_t hash = key * 0x9e3779b97f4a7c15u;

	return &buckets[(hash >> 32) & (count - 1)];
}

static struct wf_mr *map_find(const struct wf_mr_map *map, uint64_t key)
{
	struct wf_mr *mr = *map_bucket_of(map->buckets, map->bucket_count, key);

	while (mr && mr->fid.key != key)
		mr = mr->hash_next;
	return mr;
}

static void map_rehash(struct wf_mr_map *map, struct wf_mr **buckets, size_t count)
{
	struct wf_mr *mr, *next, **bucket;

	for (size_t i = 0; i < map->bucket_count; i++) {
		for (mr = map->buckets[i]; mr; mr = next) {
			next = mr->hash_next;
			bucket = map_bucket_of(buckets, count, mr->fid.key);
			mr->hash_next = *bucket;
			*bucket = mr;
		}
	}
	free(map->buckets);
	map->buckets = buckets;
	map->bucket_count = count;
}

/* Without memory the table stays as it is, which only makes it slower. @lock is
 * held. */
static void map_grow(struct wf_mr_map *map)
{
	size_t count = 2 * map->bucket_count;
	struct wf_mr **buckets;

	if (map->count < map->bucket_count)
		return;
	buckets = calloc(count, sizeof(struct wf_mr *));
	if (buckets)
		map_rehash(map, buckets, count);
}

/* Choose the next free key. @lock is held. */
static int map_choose_key(struct wf_mr_map *map, uint64_t max_key, uint64_t *ret_key)
{
	uint64_t key;

	if (map->count > max_key)
		return -FI_ENOKEY;
	do {
		if (map->next_key > max_key)
			map->next_key = 0;
		key = map->next_key++;
	} while (map_find(map, key));
	*ret_key = key;
	return 0;
}

static struct wf_mr_watch *map_watch_of(struct wf_list *link)
{
	return wf_list_entry(link, struct wf_mr_watch, link);
}

/* @lock is held, here and below. */
static void map_open_region(struct wf_mr_map *map, struct wf_mr *mr, bool again)
{
	wf_list_foreach(it, &map->watches)
	{
		map_watch_of(it)->open(map_watch_of(it), mr, again);
	}
}

static void map_close_region(struct wf_mr_map *map, struct wf_mr *mr, bool again)
{
	wf_list_foreach(it, &map->watches)
	{
		map_watch_of(it)->close(map_watch_of(it), mr, again);
	}
}

int wf_mr_map_insert(
	struct wf_mr_map *map, struct wf_mr *mr, bool choose, uint64_t max_key)
{
	struct wf_mr **bucket;
	int err = 0;

	wf_lock(&map->lock);
	if (choose)
		err = map_choose_key(map, max_key, &mr->fid.key);
	else if (map_find(map, mr->fid.key))
		err = -FI_ENOKEY;
	if (!err) {
		map_grow(map);
		bucket = map_bucket_of(map->buckets, map->bucket_count, mr->fid.key);
		mr->hash_next = *bucket;
		*bucket = mr;
		map->count++;
		if (mr->enabled)
			map_open_region(map, mr, false);
	}
	wf_unlock(&map->lock);
	return err;
}

void wf_mr_map_remove(struct wf_mr_map *map, struct wf_mr *mr)
{
	struct wf_mr **at;

	wf_lock(&map->lock);
	at = map_bucket_of(map->buckets, map->bucket_count, mr->fid.key);
	while (*at && *at != mr)
		at = &(*at)->hash_next;
	if (*at) {
		*at = mr->hash_next;
		map->count--;
		if (mr->enabled)
			map_close_region(map, mr, false);
	}
	wf_unlock(&map->lock);
}

void wf_mr_map_enable(struct wf_mr_map *map, struct wf_mr *mr)
{
	wf_lock(&map->lock);
	if (!mr->enabled && mr->fid.key != FI_KEY_NOTAVAIL)
		map_open_region(map, mr, false);
	mr->enabled = true;
	wf_unlock(&map->lock);
}

void wf_mr_map_change(struct wf_mr_map *map, struct wf_mr *mr, struct wf_cntr *cntr)
{
	bool open;

	wf_lock(&map->lock);
	open = mr->enabled && mr->fid.key != FI_KEY_NOTAVAIL;
	if (open)
		map_close_region(map, mr, true);
	if (cntr)
		mr->cntr = cntr;
	if (open)
		map_open_region(map, mr, true);
	wf_unlock(&map->lock);
}

/* Call @act for all regions that peers may access. */
static void map_for_all(struct wf_mr_map *map, struct wf_mr_watch *watch,
	void (*act)(struct wf_mr_watch *watch, struct wf_mr *mr))
{
	struct wf_mr *mr;

	for (size_t i = 0; i < map->bucket_count; i++)
		for (mr = map->buckets[i]; mr; mr = mr->hash_next)
			if (mr->enabled)
				act(watch, mr);
}

static void map_open_first(struct wf_mr_watch *watch, struct wf_mr *mr)
{
	watch->open(watch, mr, false);
}

void wf_mr_map_watch(struct wf_mr_map *map, struct wf_mr_watch *watch)
{
	wf_lock(&map->lock);
	wf_list_push(&map->watches, &watch->link);
	map_for_all(map, watch, map_open_first);
	wf_unlock(&map->lock);
}

void wf_mr_map_unwatch(struct wf_mr_map *map, struct wf_mr_watch *watch)
{
	wf_lock(&map->lock);
	wf_list_remove(&watch->link);
	wf_unlock(&map->lock);
}

static void map_open_again(struct wf_mr_watch *watch, struct wf_mr *mr)
{
	watch->close(watch, mr, true);
	watch->open(watch, mr, true);
}

void wf_mr_map_refresh(struct wf_mr_map *map, struct wf_mr_watch *watch)
{
	wf_lock(&map->lock);
	map_for_all(map, watch, map_open_again);
	wf_unlock(&map->lock);
}

int wf_mr_lookup(struct wf_mr_map *map, uint64_t key, uint64_t addr, size_t len,
	uint64_t access, struct wf_mr **ret_mr)
{
	struct wf_mr *mr = map_find(map, key);
	uint64_t offset;

	if (!mr || !mr->enabled)
		return -FI_EKEYREJECTED;
	if ((mr->access & access) != access)
		return -FI_EACCES;
	/* An address below the base wraps to an offset that is too large. */
	offset = addr - mr->base;
	if (offset > mr->len || len > mr->len - offset)
		return -FI_EINVAL;
	*ret_mr = mr;
	return 0;
}

size_t wf_mr_pieces(const struct wf_mr *mr, uint64_t addr, size_t len,
	struct iovec *iov, size_t max)
{
	size_t offset = addr - mr->base, count = 0, part;

	for (size_t i = 0; i < mr->iov_count && len && count < max; i++) {
		if (offset >= mr->iov[i].iov_len) {
			offset -= mr->iov[i].iov_len;
			continue;
		}
		part = WF_MIN(len, mr->iov[i].iov_len - offset);
		iov[count].iov_base = (char *)mr->iov[i].iov_base + offset;
		iov[count++].iov_len = part;
		len -= part;
		offset = 0;
	}
	return count;
}
