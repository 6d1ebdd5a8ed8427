/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdint.h>
#include <stdlib.h>

#include "sys/compiler.h"

/* How tables grow and shrink: what both kinds have in common. */

enum {
	KEPT_BUCKETS = 256, /* a table of up to so many keeps them when it is empty */
	FEW_KEYS = 4,       /* so many keys do not ask for memory */
	MOVES_PER_CALL = 8,
	MAX_BUCKETS = 1 << 30,
	SPARSE_BYTES = 1 << 19,
};

/*
 * A quarter of the buckets at most is filled, so that a look for what is not there
 * mostly meets an empty one. Where the buckets are more than a cache holds, and each
 * look is a trip to memory anyhow, the memory counts.
 */
static uint32_t keys_of(uint32_t size, size_t bucket_size)
{
	if (size <= SPARSE_BYTES / bucket_size)
		return WF_MAX(size / 4, FEW_KEYS);
	return size == MAX_BUCKETS ? UINT32_MAX : size;
}

/* table.inl with the functions that are not inline. */
#define WF_MATCH_TABLE_BODY
#include "match/table.h"
