/* SPDX-License-Identifier: BSD-2-Clause */
#include <assert.h>
#include <string.h>

#include "sys/sizes.h"

static unsigned int sizes_log2_of(size_t n)
{
	return 63 - (unsigned int)__builtin_clzl(n);
}

/* Class k holds up to sizes_class_len(k) bytes. */
static unsigned int sizes_class_of(size_t len)
{
	const size_t first = WF_SIZES_STEP * WF_SIZES_STEPS;
	unsigned int shift;

	if (len <= first)
		return (unsigned int)((len + WF_SIZES_STEP - 1) / WF_SIZES_STEP);
	/* (len - 1) is in [2^n, 2^(n+1)), which WF_SIZES_STEPS classes divide. */
	shift = sizes_log2_of(len - 1) - sizes_log2_of(WF_SIZES_STEPS);
	return (shift - sizes_log2_of(WF_SIZES_STEP)) * WF_SIZES_STEPS +
	       (unsigned int)((len - 1) >> shift) + 1;
}

static size_t sizes_class_len(unsigned int k)
{
	unsigned int doubling;

	if (k <= WF_SIZES_STEPS)
		return (size_t)k * WF_SIZES_STEP;
	doubling = (k - 1) / WF_SIZES_STEPS - 1;
	return (size_t)(WF_SIZES_STEPS + 1 + (k - 1) % WF_SIZES_STEPS)
	       << (doubling + sizes_log2_of(WF_SIZES_STEP));
}

void wf_sizes_init(struct wf_sizes *sizes, size_t head)
{
	assert(head <= WF_SIZES_HEAD_MAX);
	*sizes = (struct wf_sizes){ .head = head };
}

void wf_sizes_done(struct wf_sizes *sizes)
{
	for (unsigned int k = 0; sizes->pools && k < WF_SIZES_CLASSES; k++) {
		if (!sizes->pools[k])
			continue;
		wf_pool_done(sizes->pools[k]);
		free(sizes->pools[k]);
	}
	free(sizes->pools);
	sizes->pools = NULL;
}

static __attribute__((noinline)) struct wf_pool *sizes_pool_new(
	struct wf_sizes *sizes, unsigned int k)
{
	struct wf_pool *pool;
	size_t size = sizes->head + sizes_class_len(k);

	if (!sizes->pools)
		sizes->pools = calloc(WF_SIZES_CLASSES, sizeof(struct wf_pool *));
	if (!sizes->pools)
		return NULL;
	pool = malloc(sizeof(*pool));
	if (!pool)
		return NULL;
	if (sizes_class_len(k) <= WF_SIZES_HANDLE_MAX)
		wf_pool_init_handles(pool, size, &sizes->kept, &sizes->handles);
	else
		wf_pool_init_shared(pool, size, &sizes->kept);
	return sizes->pools[k] = pool;
}

static struct wf_pool *sizes_pool_of(struct wf_sizes *sizes, size_t len)
{
	unsigned int k = sizes_class_of(len);

	if (wf_likely(sizes->pools && sizes->pools[k]))
		return sizes->pools[k];
	return sizes_pool_new(sizes, k);
}

void *wf_sizes_get(struct wf_sizes *sizes, size_t len)
{
	struct wf_pool *pool;

	if (len > WF_SIZES_MAX)
		return len > SIZE_MAX - sizes->head ? NULL : malloc(sizes->head + len);
	pool = sizes_pool_of(sizes, len);
	return pool ? wf_pool_get(pool) : NULL;
}

void *wf_sizes_grow(struct wf_sizes *sizes, void *mem, size_t len, size_t more)
{
	void *wider;

	if (len > WF_SIZES_MAX)
		return more > SIZE_MAX - sizes->head ? NULL
						     : realloc(mem, sizes->head + more);
	wider = wf_sizes_get(sizes, more);
	if (!wider)
		return NULL;
	memcpy(wider, mem, sizes->head + len);
	wf_sizes_put(sizes, mem, len);
	return wider;
}

void wf_sizes_put(struct wf_sizes *sizes, void *mem, size_t len)
{
	if (len > WF_SIZES_MAX)
		free(mem);
	else
		wf_pool_put(sizes_pool_of(sizes, len), mem);
}
