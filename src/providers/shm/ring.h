/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SHM_RING_H
#define SHM_RING_H

#include <stdbool.h>

#include "providers/shm/wire.h"

/* The two ends of a lane: what each keeps for itself, and the moves that it makes. */

struct shm_writer {
	struct shm_lane *lane;
	uint32_t next;       /* number of the next record; the first is 1 */
	uint32_t seen_slots; /* as the reader told last */
	uint32_t claimed;    /* the record whose line was asked for ahead of time */
	uint64_t pos, seen_pos;
};

struct shm_reader {
	struct shm_lane *lane;
	uint32_t next;
	uint32_t told_slots;
	uint64_t pos, told_pos;
};

/* Tell the writer after so much. */
enum { SHM_TELL_SLOTS = SHM_SLOTS / 4, SHM_TELL_BYTES = SHM_BYTES / 8 };

static inline struct shm_slot *shm_slot_at(struct shm_lane *lane, uint32_t number)
{
	return &lane->slots[number * 37 % SHM_SLOTS];
}

/* ---- writing ---- */

/* Ask the reader how far it is. False: what it says is impossible. */
bool shm_writer_refresh(struct shm_writer *w);

/* Before a sleep of a writer that has no space: the reader is to wake it. A full fence
 * has to follow, and then a check whether the reader has told more meanwhile. (The
 * reader's side: shm_out_ring.) */
static inline void shm_writer_await(const struct shm_writer *w)
{
	atomic_store_explicit(&w->lane->reader.waiting, 1, memory_order_relaxed);
}

/* Did the reader tell more than was seen? */
static inline bool shm_writer_has_news(const struct shm_writer *w)
{
	const struct shm_progress *reader = &w->lane->reader;

	/* relaxed: what it tells is read by shm_writer_refresh. */
	return atomic_load_explicit(&reader->slots, memory_order_relaxed) !=
		       w->seen_slots ||
	       atomic_load_explicit(&reader->bytes, memory_order_relaxed) !=
		       w->seen_pos;
}

/* Records that may be written before the reader has to be asked. */
static inline uint32_t shm_writer_slots(const struct shm_writer *w)
{
	return SHM_SLOTS - (w->next - 1 - w->seen_slots);
}

/* Space for @len bytes in one piece, or NULL; *ret_flags tells the reader where it is.
 * It is taken by shm_writer_bytes_done. */
static inline uint8_t *shm_writer_bytes(
	const struct shm_writer *w, size_t len, uint8_t *ret_flags)
{
	uint64_t at = w->pos % SHM_BYTES;
	uint64_t start = w->pos;

	*ret_flags = SHM_FLAG_BYTES;
	if (at + len > SHM_BYTES) {
		start += SHM_BYTES - at;
		*ret_flags |= SHM_FLAG_WRAP;
	}
	if (start + len - w->seen_pos > SHM_BYTES)
		return NULL;
	return w->lane->bytes + start % SHM_BYTES;
}

/* Where the ring goes on behind a blob of @len bytes from @pos on. */
static inline uint64_t shm_bytes_next(uint64_t pos, uint8_t flags, size_t len)
{
	if (flags & SHM_FLAG_WRAP && pos % SHM_BYTES)
		pos += SHM_BYTES - pos % SHM_BYTES;
	return pos + (len + SHM_BYTES_ALIGN - 1) / SHM_BYTES_ALIGN * SHM_BYTES_ALIGN;
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
 * A record with this head came, and an answer of that size is likely: while it is made,
 * its line is on its way to us. Not where it takes two, because the reader polls the
 * first one and has it back before both are written; and once for each record, or a
 * peer that only sends would lose the line that it polls each time.
 */
static inline void shm_writer_prefetch(struct shm_writer *w, uint64_t head)
{
	enum { ONE_LINE = WF_CACHELINE - offsetof(struct shm_slot, blob) };

	if (w->claimed == w->next || shm_head_len(head) > ONE_LINE ||
		shm_head_flags(head) & SHM_FLAG_BYTES)
		return;
	w->claimed = w->next;
	wf_prefetch_write(shm_writer_slot(w));
}

/* Hand the record over. @len: of an inline blob. */
static inline void shm_writer_commit(struct shm_writer *w, struct shm_slot *slot,
	uint8_t kind, uint8_t flags, size_t len)
{
	/* L1: release, pairs with L2. */
	atomic_store_explicit(&slot->head,
		w->next | (uint64_t)kind << 32 | (uint64_t)flags << 40 |
			(uint64_t)len << 48,
		memory_order_release);
	w->next++;
}

/* ---- reading ---- */

/* The head of the next record; 0: there is none. */
static inline uint64_t shm_reader_head(const struct shm_reader *r)
{
	/* L2: acquire, pairs with L1. */
	uint64_t head = atomic_load_explicit(
		&shm_slot_at(r->lane, r->next)->head, memory_order_acquire);

	return (uint32_t)head == r->next ? head : 0;
}

/* What is done about this record from now on, was done by us: should this process die,
 * no other process does it. (A line that no other process reads costs nothing.) */
static inline void shm_reader_take(const struct shm_reader *r)
{
	atomic_store_explicit(&r->lane->taken, r->next, memory_order_relaxed);
	/* A killed process has done what comes before the instruction, and nothing
	 * else. */
	atomic_signal_fence(memory_order_seq_cst);
}

static inline void shm_reader_prefetch(const struct shm_reader *r)
{
	const struct shm_slot *slot = shm_slot_at(r->lane, r->next + 1);

	__builtin_prefetch(slot);
	__builtin_prefetch((const char *)slot + WF_CACHELINE);
}

static inline void shm_reader_tell(struct shm_reader *r)
{
	r->told_slots = r->next - 1;
	r->told_pos = r->pos;
	/* L3: the bytes first; a writer that sees the slots sees them too (L4). */
	atomic_store_explicit(
		&r->lane->reader.bytes, r->told_pos, memory_order_release);
	atomic_store_explicit(
		&r->lane->reader.slots, r->told_slots, memory_order_release);
}

/* The record was read, and its blob. True: it is time to tell. */
static inline bool shm_reader_advance(struct shm_reader *r)
{
	r->next++;
	return wf_unlikely(r->next - 1 - r->told_slots >= SHM_TELL_SLOTS ||
			   r->pos - r->told_pos >= SHM_TELL_BYTES);
}

#endif
