/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_COPY_H
#define WF_SYS_COPY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "sys/compiler.h"

/*
 * memcpy for some tens of bytes, whose number the compiler does not know: a call would
 * take as long as the copy. Copies pieces of one size; the last piece overlaps the one
 * before.
 */
WF_INLINE void wf_copy_small(void *to_, const void *from_, size_t len)
{
	const uint8_t *from = from_;
	uint8_t *to = to_;
	size_t at = 0;

	if (wf_likely(len >= 16)) {
		for (; at + 32 < len; at += 32) {
			memcpy(to + at, from + at, 16);
			memcpy(to + at + 16, from + at + 16, 16);
		}
		if (at + 16 < len)
			memcpy(to + at, from + at, 16);
		memcpy(to + len - 16, from + len - 16, 16);
	} else if (len >= 8) {
		memcpy(to, from, 8);
		memcpy(to + len - 8, from + len - 8, 8);
	} else if (len >= 4) {
		memcpy(to, from, 4);
		memcpy(to + len - 4, from + len - 4, 4);
	} else {
		for (; at < len; at++)
			to[at] = from[at];
	}
}

/*
 * memcpy for large amounts of data that are not read soon: where the processor can do
 * that, the destination is written around the caches, which keep what they have. When
 * it returns, the stores are ordered as others are.
 */
#ifdef __x86_64__
void wf_copy_stream(void *to, const void *from, size_t len);
#else
static inline void wf_copy_stream(void *to, const void *from, size_t len)
{
	memcpy(to, from, len);
}
#endif

#ifdef __x86_64__
/* copy.c: memcpy without string instructions. At least WF_COPY_STRING_MIN bytes. */
void wf_copy_vectors(void *to, const void *from, size_t len);

/* The C library uses string instructions for blocks of about this many bytes and
 * more. */
enum { WF_COPY_STRING_MIN = 1024 };

/*
 * Do string instructions copy slowly? Some processors execute them byte by byte when
 * the destination begins less than a cache line behind the source within its page (AMD
 * Zen 4: a tenth of the speed and less).
 */
static inline bool wf_copy_string_is_slow(const void *to, const void *from)
{
	return (((uintptr_t)to - (uintptr_t)from) % 4096) - 1 < WF_CACHELINE - 1;
}
#endif

/* memcpy for payloads: as fast at every alignment. */
static inline void wf_copy(void *to, const void *from, size_t len)
{
#ifdef __x86_64__
	if (wf_unlikely(
		    len >= WF_COPY_STRING_MIN && wf_copy_string_is_slow(to, from))) {
		wf_copy_vectors(to, from, len);
		return;
	}
#endif
	memcpy(to, from, len);
}

#endif
