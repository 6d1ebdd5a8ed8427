/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/hook_monitor/count.h"

#include <stdlib.h>

#include "sys/compiler.h"

enum { CACHED = 4 };

/* Blocks of this thread by the id of their file, which no later file gets: so a block
 * is never used after its file was closed. */
static _Thread_local struct {
	uint64_t file_id; /* 0: none */
	struct mon_block *block;
} cached[CACHED];

/* The upper limits of the buckets but the last. */
static const size_t limits[MON_BUCKETS - 1] = {
	64,
	512,
	1 << 10,
	4 << 10,
	64 << 10,
	256 << 10,
	1 << 20,
	4 << 20,
};

static unsigned int count_bucket_of(size_t len)
{
	unsigned int bucket = 0;

	while (bucket < MON_BUCKETS - 1 && len >= limits[bucket])
		bucket++;
	return bucket;
}

static bool count_is_owned(const struct wf_list *item, const void *owner)
{
	return wf_list_entry(item, struct mon_block, link)->owner == owner;
}

/* file->lock is held. NULL: out of memory. */
static struct mon_block *count_block_in(struct mon_file *file)
{
	struct wf_list *item = wf_list_find(&file->blocks, count_is_owned, cached);
	struct mon_block *block;

	if (item)
		return wf_list_entry(item, struct mon_block, link);
	block = calloc(1, sizeof(*block));
	if (!block)
		return NULL;
	block->owner = cached;
	wf_list_push(&file->blocks, &block->link);
	return block;
}

/* The lock of a forked child may be held by a thread that it does not have. */
static struct mon_block *count_find_block(struct mon_file *file)
{
	unsigned int slot = file->id % CACHED;

	if (mon_file_is_inherited(file))
		return NULL;
	(void)pthread_mutex_lock(&file->lock);
	cached[slot].block = count_block_in(file);
	(void)pthread_mutex_unlock(&file->lock);
	cached[slot].file_id = cached[slot].block ? file->id : 0;
	return cached[slot].block;
}

static inline struct mon_block *count_block_of(struct mon_file *file)
{
	unsigned int slot = file->id % CACHED;

	return wf_likely(cached[slot].file_id == file->id) ? cached[slot].block
							   : count_find_block(file);
}

static inline void count_add(_Atomic uint64_t *counter, uint64_t n)
{
	uint64_t old = atomic_load_explicit(counter, memory_order_relaxed);

	atomic_store_explicit(counter, old + n, memory_order_relaxed);
}

static inline void count_add_to(
	struct mon_block *block, enum mon_function function, size_t len)
{
	unsigned int bucket = count_bucket_of(len);

	count_add(&block->cell[function][bucket].count, 1);
	count_add(&block->cell[function][bucket].sum, len);
}

void mon_count_entry(struct mon_file *file, enum mon_function function, size_t len)
{
	struct mon_block *block = count_block_of(file);

	if (wf_likely(block != NULL))
		count_add_to(block, function, len);
}

void mon_count(
	struct mon_file *file, enum mon_function function, size_t len, ssize_t ret)
{
	struct mon_block *block;
	unsigned int calls;

	if (ret < 0)
		return;
	block = count_block_of(file);
	if (wf_unlikely(!block))
		return;
	count_add_to(block, function, len);
	calls = atomic_load_explicit(&block->calls, memory_order_relaxed) + 1;
	if (wf_unlikely(calls >= file->tick_max)) {
		calls = 0;
		mon_file_tick(file);
	}
	atomic_store_explicit(&block->calls, calls, memory_order_relaxed);
}
