/* SPDX-License-Identifier: BSD-2-Clause */
#include <assert.h>
#include <stdalign.h>
#include <stdbool.h>

#include "sys/pages.h"
#include "sys/pool.h"

enum {
	MIN_SLAB_OBJECTS = 15,
	MAX_OUTSIDE = (WF_POOL_OUTSIDE - 1) >> WF_POOL_SLAB_WORDS_LOG,
};

/* AddressSanitizer reports the use of freed objects. */
#if WF_POOL_CHECKED
#include <sanitizer/asan_interface.h>
#define hide(mem, len) __asan_poison_memory_region(mem, len)
#define show(mem, len) __asan_unpoison_memory_region(mem, len)
#else
#define hide(mem, len) ((void)0)
#define show(mem, len) ((void)0)
#endif

static size_t pool_round_up(size_t n, size_t align)
{
	return (n + align - 1) & ~(align - 1);
}

static size_t pool_header_size(void)
{
	return pool_round_up(sizeof(struct wf_pool_slab), alignof(max_align_t));
}

void wf_pool_init_shared(struct wf_pool *pool, size_t object_size, size_t *kept)
{
	size_t size = pool_round_up(object_size, sizeof(void *));
	size_t slab_size = WF_POOL_SLAB;

	assert(object_size);
	while (slab_size < pool_header_size() + MIN_SLAB_OBJECTS * size)
		slab_size *= 2;
	*pool = (struct wf_pool){
		.object_size = size, .slab_size = slab_size, .kept = kept
	};
	wf_list_init(&pool->partial);
	wf_list_init(&pool->all);
}

void wf_pool_init(struct wf_pool *pool, size_t object_size)
{
	wf_pool_init_shared(pool, object_size, &pool->own);
}

void wf_pool_init_handles(struct wf_pool *pool, size_t object_size, size_t *kept,
	struct wf_handles *handles)
{
	wf_pool_init_shared(pool, object_size, kept);
	assert(pool->slab_size == WF_POOL_SLAB);
	pool->handles = handles;
}

/* Give the slab a range of handles, or a number. The system maps slabs next to each
 * other, mostly downwards. False: all handles are used. */
static bool pool_number_slab(struct wf_handles *handles, struct wf_pool_slab *slab)
{
	const uintptr_t reach = WF_POOL_OUTSIDE * sizeof(uint64_t);
	const uintptr_t at = (uintptr_t)slab, below = reach / 16 * 15;

	if (!handles->base)
		handles->base = at > below ? at - below : WF_POOL_SLAB;
	slab->number = 0;
	if (at - handles->base >= reach) {
		slab->number = wf_id_map_add(&handles->outside, slab, MAX_OUTSIDE);
		if (!slab->number)
			return false;
	}
	handles->slabs++;
	return true;
}

static void pool_forget_slab(
	struct wf_handles *handles, const struct wf_pool_slab *slab)
{
	if (slab->number)
		wf_id_map_remove(&handles->outside, slab->number);
	if (--handles->slabs)
		return;
	wf_id_map_done(&handles->outside);
	handles->base = 0;
}

static void pool_free_slab(struct wf_pool *pool, struct wf_pool_slab *slab)
{
	wf_list_remove(&slab->all);
	pool->slabs--;
	if (pool->handles)
		pool_forget_slab(pool->handles, slab);
	show(slab, pool->slab_size);
	wf_pages_put(slab, pool->slab_size);
}

void wf_pool_done(struct wf_pool *pool)
{
	wf_list_foreach_safe(link, &pool->all)
	{
		struct wf_pool_slab *slab =
			wf_list_entry(link, struct wf_pool_slab, all);

		if (!slab->used)
			*pool->kept -= pool->slab_size;
		pool_free_slab(pool, slab);
	}
	wf_list_init(&pool->partial);
}

/* The new slab counts as kept until its first object is allocated. */
static struct wf_pool_slab *pool_new_slab(struct wf_pool *pool)
{
	struct wf_pool_slab *slab = wf_pages_get(pool->slab_size);

	if (!slab)
		return NULL;
	if (pool->handles && !pool_number_slab(pool->handles, slab)) {
		wf_pages_put(slab, pool->slab_size);
		return NULL;
	}
	slab->pool = pool;
	slab->fresh = pool_header_size();
	wf_list_insert_after(&pool->partial, &slab->link);
	wf_list_push(&pool->all, &slab->all);
	pool->slabs++;
	*pool->kept += pool->slab_size;
	hide((char *)slab + slab->fresh, pool->slab_size - slab->fresh);
	return slab;
}

static bool pool_is_full(const struct wf_pool *pool, const struct wf_pool_slab *slab)
{
	return !slab->free && slab->fresh + pool->object_size > pool->slab_size;
}

static void *pool_take(struct wf_pool *pool, struct wf_pool_slab *slab)
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
		slab = pool_new_slab(pool);
	else
		slab = wf_list_entry(pool->partial.next, struct wf_pool_slab, link);
	if (wf_unlikely(!slab))
		return NULL;
	object = pool_take(pool, slab);
	if (!slab->used++)
		*pool->kept -= pool->slab_size;
	if (wf_unlikely(pool_is_full(pool, slab)))
		wf_list_remove(&slab->link);
	return object;
}

/* Keep an empty slab behind those in use, or unmap it if enough are kept. */
static void pool_retire(struct wf_pool *pool, struct wf_pool_slab *slab)
{
	wf_list_remove(&slab->link);
	if (*pool->kept + pool->slab_size > WF_POOL_KEPT) {
		pool_free_slab(pool, slab);
		return;
	}
	*pool->kept += pool->slab_size;
	wf_list_push(&pool->partial, &slab->link);
}

void wf_pool_put(struct wf_pool *pool, void *object)
{
	struct wf_pool_slab *slab =
		(void *)((uintptr_t)object & ~(uintptr_t)(pool->slab_size - 1));

	assert(slab->pool == pool && slab->used);
	if (wf_unlikely(pool_is_full(pool, slab)))
		wf_list_insert_after(&pool->partial, &slab->link);
	*(void **)object = slab->free;
	slab->free = object;
	hide(object, pool->object_size);
	if (wf_unlikely(!--slab->used))
		pool_retire(pool, slab);
}
