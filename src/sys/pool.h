/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_POOL_H
#define WF_SYS_POOL_H

#include <stddef.h>
#include <stdint.h>

#include "sys/book.h"
#include "sys/compiler.h"
#include "sys/list.h"

/*
 * Objects of one size, handed out and taken back in a few nanoseconds.
 *
 * Memory comes in slabs of a power of two bytes, aligned to their size, so that an
 * object finds its slab by its address. A slab whose last object came back is given to
 * the system, but for WF_POOL_KEPT bytes that wait for the next burst. Nothing is
 * allocated before the first object is asked for. The caller serialises.
 */
enum { WF_POOL_KEPT = 1 << 20, WF_POOL_ASIDE = 16 };

/* Objects of pools that have a book can be named by 32 bits: the number of their slab,
 * and their place in it in words. */
enum {
	WF_POOL_SLAB = 1 << 16, /* bytes of the smallest slabs */
	WF_POOL_ID_SHIFT = 13,
	WF_POOL_NUMBERED_MAX = 4360, /* largest object that can be named */
};

struct wf_pool {
	struct wf_list all; /* of slab->all */
	/* Slabs with free objects, by slab->link: the latest used of those in use
	 * first, the empty ones last. */
	struct wf_list partial;
	size_t *kept; /* bytes of empty slabs; @own, or that of several pools */
	size_t own;
	struct wf_book *book; /* of the slabs; NULL: nobody names objects */
	size_t object_size, slab_size;
	size_t slabs; /* allocated at present */
	/* For the inline calls: objects that came back, not given to their slabs yet.
	 */
	unsigned int aside_count;
	void *aside[WF_POOL_ASIDE];
};

struct wf_pool_slab {
	struct wf_list link, all;
	struct wf_pool *pool;
	void *free;   /* objects that came back, linked through their first word */
	size_t fresh; /* offset of the objects that were never handed out */
	uint32_t used;
	uint32_t number; /* in the book */
};

/* @object_size is more than 0. */
void wf_pool_init(struct wf_pool *pool, size_t object_size);

/* The same, and @kept, which is 0 before the first of several pools is used, bounds
 * what all of them keep together. */
void wf_pool_init_shared(struct wf_pool *pool, size_t object_size, size_t *kept);

/* The same, and objects of up to WF_POOL_NUMBERED_MAX bytes can be named; @book, which
 * pools may share, lasts longer. */
void wf_pool_init_named(
	struct wf_pool *pool, size_t object_size, size_t *kept, struct wf_book *book);

/* Frees all memory, that of objects which did not come back as well. */
void wf_pool_done(struct wf_pool *pool);

/* Uninitialised, aligned for any type of that size; NULL when there is no memory. */
void *wf_pool_get(struct wf_pool *pool);

/* Any object that one of @pool's get returned. */
void wf_pool_put(struct wf_pool *pool, void *object);

/* Of an object in a slab of WF_POOL_SLAB bytes. */
static inline struct wf_pool_slab *wf_pool_slab_of(const void *object)
{
	return (struct wf_pool_slab *)((uintptr_t)object &
				       ~(uintptr_t)(WF_POOL_SLAB - 1));
}

/* Never 0. */
static inline uint32_t wf_pool_id(const void *object)
{
	return wf_pool_slab_of(object)->number << WF_POOL_ID_SHIFT |
	       (uint32_t)((uintptr_t)object & (WF_POOL_SLAB - 1)) / sizeof(uint64_t);
}

/* The object; @slabs is the book's at. */
static inline void *wf_pool_at(void *const *slabs, uint32_t id)
{
	return (uint64_t *)slabs[id >> WF_POOL_ID_SHIFT] +
	       (id & ((UINT32_C(1) << WF_POOL_ID_SHIFT) - 1));
}

/* A memory checker wants to be told of every object. */
#if defined(__SANITIZE_ADDRESS__)
#define WF_POOL_CHECKED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define WF_POOL_CHECKED 1
#endif
#endif
#ifndef WF_POOL_CHECKED
#define WF_POOL_CHECKED 0
#endif

/* The same, inline, for the few places where a call would show. */
static inline void *wf_pool_get_inline(struct wf_pool *pool)
{
	return wf_likely(pool->aside_count > 0) ? pool->aside[--pool->aside_count]
						: wf_pool_get(pool);
}

static inline void wf_pool_put_inline(struct wf_pool *pool, void *object)
{
	if (!WF_POOL_CHECKED && wf_likely(pool->aside_count < WF_POOL_ASIDE))
		pool->aside[pool->aside_count++] = object;
	else
		wf_pool_put(pool, object);
}

#endif
