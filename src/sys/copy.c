/* SPDX-License-Identifier: BSD-2-Clause */
#include "sys/copy.h"

#ifdef __x86_64__
#include <emmintrin.h>

enum { STEP = 4 * sizeof(__m128i) };

static inline void copy_step(uint8_t *to_, const uint8_t *from_)
{
	const __m128i *from = (const __m128i *)(const void *)from_;
	__m128i *to = (__m128i *)(void *)to_;
	__m128i a = _mm_loadu_si128(from), b = _mm_loadu_si128(from + 1);
	__m128i c = _mm_loadu_si128(from + 2), d = _mm_loadu_si128(from + 3);

	_mm_storeu_si128(to, a);
	_mm_storeu_si128(to + 1, b);
	_mm_storeu_si128(to + 2, c);
	_mm_storeu_si128(to + 3, d);
}

static inline void copy_stream_step(uint8_t *to_, const uint8_t *from_)
{
	const __m128i *from = (const __m128i *)(const void *)from_;
	__m128i *to = (__m128i *)(void *)to_;
	__m128i a = _mm_loadu_si128(from), b = _mm_loadu_si128(from + 1);
	__m128i c = _mm_loadu_si128(from + 2), d = _mm_loadu_si128(from + 3);

	_mm_stream_si128(to, a);
	_mm_stream_si128(to + 1, b);
	_mm_stream_si128(to + 2, c);
	_mm_stream_si128(to + 3, d);
}

void wf_copy_stream(void *to_, const void *from_, size_t len)
{
	const uint8_t *from = from_;
	uint8_t *to = to_;
	/* Only whole lines are streamed. */
	size_t at = -(uintptr_t)to % WF_CACHELINE;

	if (len < 2 * STEP) {
		memcpy(to, from, len);
		return;
	}
	memcpy(to, from, at);
	for (; at + STEP <= len; at += STEP)
		copy_stream_step(to + at, from + at);
	memcpy(to + at, from + at, len - at);
	/* Streamed stores are not ordered before a later release store. */
	_mm_sfence();
}

void wf_copy_vectors(void *to_, const void *from_, size_t len)
{
	const uint8_t *from = from_;
	uint8_t *to = to_;
	/* The first step overlaps the second, whose stores then cross no line. */
	size_t at = WF_CACHELINE - (uintptr_t)to % WF_CACHELINE;

	copy_step(to, from);
	for (; at + STEP <= len; at += STEP)
		copy_step(to + at, from + at);
	copy_step(to + len - STEP, from + len - STEP);
}
#endif
