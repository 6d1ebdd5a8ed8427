/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_POOL_H
#define WF_SYS_POOL_H

#include <stddef.h>
#include <stdint.h>

#include "sys/id_map.h"
#include "sys/compiler.h"
#include "sys/list.h"

/*
 * Objects of one size, allocated and freed in a few nanoseconds.
 *
 * Memory comes in slabs of a power of two bytes, aligned to their size, so that the
 * slab of an object follows from its address. A slab without objects in use is
 * unmapped, except for WF_POOL_KEPT bytes of slabs that are kept for the next burst: a
 * lap of long messages that come before their receives, which would cost a page fault
 * for each page otherwise. The first object allocates the first slab. The caller
 * serialises.
 */
enum { WF_POOL_KEPT = 8 << 20, WF_POOL_SPARE = 64 };

/*
 * Handles of objects, in 32 bits: the address in words of 8 bytes, relative to a base
 * below the first slab. The system mostly maps slabs next to each other. A slab outside
 * the range of 31 bits has a number, and handles of its objects have the highest bit
 * set. All zero before the first slab.
 */
struct wf_handles {
	uintptr_t base;           /* address of handle 0; 0: no slab yet */
	uint32_t slabs;           /* slabs with handles */
	struct wf_id_map outside; /* slabs with a number */
};

enum {
	WF_POOL_SLAB = 1 << 16, /* bytes of the smallest slabs */
	WF_POOL_HANDLE_SIZE_MAX =
		/* Bytes of the largest object that can have a handle. */
	4360,
	/* Handles with a slab number: bits for the word in the slab. */
	WF_POOL_SLAB_WORDS_LOG = 13,
};

#define WF_POOL_OUTSIDE (UINT32_C(1) << 31)

struct wf_pool {
	struct wf_list all; /* all slabs, by slab->all */
	/* Slabs with free objects, by slab->link: those in use first, the last used at
	 * the head; empty ones last. */
	struct wf_list partial;
	/* Bytes of empty slabs; points to @own, or to a count that several pools
	 * share. */
	size_t *kept;
	size_t own;                 /* kept bytes, unless pools share the count */
	struct wf_handles *handles; /* NULL: objects have no handles */
	size_t object_size, slab_size;
	size_t slabs; /* number of slabs */
	/* For the inline calls: freed objects that were not given back to their slabs,
	 * linked through their first word, at most WF_POOL_SPARE. A program that posts
	 * as many receives as messages arrive uses only these. */
	void *spare;
	unsigned int spare_count; /* objects in @spare */
};

struct wf_pool_slab {
	struct wf_list link, all; /* in wf_pool.partial, in wf_pool.all */
	struct wf_pool *pool;
	void *free;      /* freed objects, linked through their first word */
	size_t fresh;    /* offset of the first object that was never allocated */
	uint32_t used;   /* objects that are allocated */
	uint32_t number; /* number in wf_handles.outside; 0: none */
};

/* @object_size is more than 0. */
void wf_pool_init(struct wf_pool *pool, size_t object_size);

/* wf_pool_init for pools that share the limit WF_POOL_KEPT: *@kept counts the kept
 * bytes of all of them, and is 0 before the first pool is used. */
void wf_pool_init_shared(struct wf_pool *pool, size_t object_size, size_t *kept);

/* wf_pool_init_shared for objects of at most WF_POOL_HANDLE_SIZE_MAX bytes that have
 * handles. Pools may share @handles, which must outlive them. */
void wf_pool_init_handles(struct wf_pool *pool, size_t object_size, size_t *kept,
	struct wf_handles *handles);

/* Free all memory, also that of objects in use. */
void wf_pool_done(struct wf_pool *pool);

/* Allocate an object: uninitialised, aligned for any type of its size. NULL: no
 * memory. */
void *wf_pool_get(struct wf_pool *pool);

/* Free an object that wf_pool_get(@pool) returned. */
void wf_pool_put(struct wf_pool *pool, void *object);

/* The slab of an object, for slabs of WF_POOL_SLAB bytes. */
static inline struct wf_pool_slab *wf_pool_slab_of(const void *object)
{
	return (struct wf_pool_slab *)((uintptr_t)object &
				       ~(uintptr_t)(WF_POOL_SLAB - 1));
}

/* The handle of an object, or of a field of it at a multiple of 8 bytes. Never 0. */
static inline uint32_t wf_pool_handle(
	const struct wf_handles *handles, const void *object)
{
	uintptr_t words = ((uintptr_t)object - handles->base) / sizeof(uint64_t);

	if (wf_likely(words < WF_POOL_OUTSIDE))
		return (uint32_t)words;
	return WF_POOL_OUTSIDE |
	       wf_pool_slab_of(object)->number << WF_POOL_SLAB_WORDS_LOG |
	       (uint32_t)((uintptr_t)object % WF_POOL_SLAB / sizeof(uint64_t));
}

static inline void *wf_pool_outside(const struct wf_handles *handles, uint32_t handle)
{
	uint32_t number = (handle & ~WF_POOL_OUTSIDE) >> WF_POOL_SLAB_WORDS_LOG;

	return (uint64_t *)handles->outside.at[number] +
	       (handle & ((UINT32_C(1) << WF_POOL_SLAB_WORDS_LOG) - 1));
}

/* For several look-ups in a row, while no slab is allocated or freed. */
struct wf_handles_view {
	const struct wf_handles *handles;
	uintptr_t base;
};

static inline struct wf_handles_view wf_handles_view(const struct wf_handles *handles)
{
	return (struct wf_handles_view){ handles, handles->base };
}

static inline void *wf_pool_view_at(struct wf_handles_view view, uint32_t handle)
{
	if (wf_unlikely(handle & WF_POOL_OUTSIDE))
		return wf_pool_outside(view.handles, handle);
	return (void *)(view.base + handle * sizeof(uint64_t));
}

static inline void *wf_pool_at(const struct wf_handles *handles, uint32_t handle)
{
	return wf_pool_view_at(wf_handles_view(handles), handle);
}

/* A memory checker has to see every object that is allocated or freed. */
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

/* wf_pool_get and wf_pool_put as inline functions, for hot paths where a call is
 * measurable. */
static inline void *wf_pool_get_inline(struct wf_pool *pool)
{
	void *object = pool->spare;

	if (wf_unlikely(!object))
		return wf_pool_get(pool);
	pool->spare = *(void **)object;
	pool->spare_count--;
	return object;
}

/* wf_pool_get of a spare object, without a call. NULL: there is no spare object. */
static inline void *wf_pool_get_spare(struct wf_pool *pool)
{
	if (WF_POOL_CHECKED)
		return wf_pool_get(pool);
	return wf_likely(pool->spare != NULL) ? wf_pool_get_inline(pool) : NULL;
}

static inline void wf_pool_put_inline(struct wf_pool *pool, void *object)
{
	if (WF_POOL_CHECKED || wf_unlikely(pool->spare_count >= WF_POOL_SPARE)) {
		wf_pool_put(pool, object);
		return;
	}
	*(void **)object = pool->spare;
	pool->spare = object;
	pool->spare_count++;
}

#endif
