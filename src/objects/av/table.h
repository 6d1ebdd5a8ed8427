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
 * Addresses by index, and indices by address. Fixed-size ones lie in their slots; texts
 * of a private table lie in blocks of about their length (text.h).
 *
 * Slots and the heads of the hash chains lie in segments that never move: the first
 * holds 64 of each, every further one as many as all before it, so the capacity is a
 * power of two and the number of chains equals it. An index finds its segment by its
 * highest bit. What a segment is found by is its address less that of its first
 * index, so that no index has to be reduced.
 *
 * One writer at a time (the owner's lock); readers take no lock:
 *
 *   - An address is whole before its slot is marked live (S1), and a reader looks at
 *     it after it saw the mark (S2). It stays until the index is removed; who removes
 *     an index while he sends to it gets what he asked for.
 *   - A reader that follows a chain may meet a new entry or not. Unlinking an entry
 *     and rebuilding the chains could lead him astray; both make @seq odd meanwhile
 *     and different afterwards (Q1), and a reader who sees that (Q2) starts again.
 *
 * The same code works on memory that other processes write (struct wf_av_memory). So
 * each number in it is read once and checked before it is used, chains are walked no
 * further than there are slots, and the capacity is believed up to what is mapped.
 */
enum {
	WF_AV_FIRST_BITS = 6,
	WF_AV_MAX_BITS = 30,
	WF_AV_SEGMENTS = WF_AV_MAX_BITS - WF_AV_FIRST_BITS + 1,
};

/* A slot's state: what it is, how often its address was inserted beyond the first
 * time, and some bits of the hash, so that most others are told apart without a look
 * at the address. */
#define WF_AV_LIVE       (UINT32_C(1) << 31)
#define WF_AV_FIREWALLED (UINT32_C(1) << 30)
#define WF_AV_AGAIN      UINT32_C(0x3fff0000)
#define WF_AV_AGAIN_ONE  UINT32_C(0x00010000)
#define WF_AV_HASH       UINT32_C(0x0000ffff)

struct wf_av_slot {
	_Atomic uint32_t state;
	_Atomic uint32_t next;   /* index + 1 of the next one in the chain, or 0 */
	_Atomic uint32_t word[]; /* the address, or where it is: wf_av_slot_text */
};

/* What a table is besides its slots. */
struct wf_av_state {
	_Atomic uint32_t seq;
	_Atomic uint32_t bits; /* log2 of the capacity */
	_Atomic uint32_t count;
	_Atomic uint32_t writing; /* a writer began and did not end */
};

/* Memory for 2^max_bits addresses, of which a part is in use. */
struct wf_av_memory {
	char *base;
	size_t used_at, heads_at, slots_at, len; /* offsets, and the whole length */
	/* Make sure that a range can be touched. May be NULL. */
	int (*commit)(void *arg, size_t offset, size_t len);
	void *arg;
};

struct wf_av_table {
	/* Read for every transfer. */
	_Atomic uintptr_t slots[WF_AV_SEGMENTS];
	uint32_t stride;
	bool apart; /* a private table of texts: slots say where they are */
	uint32_t max_bits;
	const struct wf_av_format *format;
	struct wf_av_state *state;

	_Atomic uintptr_t heads[WF_AV_SEGMENTS];
	struct wf_freemap used;
	struct wf_av_texts texts;    /* @apart */
	struct wf_av_state own;      /* @state of a private table */
	struct wf_av_memory *memory; /* NULL for a private table */
};

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

/* NULL when there is no such slot (yet, in this process). */
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

/* Of a table with @apart; NULL: the slot never had one. */
static inline _Atomic uintptr_t *wf_av_slot_text(const struct wf_av_slot *slot)
{
	return (_Atomic uintptr_t *)(uintptr_t)slot->word;
}

/* The address in a slot that is live. */
static inline const void *wf_av_slot_addr(
	const struct wf_av_table *table, const struct wf_av_slot *slot)
{
	if (!table->apart)
		return slot->word;
	/* relaxed: whole before the slot was marked live (S1). */
	return ((const struct wf_av_text *)atomic_load_explicit(
			wf_av_slot_text(slot), memory_order_relaxed))
		->word;
}

/* A private table, with room for about @count addresses without reorganising. */
int wf_av_table_init(
	struct wf_av_table *table, const struct wf_av_format *format, size_t count);

/* A table in @memory, which outlives it, with its state in @state. A new one is all
 * zero and has to be started with wf_av_table_start. */
void wf_av_table_attach(struct wf_av_table *table, const struct wf_av_format *format,
	uint32_t max_bits, struct wf_av_memory *memory, struct wf_av_state *state);
int wf_av_table_start(struct wf_av_table *table);

void wf_av_table_done(struct wf_av_table *table);

/* Fill in the places of @memory for a table of 2^max_bits from @start on. */
void wf_av_memory_plan(struct wf_av_memory *memory, const struct wf_av_format *format,
	uint32_t max_bits, size_t start);

/* See what other processes added. */
void wf_av_table_refresh(struct wf_av_table *table);

/* Slots that exist. */
uint64_t wf_av_table_capacity(const struct wf_av_table *table);

/* For readers. 0 and the index, -FI_ENOENT, or -FI_EAGAIN when writers never let the
 * reader finish: ask again under the lock. @words is spelled by the format. */
int wf_av_table_find(
	struct wf_av_table *table, const uint32_t *words, uint32_t *ret_index);

/*
 * For the writer. An address that is there is found and counted, and has to be
 * removed as often. @flags is 0 or WF_AV_FIREWALLED.
 * insert: -FI_ENOMEM, or -FI_EIO when shared memory holds nonsense.
 * place: where insert would put it; the same failures.
 * remove: -FI_EINVAL when nothing is there; *ret_gone tells whether it was the last.
 */
int wf_av_table_insert(struct wf_av_table *table, const uint32_t *words, uint32_t flags,
	uint32_t *ret_index);
int wf_av_table_place(
	struct wf_av_table *table, const uint32_t *words, uint32_t *ret_index);
int wf_av_table_remove(struct wf_av_table *table, uint64_t index, bool *ret_gone);

/* Around a writer's work in shared memory: the next one repairs what he left. */
void wf_av_table_begin(struct wf_av_table *table);
void wf_av_table_end(struct wf_av_table *table);

#endif
