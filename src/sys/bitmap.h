/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_BITMAP_H
#define WF_SYS_BITMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Bits in an array of 64-bit words; the caller knows the size and serialises. */

static inline size_t wf_bitmap_words(size_t bits)
{
	return bits / 64 + (bits % 64 != 0);
}

static inline bool wf_bit_test(const uint64_t *words, size_t i)
{
	return words[i / 64] >> (i % 64) & 1;
}

static inline void wf_bit_set(uint64_t *words, size_t i)
{
	words[i / 64] |= UINT64_C(1) << (i % 64);
}

static inline void wf_bit_clear(uint64_t *words, size_t i)
{
	words[i / 64] &= ~(UINT64_C(1) << (i % 64));
}

#endif
