/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_COMPILER_H
#define WF_SYS_COMPILER_H

#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

/* Marks the functions that symbols.tsv lists; all others are hidden. */
#define WF_EXPORT __attribute__((visibility("default")))

#define wf_likely(x)   __builtin_expect(!!(x), 1)
#define wf_unlikely(x) __builtin_expect(!!(x), 0)

/* For hot functions, where the cost of a call would be measurable. */
#define WF_INLINE static inline __attribute__((always_inline))

/* The compiler does not merge a store to the variable @x before with one behind: two
 * values that it stores as one vector can be loaded later than each alone. */
#define WF_STORE_ALONE(x) __asm__("" : "+m"(x))

#define WF_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define WF_MIN(a, b)     ((a) < (b) ? (a) : (b))
#define WF_MAX(a, b)     ((a) > (b) ? (a) : (b))

#define wf_container_of(ptr, type, member)                                             \
	((type *)(void *)((char *)(ptr)-offsetof(type, member)))

#define WF_PRINTF(fmt, first) __attribute__((format(printf, fmt, first)))

/* Two lines, because the adjacent-line prefetcher pairs them on x86-64. */
#define WF_CACHELINE 64

/* CLEANUP(wf_free) char *text = ...; releases when the scope ends. */
#define CLEANUP(fn) __attribute__((cleanup(fn##_p)))

static inline void wf_free_p(void *p)
{
	free(*(void **)p);
}

/* Prefetch the cache line at @p for writing. For plain x86-64 the built-in is a
 * prefetch for reading; prefetchw does nothing on the few processors that do not know
 * it. */
static inline void wf_prefetch_write(const void *p)
{
#ifdef __x86_64__
	__asm__ volatile("prefetchw %0" : : "m"(*(const char *)p));
#else
	__builtin_prefetch(p, 1);
#endif
}

#endif
