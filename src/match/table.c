/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdint.h>
#include <stdlib.h>

#include "sys/compiler.h"

/* Growth and shrinking of tables, for both kinds of links. */

enum {
	/* A table of at most this many buckets keeps them when it is empty. */
	KEPT_BUCKETS = 256,
	FEW_KEYS = 4, /* up to this many keys need no allocated memory */
	MOVES_PER_CALL = 8,
	MAX_BUCKETS = 1 << 30,
	SPARSE_BYTES = 1 << 19,
};

/*
 * At most a quarter of the buckets is filled, so that a search for an absent key mostly
 * finds an empty bucket. If the buckets do not fit the caches, each search misses the
 * cache anyhow, and saving memory is more important.
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
