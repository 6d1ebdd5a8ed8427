/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SHM_WIRE_READER_H
#define WF_SHM_WIRE_READER_H

#include "providers/shm/wire/lane.h"

/* The reader of a lane: its private state, and its functions. */

struct shm_reader {
	struct shm_lane *lane;
	uint32_t next;
	uint32_t reported_slots;
	uint64_t pos, reported_pos;
	uint64_t done_pos; /* behind the bytes of the last record that was handled */
	/* The records that came last took both lines of their slots. */
	bool takes_both;
};

/* The slot of the next record. */
static inline const struct shm_slot *shm_reader_slot(const struct shm_reader *r)
{
	return shm_slot_at(r->lane, r->next);
}

static inline uint64_t shm_slot_head(const struct shm_slot *slot)
{
	/* L2: acquire, pairs with L1. */
	return atomic_load_explicit(&slot->head, memory_order_acquire);
}

/* @head is what shm_reader_slot has: was the next record written? A slot that was never
 * used has 0. */
static inline bool shm_reader_is_next(const struct shm_reader *r, uint64_t head)
{
	return head && (uint32_t)head == r->next;
}

/* The head of the next record; 0: the ring is empty. */
static inline uint64_t shm_reader_head(const struct shm_reader *r)
{
	uint64_t head = shm_slot_head(shm_reader_slot(r));

	return shm_reader_is_next(r, head) ? head : 0;
}

/* Store that this process acts on the record from now on: if it dies, the writer does
 * not send that record again. (Storing to a cache line that no other process reads
 * costs nothing.) */
static inline void shm_reader_take(const struct shm_reader *r)
{
	atomic_store_explicit(&r->lane->taken, r->next, memory_order_relaxed);
	/* Compiler barrier only: a killed process has executed all instructions before
	 * this one, and none after it. */
	atomic_signal_fence(memory_order_seq_cst);
}

/*
 * Load the head of a record that its writer may withdraw once more (W1): the writer
 * stores another kind in it (W2), and finds in @taken whether the reader may have begun
 * (W3). Between shm_reader_take and W1 is a full fence, if @fence is true, or the
 * writer executes one for both between W2 and W3 (membarrier(2)). So either the writer
 * finds the record taken, or the reader finds it withdrawn.
 */
static inline uint64_t shm_reader_again(const struct shm_reader *r, bool fence)
{
	if (wf_unlikely(fence))
		atomic_thread_fence(memory_order_seq_cst);
	return shm_slot_head(shm_reader_slot(r)); /* W1 */
}

/* Prefetch a record behind the one at @offset. Moving a line between cores takes longer
 * than reading a record, so several transfers overlap. */
static inline void shm_reader_prefetch(struct shm_lane *lane, uint32_t offset)
{
	enum { AHEAD = 3 };
	const struct shm_slot *slot =
		shm_slot_at_offset(lane, shm_slot_behind(offset, AHEAD));

	__builtin_prefetch(slot);
	__builtin_prefetch((const char *)slot + WF_CACHELINE);
}

/* The ring is empty. If the next record is like the last one, ask for the second line
 * of its slot together with the first: else it is asked for when the first has come,
 * and they move one after the other. */
static inline void shm_reader_await(const struct shm_reader *r)
{
	if (r->takes_both)
		__builtin_prefetch((const char *)shm_reader_slot(r) + WF_CACHELINE);
}

/* Records come, the first of which has @head. */
static inline void shm_reader_expect(struct shm_reader *r, uint64_t head)
{
	r->takes_both = shm_head_len(head) > SHM_FIRST_LINE;
}

static inline void shm_reader_tell(struct shm_reader *r)
{
	r->reported_slots = r->next - 1;
	r->reported_pos = r->pos;
	/* L3: release, pairs with L4. bytes is stored first: a writer that loads the
	 * new slots loads the new bytes as well. */
	atomic_store_explicit(
		&r->lane->reader.bytes, r->reported_pos, memory_order_release);
	atomic_store_explicit(
		&r->lane->reader.slots, r->reported_slots, memory_order_release);
}

/* The endpoint is closed, and its operations end from now on. */
static inline void shm_reader_close(struct shm_reader *r)
{
	atomic_store_explicit(&r->lane->reader.closed, 1, memory_order_relaxed);
	/* The application stores to its buffers after this: a peer that has read what
	 * it stores there loads 1 (shm_writer_is_open). */
	atomic_thread_fence(memory_order_seq_cst);
}

/* The record, which has no bytes in the byte ring, was read. True: the caller has to
 * report the position to the writer. */
static inline bool shm_reader_advance_slot(struct shm_reader *r)
{
	r->next++;
	return wf_unlikely(r->next - r->reported_slots > SHM_REPORT_SLOTS);
}

/* The same for any record, and its blob. */
static inline bool shm_reader_advance(struct shm_reader *r)
{
	r->done_pos = r->pos;
	return shm_reader_advance_slot(r) ||
	       wf_unlikely(r->pos - r->reported_pos >= SHM_REPORT_BYTES);
}

#endif
