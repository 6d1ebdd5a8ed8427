/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_AV_TABLE_H
#define WF_OBJECTS_AV_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "objects/av/format.h"
#include "objects/av/text.h"
#include "sys/compiler.h"
#include "sys/freemap.h"

/*
 * A table that finds addresses by index, and indices by address. Fixed-size addresses
 * are stored in their slots; texts of a private table are stored in blocks of about
 * their length (text.h).
 *
 * Slots and the heads of the hash chains are stored in segments that never move: the
 * first holds 64 of each, every further one as many as all before it, so the capacity
 * is a power of two. The highest bit of an index selects its segment. The table stores
 * each segment's address less the offset of the segment's first index, so that the
 * whole index can be added to it.
 *
 * No insertion takes long, because the number of chains follows the capacity in steps
 * (linear hashing): each insertion splits up to WF_AV_SPLITS chains in two, until there
 * are as many chains as slots. With 2^n to 2^(n+1) chains, the lowest n + 1 bits of a
 * hash select the chain or, if that one is not split off yet, the lowest n bits.
 *
 * One writer at a time (under the owner's lock); readers take no lock:
 *
 *   - The writer stores an address completely before it marks the slot live (S1), and
 *     a reader reads the address after it saw the mark (S2). The address stays until
 *     the index is removed. A send that is concurrent with the removal may go to an
 *     address that is inserted at the index afterwards.
 *   - A reader that follows a chain may see a new entry or not. Unlinking an entry,
 *     splitting a chain or rebuilding all could send the reader to a wrong chain;
 *     meanwhile @seq is odd, and afterwards it has changed (Q1). A reader that sees
 *     that (Q2) starts again.
 *
 * The same code works on memory that other processes write (struct wf_av_memory). So
 * each number in it is read once and checked before it is used, a reader follows at
 * most as many links as there are slots, and a capacity beyond the mapping is refused.
 */
enum {
	WF_AV_FIRST_BITS = 6,
	WF_AV_MAX_BITS = 30,
	WF_AV_SEGMENTS = WF_AV_MAX_BITS - WF_AV_FIRST_BITS + 1,
	/* With 2, the chains are split before the slots that they were made for are
	 * half used. */
	WF_AV_SPLITS = 2,
};

/* The fields of a slot's state: in use, inserted with FI_FIREWALL_ADDR, the number of
 * further insertions of the same address, and 16 bits of the address's hash, so that a
 * search reads few addresses that do not match. */
#define WF_AV_LIVE       (UINT32_C(1) << 31)
#define WF_AV_FIREWALLED (UINT32_C(1) << 30)
#define WF_AV_REPEATS    UINT32_C(0x3fff0000)
#define WF_AV_REPEAT_ONE UINT32_C(0x00010000)
#define WF_AV_HASH       UINT32_C(0x0000ffff)

struct wf_av_slot {
	_Atomic uint32_t state;  /* WF_AV_ bits above; 0: the slot is free */
	_Atomic uint32_t next;   /* index + 1 of the next slot in the chain, or 0 */
	_Atomic uint32_t word[]; /* the address, or a pointer to it: wf_av_slot_text */
};

/* The state of a table besides its slots; in shared memory for a shared table. */
struct wf_av_state {
	_Atomic uint32_t seq;     /* odd while a writer changes chains; see above */
	_Atomic uint32_t bits;    /* log2 of the capacity; 0 before the table starts */
	_Atomic uint32_t chains;  /* number of chains in use */
	_Atomic uint32_t count;   /* live slots */
	_Atomic uint32_t writing; /* 1: a writer is at work, or died at work */
};

/* Shared memory for 2^max_bits addresses; pages are committed as the table grows. */
struct wf_av_memory {
	char *base; /* start of the mapping */
	/* Offsets in bytes from @base of the map of used slots (its level 0),
	 * of the chain heads and of the slots, and the length of the whole mapping. */
	size_t used_at, heads_at, slots_at, len;
	/* Allocate the pages of a range, offset and length in bytes. 0 or a negative
	 * errno. NULL: nothing to do. */
	int (*commit)(void *arg, size_t offset, size_t len);
	void *arg; /* for @commit */
};

struct wf_av_table {
	/* Read for every transfer, up to @state. Segments of slots, as described above;
	 * 0: the segment does not exist. */
	_Atomic uintptr_t slots[WF_AV_SEGMENTS];
	uint32_t stride;   /* bytes of a slot */
	bool has_texts;    /* a private table of texts: slots point to their texts */
	uint32_t max_bits; /* log2 of the largest capacity */
	const struct wf_av_format *format;
	struct wf_av_state *state; /* @own, or in shared memory; NULL: no table */

	_Atomic uintptr_t heads[WF_AV_SEGMENTS]; /* segments of heads, like @slots */
	struct wf_freemap used;                  /* which slots are in use */
	struct wf_av_texts texts;                /* used if @has_texts */
	/* For the writer's statistics: slots that were put into another chain since
	 * the table exists. */
	uint64_t moved;
	struct wf_av_state own;      /* @state of a private table */
	struct wf_av_memory *memory; /* NULL for a private table */
};

/* The segment of @index, which is below 2^WF_AV_MAX_BITS. */
static inline unsigned int wf_av_segment(uint64_t index)
{
	return 63u - WF_AV_FIRST_BITS + 1 -
	       (unsigned int)__builtin_clzll(index | ((1u << WF_AV_FIRST_BITS) - 1));
}

/* The first index of segment @k, and how many it holds. */
static inline uint64_t wf_av_segment_start(unsigned int k)
{
	return k ? UINT64_C(1) << (WF_AV_FIRST_BITS + k - 1) : 0;
}

static inline uint64_t wf_av_segment_size(unsigned int k)
{
	return UINT64_C(1) << (k ? WF_AV_FIRST_BITS + k - 1 : WF_AV_FIRST_BITS);
}

/* The slot of @index; NULL when its segment does not exist or this process has not
 * mapped it yet. */
static inline struct wf_av_slot *wf_av_slot_at(
	const struct wf_av_table *table, uint64_t index)
{
	uintptr_t segment;

	if (wf_unlikely(index >> WF_AV_MAX_BITS))
		return NULL;
	/* acquire: pairs with the release in publish; the segment is zeroed. */
	segment = atomic_load_explicit(
		&table->slots[wf_av_segment(index)], memory_order_acquire);
	if (wf_unlikely(!segment))
		return NULL;
	return (struct wf_av_slot *)(segment + index * table->stride);
}

static inline bool wf_av_slot_live(const struct wf_av_slot *slot)
{
	/* S2: acquire, pairs with S1. */
	return atomic_load_explicit(&slot->state, memory_order_acquire) & WF_AV_LIVE;
}

/* The slot's pointer to its text, in a table with @has_texts; the pointer is NULL in a
 * slot that never had a text. */
static inline _Atomic uintptr_t *wf_av_slot_text(const struct wf_av_slot *slot)
{
	return (_Atomic uintptr_t *)(uintptr_t)slot->word;
}

/* The address in a slot that is live. */
static inline const void *wf_av_slot_addr(
	const struct wf_av_table *table, const struct wf_av_slot *slot)
{
	if (!table->has_texts)
		return slot->word;
	/* relaxed: whole before the slot was marked live (S1). */
	return ((const struct wf_av_text *)atomic_load_explicit(
			wf_av_slot_text(slot), memory_order_relaxed))
		->word;
}

/* Make a private table that holds @count addresses (up to 2^20) before it has to grow.
 * -FI_ENOMEM. */
int wf_av_table_init(
	struct wf_av_table *table, const struct wf_av_format *format, size_t count);

/* Attach @table to the shared table in @memory and @state, which outlive it. In new,
 * zeroed memory the table has to be started with wf_av_table_start. */
void wf_av_table_attach(struct wf_av_table *table, const struct wf_av_format *format,
	uint32_t max_bits, struct wf_av_memory *memory, struct wf_av_state *state);
int wf_av_table_start(struct wf_av_table *table);

void wf_av_table_done(struct wf_av_table *table);

/* Fill in the offsets and the length of @memory for a table of 2^max_bits addresses
 * that begins @start bytes after the base. */
void wf_av_memory_plan(struct wf_av_memory *memory, const struct wf_av_format *format,
	uint32_t max_bits, size_t start);

/* Find the segments that other processes added to a shared table. */
void wf_av_table_refresh(struct wf_av_table *table);

/* Number of slots; 0 when the shared memory is corrupt. */
uint64_t wf_av_table_capacity(const struct wf_av_table *table);

/* Find the index of an address; takes no lock. -FI_ENOENT: not inserted. -FI_EAGAIN:
 * writers interrupted the search too often; call again under the owner's lock. @words
 * is in the canonical form (wf_av_format.spell). */
int wf_av_table_find(
	struct wf_av_table *table, const uint32_t *words, uint32_t *ret_index);

/*
 * For the writer, under the owner's lock. Inserting an address again counts it: it has
 * to be removed as often. @flags is 0 or WF_AV_FIREWALLED.
 * insert: -FI_ENOMEM, or -FI_EIO when shared memory is corrupt.
 * place: the index that insert would use; the same errors.
 * remove: -FI_EINVAL when the slot is free; *ret_gone: the slot became free.
 */
int wf_av_table_insert(struct wf_av_table *table, const uint32_t *words, uint32_t flags,
	uint32_t *ret_index);
int wf_av_table_slot(
	struct wf_av_table *table, const uint32_t *words, uint32_t *ret_index);
int wf_av_table_remove(struct wf_av_table *table, uint64_t index, bool *ret_gone);

/* Begin and end a writer's work in shared memory. If a process dies in between, begin
 * repairs the table for the next writer. */
void wf_av_table_begin(struct wf_av_table *table);
void wf_av_table_end(struct wf_av_table *table);

#endif
