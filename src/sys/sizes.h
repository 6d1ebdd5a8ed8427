/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_SIZES_H
#define WF_SYS_SIZES_H

#include "sys/pool.h"

/*
 * Memory of any size, close to what was asked for, and given back like that of a pool:
 * one pool for each of many sizes, made when it is first asked for. What is longer than
 * the largest of them comes from malloc. The caller serialises.
 *
 * A size is @len bytes behind a header of @head, which is the same for all: powers of
 * two of @len fit exactly, others are rounded up to the next 16 bytes, or by 1/32.
 *
 * What is no longer than WF_SIZES_HANDLE_MAX has a name of 32 bits (sys/pool.h).
 */
enum {
	WF_SIZES_STEP = 16,     /* the first classes */
	WF_SIZES_STEPS = 32,    /* so many of them, and so many in each doubling */
	WF_SIZES_DOUBLINGS = 7, /* 512 to 64 Ki */
	WF_SIZES_CLASSES = WF_SIZES_STEPS * (1 + WF_SIZES_DOUBLINGS) + 1,
	WF_SIZES_MAX = WF_SIZES_STEP * WF_SIZES_STEPS << WF_SIZES_DOUBLINGS,
	WF_SIZES_HANDLE_MAX = 4096,
	WF_SIZES_HEAD_MAX = WF_POOL_HANDLE_SIZE_MAX - WF_SIZES_HANDLE_MAX,
};

struct wf_sizes {
	size_t head, kept;
	struct wf_pool **pools; /* WF_SIZES_CLASSES of them; NULL: none was asked for */
	struct wf_handles handles;
};

/* @head: WF_SIZES_HEAD_MAX at most. */
void wf_sizes_init(struct wf_sizes *sizes, size_t head);

/* Frees what came from pools, back or not; what is longer than WF_SIZES_MAX, and not
 * back, stays. */
void wf_sizes_done(struct wf_sizes *sizes);

/* Uninitialised; NULL when there is no memory. */
void *wf_sizes_get(struct wf_sizes *sizes, size_t len);

/* @len is that of the get. */
void wf_sizes_put(struct wf_sizes *sizes, void *mem, size_t len);

/* The same of what has a name: its length need not be known. */
static inline void wf_sizes_put_named(void *mem)
{
	wf_pool_put(wf_pool_slab_of(mem)->pool, mem);
}

#endif
