/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SHM_WIRE_LANE_H
#define WF_SHM_WIRE_LANE_H

#include <stdbool.h>

#include "providers/shm/wire/wire.h"

/* Computations that the writer and the reader of a lane share; see writer.h,
 * reader.h. */

/* The reader reports its position after this many records, or bytes of the byte
 * ring. */
enum { SHM_REPORT_SLOTS = SHM_SLOTS / 4, SHM_REPORT_BYTES = 32 << 10 };

/* Slots between those of two records in a row: no prefetcher follows. */
enum { SHM_SLOT_STEP = 37 };

static inline struct shm_slot *shm_slot_at(struct shm_lane *lane, uint32_t number)
{
	return &lane->slots[number * SHM_SLOT_STEP % SHM_SLOTS];
}

/* Of the slot @count records behind that at @offset bytes: its offset. A loop that adds
 * executes fewer instructions than one that multiplies. */
static inline uint32_t shm_slot_behind(uint32_t offset, uint32_t count)
{
	enum { SLOT = sizeof(struct shm_slot) };

	return (offset + count * SHM_SLOT_STEP * SLOT) % (SHM_SLOTS * SLOT);
}

static inline struct shm_slot *shm_slot_at_offset(
	struct shm_lane *lane, uint32_t offset)
{
	return (struct shm_slot *)((char *)lane->slots + offset);
}

/* Position in the byte ring of a blob that begins at or after @pos. */
static inline uint64_t shm_bytes_start(uint64_t pos, uint8_t flags)
{
	if (flags & SHM_FLAG_WRAP && pos % SHM_BYTES)
		pos += SHM_BYTES - pos % SHM_BYTES;
	return pos;
}

/* Bytes of the ring that a blob of @len bytes takes. */
static inline uint64_t shm_bytes_taken(size_t len)
{
	return (len + SHM_BYTES_ALIGN - 1) / SHM_BYTES_ALIGN * SHM_BYTES_ALIGN +
	       SHM_BYTES_GAP;
}

/* Position in the byte ring behind a blob of @len bytes that begins at or after
 * @pos. */
static inline uint64_t shm_bytes_next(uint64_t pos, uint8_t flags, size_t len)
{
	return shm_bytes_start(pos, flags) + shm_bytes_taken(len);
}

#endif
