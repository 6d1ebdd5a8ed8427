/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_SIZES_H
#define WF_SYS_SIZES_H

#include "sys/pool.h"

/*
 * Memory of any size with little waste: one pool for each of many sizes, created when
 * it is first needed. Blocks longer than the largest size come from malloc. The caller
 * serialises.
 *
 * A block is @len bytes behind a header of @head bytes, which is the same for all:
 * powers of two of @len fit exactly, others are rounded up to the next 16 bytes, or by
 * at most 1/32.
 *
 * Blocks of at most WF_SIZES_HANDLE_MAX bytes have a 32-bit handle (sys/pool.h).
 */
enum {
	WF_SIZES_STEP = 16,     /* bytes between the first size classes */
	WF_SIZES_STEPS = 32,    /* first size classes, and classes in each doubling */
	WF_SIZES_DOUBLINGS = 7, /* 512 to 64 Ki */
	WF_SIZES_CLASSES = WF_SIZES_STEPS * (1 + WF_SIZES_DOUBLINGS) + 1,
	WF_SIZES_MAX = WF_SIZES_STEP * WF_SIZES_STEPS << WF_SIZES_DOUBLINGS,
	WF_SIZES_HANDLE_MAX = 4096,
	WF_SIZES_HEAD_MAX = WF_POOL_HANDLE_SIZE_MAX - WF_SIZES_HANDLE_MAX,
};

struct wf_sizes {
	size_t head, kept;      /* bytes of a header; kept bytes of all pools */
	struct wf_pool **pools; /* WF_SIZES_CLASSES pools; NULL: none is needed yet */
	struct wf_handles handles;
};

/* @head: bytes of the header, at most WF_SIZES_HEAD_MAX. */
void wf_sizes_init(struct wf_sizes *sizes, size_t head);

/* Free the memory of all pools, also blocks in use; a block longer than WF_SIZES_MAX
 * that is in use stays. */
void wf_sizes_done(struct wf_sizes *sizes);

/* Allocate a block of @len bytes behind a header, uninitialised. NULL: no memory. */
void *wf_sizes_get(struct wf_sizes *sizes, size_t len);

/* Make the block of @len bytes one of @more bytes, which is more; the header and
 * the bytes stay. NULL: no memory; then the block is as before. */
void *wf_sizes_grow(struct wf_sizes *sizes, void *mem, size_t len, size_t more);

/* Free a block; @len is the length that wf_sizes_get got. */
void wf_sizes_put(struct wf_sizes *sizes, void *mem, size_t len);

/* wf_sizes_put of a block with a handle: its length need not be known. */
static inline void wf_sizes_put_handled(void *mem)
{
	wf_pool_put(wf_pool_slab_of(mem)->pool, mem);
}

#endif
