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

/*
 * Names of objects, in 32 bits: where they lie, in words from a place not far from the
 * first slab. The system mostly puts slabs side by side; those that it puts too far
 * away have numbers, and names with the highest bit set. All zero before the first one.
 */
struct wf_names {
	uintptr_t base; /* 0: no slab so far */
	uint32_t slabs;
	struct wf_book far;
};

enum {
	WF_POOL_SLAB = 1 << 16,      /* bytes of the smallest slabs */
	WF_POOL_NAMED_MAX = 4360,    /* of the largest object that can have a name */
	WF_POOL_SLAB_WORDS_LOG = 13, /* the place in a slab of those with numbers */
};

#define WF_POOL_FAR (UINT32_C(1) << 31)

struct wf_pool {
	struct wf_list all; /* of slab->all */
	/* Slabs with free objects, by slab->link: the latest used of those in use
	 * first, the empty ones last. */
	struct wf_list partial;
	size_t *kept; /* bytes of empty slabs; @own, or that of several pools */
	size_t own;
	struct wf_names *names; /* NULL: objects have none */
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
	uint32_t number; /* among those far away, or 0 */
};

/* @object_size is more than 0. */
void wf_pool_init(struct wf_pool *pool, size_t object_size);

/* The same, and @kept, which is 0 before the first of several pools is used, bounds
 * what all of them keep together. */
void wf_pool_init_shared(struct wf_pool *pool, size_t object_size, size_t *kept);

/* The same, of WF_POOL_NAMED_MAX bytes at most, and they have names. Pools may share
 * @names, which lasts longer. */
void wf_pool_init_named(
	struct wf_pool *pool, size_t object_size, size_t *kept, struct wf_names *names);

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
static inline uint32_t wf_pool_name(const struct wf_names *names, const void *object)
{
	uint32_t number = wf_pool_slab_of(object)->number;

	if (wf_likely(!number))
		return (uint32_t)(((uintptr_t)object - names->base) / sizeof(uint64_t));
	return WF_POOL_FAR | number << WF_POOL_SLAB_WORDS_LOG |
	       (uint32_t)((uintptr_t)object % WF_POOL_SLAB / sizeof(uint64_t));
}

static inline void *wf_pool_far(const struct wf_names *names, uint32_t name)
{
	uint32_t number = (name & ~WF_POOL_FAR) >> WF_POOL_SLAB_WORDS_LOG;

	return (uint64_t *)names->far.at[number] +
	       (name & ((UINT32_C(1) << WF_POOL_SLAB_WORDS_LOG) - 1));
}

/* For several look-ups in a row, while no slab comes or goes. */
struct wf_names_view {
	const struct wf_names *names;
	uintptr_t base;
};

static inline struct wf_names_view wf_names_view(const struct wf_names *names)
{
	return (struct wf_names_view){ names, names->base };
}

static inline void *wf_pool_look(struct wf_names_view view, uint32_t name)
{
	if (wf_unlikely(name & WF_POOL_FAR))
		return wf_pool_far(view.names, name);
	return (void *)(view.base + name * sizeof(uint64_t));
}

static inline void *wf_pool_at(const struct wf_names *names, uint32_t name)
{
	return wf_pool_look(wf_names_view(names), name);
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
