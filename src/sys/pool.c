/* SPDX-License-Identifier: BSD-2-Clause */
#include <assert.h>
#include <stdalign.h>

#include "sys/pool.h"

enum { MIN_SLAB_BYTES = 16384, MIN_SLAB_OBJECTS = 16 };

/* A memory checker sees the use of objects that were given back. */
#if defined(__SANITIZE_ADDRESS__)
#define POISONED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define POISONED 1
#endif
#endif
#ifdef POISONED
#include <sanitizer/asan_interface.h>
#define hide(mem, len) __asan_poison_memory_region(mem, len)
#define show(mem, len) __asan_unpoison_memory_region(mem, len)
#else
#define hide(mem, len) ((void)0)
#define show(mem, len) ((void)0)
#endif

static size_t round_up(size_t n)
{
	const size_t align = alignof(max_align_t);

	return (n + align - 1) & ~(align - 1);
}

static size_t header_size(void)
{
	return round_up(sizeof(struct wf_pool_slab));
}

void wf_pool_init(struct wf_pool *pool, size_t object_size)
{
	size_t size = round_up(WF_MAX(object_size, sizeof(void *)));
	size_t slab_size = MIN_SLAB_BYTES;

	assert(object_size);
	while (slab_size < header_size() + MIN_SLAB_OBJECTS * size)
		slab_size *= 2;
	*pool = (struct wf_pool){ .object_size = size, .slab_size = slab_size };
	wf_list_init(&pool->partial);
	wf_list_init(&pool->all);
}

static void free_slab(struct wf_pool *pool, struct wf_pool_slab *slab)
{
	wf_list_remove(&slab->all);
	pool->slabs--;
	show(slab, pool->slab_size);
	free(slab);
}

void wf_pool_done(struct wf_pool *pool)
{
	wf_list_foreach_safe(link, &pool->all)
		free_slab(pool, wf_list_entry(link, struct wf_pool_slab, all));
	wf_list_init(&pool->partial);
	pool->spare = NULL;
}

static struct wf_pool_slab *new_slab(struct wf_pool *pool)
{
	struct wf_pool_slab *slab = aligned_alloc(pool->slab_size, pool->slab_size);

	if (!slab)
		return NULL;
	*slab = (struct wf_pool_slab){ .pool = pool, .fresh = header_size() };
	wf_list_insert_after(&pool->partial, &slab->link);
	wf_list_push(&pool->all, &slab->all);
	pool->slabs++;
	hide((char *)slab + slab->fresh, pool->slab_size - slab->fresh);
	return slab;
}

static bool is_full(const struct wf_pool *pool, const struct wf_pool_slab *slab)
{
	return !slab->free && slab->fresh + pool->object_size > pool->slab_size;
}

static void *take(struct wf_pool *pool, struct wf_pool_slab *slab)
{
	void *object = slab->free;

	if (object) {
		show(object, pool->object_size);
		slab->free = *(void **)object;
	} else {
		object = (char *)slab + slab->fresh;
		slab->fresh += pool->object_size;
		show(object, pool->object_size);
	}
	return object;
}

void *wf_pool_get(struct wf_pool *pool)
{
	struct wf_pool_slab *slab;
	void *object;

	if (wf_unlikely(wf_list_empty(&pool->partial)))
		slab = new_slab(pool);
	else
		slab = wf_list_entry(pool->partial.next, struct wf_pool_slab, link);
	if (wf_unlikely(!slab))
		return NULL;
	object = take(pool, slab);
	if (!slab->used++ && slab == pool->spare)
		pool->spare = NULL;
	if (wf_unlikely(is_full(pool, slab)))
		wf_list_remove(&slab->link);
	return object;
}

/* The empty slab waits behind those in use, if there is none already. */
static void retire(struct wf_pool *pool, struct wf_pool_slab *slab)
{
	wf_list_remove(&slab->link);
	if (pool->spare) {
		free_slab(pool, slab);
		return;
	}
	pool->spare = slab;
	wf_list_push(&pool->partial, &slab->link);
}

void wf_pool_put(struct wf_pool *pool, void *object)
{
	struct wf_pool_slab *slab =
		(void *)((uintptr_t)object & ~(uintptr_t)(pool->slab_size - 1));

	assert(slab->pool == pool && slab->used);
	if (wf_unlikely(is_full(pool, slab)))
		wf_list_insert_after(&pool->partial, &slab->link);
	*(void **)object = slab->free;
	slab->free = object;
	hide(object, pool->object_size);
	if (wf_unlikely(!--slab->used))
		retire(pool, slab);
}
