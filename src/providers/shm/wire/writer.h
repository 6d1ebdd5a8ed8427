/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SHM_WIRE_WRITER_H
#define WF_SHM_WIRE_WRITER_H

#include "providers/shm/wire/lane.h"

/* The writer of a lane: its private state, and its functions. */

struct shm_writer {
	struct shm_lane *lane;
	uint32_t next; /* number of the next record; the first record is 1 */
	/* Slots that the reader had reported as read at the last refresh. */
	uint32_t seen_slots;
	uint32_t prefetched; /* number of the last record whose slot was prefetched */
	/* Length in bytes of the part of the byte ring that blobs of SHM_POSITION_MIN
	 * bytes and more use: SHM_LAP_SHORT, or SHM_BYTES. */
	uint32_t lap;
	uint64_t pos, seen_pos;
	/* Number of the last record that this end had read when it last looked for
	 * records. */
	uint32_t heard;
};

enum {
	SHM_LAP_SHORT = 256 << 10,
	/* Of shorter blobs, of which few lines are in the caches: one for each slot. */
	SHM_LAP_SMALL = SHM_SLOTS * (SHM_POSITION_MIN + SHM_BYTES_GAP),
};

static_assert(SHM_LAP_SHORT >= SHM_REPORT_BYTES + 2 * (SHM_BLOB_MAX + SHM_BYTES_GAP),
	"the writer finds space when the reader has read everything");

/* A writer that begins with record 1. */
static inline struct shm_writer shm_writer_of(struct shm_lane *lane)
{
	return (struct shm_writer){ .lane = lane, .next = 1, .lap = SHM_LAP_SHORT };
}

/* The reader has read @slots records and @bytes of the byte ring, or more than that.
 * False: it cannot have, so the peer is broken. */
static inline bool shm_writer_learn(
	struct shm_writer *w, uint32_t slots, uint64_t bytes)
{
	/* It was written before what is known. */
	if ((int32_t)(slots - w->seen_slots) < 0 || (int64_t)(bytes - w->seen_pos) < 0)
		return true;
	if (slots - w->seen_slots > w->next - 1 - w->seen_slots ||
		bytes - w->seen_pos > w->pos - w->seen_pos)
		return false;
	w->seen_slots = slots;
	w->seen_pos = bytes;
	return true;
}

/* Load the reader's position. False: the position is impossible, so the peer is
 * broken. */
bool shm_writer_refresh(struct shm_writer *w);

/* Ask the reader to wake this writer, before the writer sleeps until there is space.
 * The caller then needs a full fence, and has to check whether the reader's position
 * has changed meanwhile. (The reader's counterpart is shm_out_ring.) */
static inline void shm_writer_await(const struct shm_writer *w)
{
	atomic_store_explicit(&w->lane->reader.waiting, 1, memory_order_relaxed);
}

/* Has the reader's position changed since the last refresh? */
static inline bool shm_writer_has_news(const struct shm_writer *w)
{
	const struct shm_progress *reader = &w->lane->reader;

	/* relaxed: shm_writer_refresh loads the position again, with acquire. */
	return atomic_load_explicit(&reader->slots, memory_order_relaxed) !=
		       w->seen_slots ||
	       atomic_load_explicit(&reader->bytes, memory_order_relaxed) !=
		       w->seen_pos;
}

/* Called when memory of the reader's process was read: did its endpoint exist all the
 * time? */
static inline bool shm_writer_is_open(const struct shm_writer *w)
{
	/* Pairs with shm_reader_close. */
	atomic_thread_fence(memory_order_acquire);
	return !atomic_load_explicit(&w->lane->reader.closed, memory_order_relaxed);
}

/* Records that may be written before the reader's position has to be loaded again. */
static inline uint32_t shm_writer_slots(const struct shm_writer *w)
{
	return SHM_SLOTS - (w->next - 1 - w->seen_slots);
}

/* Has the reader read all bytes, as far as this writer knows? */
static inline bool shm_writer_is_read(const struct shm_writer *w)
{
	return w->pos == w->seen_pos;
}

/* If shm_writer_is_read, and @behind bytes or more are before the writer's position:
 * begin again at the beginning of the byte ring. What is skipped counts as read. */
static inline void shm_writer_restart(struct shm_writer *w, size_t behind)
{
	uint64_t at = w->pos % SHM_BYTES;

	if (at < behind)
		return;
	w->pos += SHM_BYTES - at;
	w->seen_pos = w->pos;
}

/* Where the lap of a blob of @len bytes ends, if the writer is at @at. */
static inline uint64_t shm_writer_lap(
	const struct shm_writer *w, uint64_t at, size_t len)
{
	return len < SHM_POSITION_MIN && at <= SHM_LAP_SMALL ? SHM_LAP_SMALL : w->lap;
}

/* Get contiguous space for @len bytes in the byte ring, or NULL; *ret_flags are
 * SHM_FLAG_*. shm_writer_bytes_done allocates the space. */
static inline uint8_t *shm_writer_bytes(
	const struct shm_writer *w, size_t len, uint8_t *ret_flags)
{
	uint64_t at = w->pos % SHM_BYTES;
	uint64_t start = w->pos;

	/* The reader is somewhere else if the writer has restarted; else it skips
	 * nothing. */
	*ret_flags = at ? SHM_FLAG_BYTES : SHM_FLAG_BYTES | SHM_FLAG_WRAP;
	if (at + len > shm_writer_lap(w, at, len)) {
		start += SHM_BYTES - at;
		*ret_flags |= SHM_FLAG_WRAP;
	}
	if (start + len - w->seen_pos > SHM_BYTES)
		return NULL;
	return w->lane->bytes + start % SHM_BYTES;
}

static inline void shm_writer_bytes_done(
	struct shm_writer *w, uint8_t flags, size_t len)
{
	w->pos = shm_bytes_next(w->pos, flags, len);
}

static inline struct shm_slot *shm_writer_slot(const struct shm_writer *w)
{
	return shm_slot_at(w->lane, w->next);
}

/*
 * A record with the head @head arrived, and an answer of the same size is likely:
 * prefetch the slot of the answer while it is made. No prefetch if the peer has not
 * read all that this end wrote: two messages have crossed, and the peer polls that slot
 * already, so it would only take the line back. No prefetch if the answer takes two
 * cache lines, because the reader polls the first line and would take it back before
 * both are written. Only one prefetch for each record, or a peer that only sends would
 * lose the line that it polls each time.
 */
static inline void shm_writer_prefetch(struct shm_writer *w, uint64_t head)
{
	enum { ONE_LINE = WF_CACHELINE - offsetof(struct shm_slot, blob) };

	if (shm_head_heard(head) != (uint8_t)(w->next - 1) ||
		w->prefetched == w->next || shm_head_len(head) > ONE_LINE ||
		shm_head_flags(head) & SHM_FLAG_BYTES)
		return;
	w->prefetched = w->next;
	wf_prefetch_write(shm_writer_slot(w));
}

/* Publish the record. @len: length of the inline blob in bytes. */
static inline void shm_writer_commit(struct shm_writer *w, struct shm_slot *slot,
	uint8_t kind, uint8_t flags, size_t len)
{
	/* L1: release, pairs with L2. */
	atomic_store_explicit(&slot->head,
		w->next | (uint64_t)kind << 32 | (uint64_t)flags << 40 |
			(uint64_t)len << 48 | (uint64_t)w->heard << 56,
		memory_order_release);
	w->next++;
}

#endif
