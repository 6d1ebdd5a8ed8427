/* SPDX-License-Identifier: BSD-2-Clause */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>

#include "objects/av_table.h"
#include "sys/bitmap.h"
#include "sys/lock.h"

static_assert(ATOMIC_INT_LOCK_FREE == 2, "processes share these words");
static_assert(sizeof(struct wf_av_slot) == 8, "tens of bytes per entry");

/* How often a reader starts again before he gives up. */
enum { FIND_TRIES = 64 };

/* A private table gets its first segments at once, up to this many addresses; they
 * cost address space, and memory only when used. */
enum { MAX_EXPECTED = 1 << 20 };

static uint64_t hash_of(const struct wf_av_format *format, const uint32_t *words)
{
	uint64_t hash = 0;

	for (unsigned int i = 0; i < format->key_words; i++) {
		hash = (hash ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 32;
	}
	return hash;
}

static uint32_t state_of(uint64_t hash)
{
	return WF_AV_LIVE | (uint32_t)(hash >> 48 & WF_AV_HASH);
}

static void copy_words(const struct wf_av_format *format, const struct wf_av_slot *slot,
	uint32_t *words)
{
	for (unsigned int i = 0; i < format->key_words; i++)
		words[i] = atomic_load_explicit(&slot->word[i], memory_order_relaxed);
}

static bool same_words(const struct wf_av_format *format, const struct wf_av_slot *slot,
	const uint32_t *words)
{
	for (unsigned int i = 0; i < format->key_words; i++)
		/* acquire: what is read here is read before Q2. */
		if (atomic_load_explicit(&slot->word[i], memory_order_acquire) !=
			words[i])
			return false;
	return true;
}

/* Segments. */

static void publish(struct wf_av_table *table, unsigned int k, char *slots, char *heads)
{
	uint64_t start = wf_av_segment_start(k);

	/* release: pairs with the acquire in wf_av_slot_at and head_at. */
	atomic_store_explicit(&table->heads[k],
		(uintptr_t)heads - start * sizeof(_Atomic uint32_t),
		memory_order_release);
	atomic_store_explicit(&table->slots[k],
		(uintptr_t)slots - start * table->stride, memory_order_release);
}

static char *private_segment(const struct wf_av_table *table, unsigned int k)
{
	uintptr_t slots = atomic_load_explicit(&table->slots[k], memory_order_relaxed);

	if (!slots)
		return NULL;
	return (char *)(slots + wf_av_segment_start(k) * table->stride);
}

static int grow_used(struct wf_av_table *table, size_t bits)
{
	struct wf_freemap bigger;
	uint64_t *words = calloc(wf_freemap_words(bits), sizeof(*words));

	if (!words)
		return -FI_ENOMEM;
	wf_freemap_attach(&bigger, words, bits);
	if (table->used.bits) {
		wf_freemap_copy(&bigger, &table->used);
		free(table->used.level[WF_FREEMAP_LEVELS - 1]);
	}
	table->used = bigger;
	return 0;
}

/* A segment is one piece: its slots, then its heads. */
static int add_private(struct wf_av_table *table, unsigned int k)
{
	uint64_t size = wf_av_segment_size(k);
	char *slots;

	if (grow_used(table, wf_av_segment_start(k) + size))
		return -FI_ENOMEM;
	slots = calloc(size, table->stride + sizeof(_Atomic uint32_t));
	if (!slots)
		return -FI_ENOMEM;
	publish(table, k, slots, slots + size * table->stride);
	return 0;
}

static void publish_shared(struct wf_av_table *table, unsigned int k)
{
	const struct wf_av_memory *memory = table->memory;
	uint64_t start = wf_av_segment_start(k);

	publish(table, k, memory->base + memory->slots_at + start * table->stride,
		memory->base + memory->heads_at + start * sizeof(_Atomic uint32_t));
}

static int commit(
	const struct wf_av_memory *memory, size_t at, size_t unit, unsigned int k)
{
	if (!memory->commit)
		return 0;
	return memory->commit(memory->arg, at + wf_av_segment_start(k) * unit,
		wf_av_segment_size(k) * unit);
}

static int add_shared(struct wf_av_table *table, unsigned int k)
{
	const struct wf_av_memory *memory = table->memory;

	/* A map word serves 64 indices: as many as the smallest segment. */
	if (commit(memory, memory->used_at, 1, k) ||
		commit(memory, memory->heads_at, sizeof(_Atomic uint32_t), k) ||
		commit(memory, memory->slots_at, table->stride, k))
		return -FI_ENOMEM;
	publish_shared(table, k);
	return 0;
}

static int add_segment(struct wf_av_table *table, unsigned int k)
{
	return table->memory ? add_shared(table, k) : add_private(table, k);
}

/* The capacity as a number that can be trusted: segments up to it exist or can be
 * found in the memory. */
static uint32_t capacity_bits(const struct wf_av_table *table)
{
	uint32_t bits;

	if (!table->state)
		return 0;
	/* acquire: pairs with the release in grow. */
	bits = atomic_load_explicit(&table->state->bits, memory_order_acquire);
	return bits < WF_AV_FIRST_BITS || bits > table->max_bits ? 0 : bits;
}

uint64_t wf_av_table_capacity(const struct wf_av_table *table)
{
	uint32_t bits = capacity_bits(table);

	return bits ? UINT64_C(1) << bits : 0;
}

void wf_av_table_refresh(struct wf_av_table *table)
{
	uint32_t bits = capacity_bits(table);

	/* Threads that do this at once store the same. */
	for (unsigned int k = 0; table->memory && k + WF_AV_FIRST_BITS <= bits; k++)
		publish_shared(table, k);
}

/* Chains. */

static _Atomic uint32_t *head_at(const struct wf_av_table *table, uint64_t i)
{
	uintptr_t heads = atomic_load_explicit(
		&table->heads[wf_av_segment(i)], memory_order_acquire);

	return heads ? (_Atomic uint32_t *)(heads + i * sizeof(_Atomic uint32_t))
		     : NULL;
}

/* Whatever a chain says, the next slot is one that exists, or NULL. */
static struct wf_av_slot *follow(
	const struct wf_av_table *table, const _Atomic uint32_t *link, uint32_t *index)
{
	/* acquire: pairs with the release in link_slot. */
	uint32_t next = atomic_load_explicit(link, memory_order_acquire);

	*index = next - 1;
	return next ? wf_av_slot_at(table, *index) : NULL;
}

static void link_slot(struct wf_av_table *table, struct wf_av_slot *slot,
	uint32_t index, uint64_t hash, uint64_t mask)
{
	_Atomic uint32_t *head = head_at(table, hash & mask);

	if (!head)
		return; /* the capacity changed under us: not our doing */
	atomic_store_explicit(&slot->next,
		atomic_load_explicit(head, memory_order_relaxed), memory_order_release);
	atomic_store_explicit(head, index + 1, memory_order_release);
}

static void disturb(struct wf_av_table *table)
{
	uint32_t seq = atomic_load_explicit(&table->state->seq, memory_order_relaxed);

	/* Q1: odd before any store that follows; those are release stores. */
	atomic_store_explicit(&table->state->seq, seq | 1, memory_order_relaxed);
}

static void settle(struct wf_av_table *table)
{
	uint32_t seq = atomic_load_explicit(&table->state->seq, memory_order_relaxed);

	/* Q1: release, the chains are whole again. */
	atomic_store_explicit(&table->state->seq, (seq | 1) + 1, memory_order_release);
}

/* File all live slots below 2^bits anew. */
static void rebuild(struct wf_av_table *table, uint32_t bits)
{
	uint64_t size = UINT64_C(1) << bits;
	uint32_t words[WF_AV_ADDR_WORDS];

	disturb(table);
	for (uint64_t i = 0; i < size; i++)
		if (head_at(table, i))
			atomic_store_explicit(
				head_at(table, i), 0, memory_order_release);
	for (uint64_t i = 0; i < size; i++) {
		struct wf_av_slot *slot = wf_av_slot_at(table, i);

		if (!slot || !wf_av_slot_live(slot))
			continue;
		copy_words(table->format, slot, words);
		link_slot(table, slot, (uint32_t)i, hash_of(table->format, words),
			size - 1);
	}
	settle(table);
}

static int grow(struct wf_av_table *table)
{
	uint32_t bits = capacity_bits(table);
	int ret;

	if (!bits)
		return -FI_EIO;
	if (bits == table->max_bits)
		return -FI_ENOMEM;
	ret = add_segment(table, bits + 1 - WF_AV_FIRST_BITS);
	if (ret)
		return ret;
	/* release: the segment can be found before the capacity says so. */
	atomic_store_explicit(&table->state->bits, bits + 1, memory_order_release);
	/* Addresses that were filed by fewer bits are found under more. */
	if (atomic_load_explicit(&table->state->count, memory_order_relaxed))
		rebuild(table, bits + 1);
	return 0;
}

static int find_once(
	struct wf_av_table *table, const uint32_t *words, uint32_t *ret_index)
{
	uint64_t size, hash = hash_of(table->format, words);
	uint32_t state, index = 0, tag = state_of(hash);
	const _Atomic uint32_t *link;
	struct wf_av_slot *slot;
	uint32_t seq;
	bool found = false;

	/* Q2: acquire, pairs with Q1. */
	seq = atomic_load_explicit(&table->state->seq, memory_order_acquire);
	if (seq & 1)
		return -FI_EAGAIN;
	size = wf_av_table_capacity(table);
	if (!size)
		return -FI_ENOENT;
	link = head_at(table, hash & (size - 1));
	if (!link) {
		wf_av_table_refresh(table);
		link = head_at(table, hash & (size - 1));
	}
	if (!link)
		return -FI_ENOENT;
	for (uint64_t steps = 0; steps < size && !found; steps++) {
		slot = follow(table, link, &index);
		if (!slot)
			break;
		state = atomic_load_explicit(&slot->state, memory_order_acquire);
		found = (state & (WF_AV_LIVE | WF_AV_HASH)) == tag &&
			same_words(table->format, slot, words);
		link = &slot->next;
	}
	/* Q2: after acquire loads, so no earlier than them. */
	if (atomic_load_explicit(&table->state->seq, memory_order_relaxed) != seq)
		return -FI_EAGAIN;
	if (!found)
		return -FI_ENOENT;
	*ret_index = index;
	return 0;
}

int wf_av_table_find(
	struct wf_av_table *table, const uint32_t *words, uint32_t *ret_index)
{
	int ret = -FI_ENOENT;

	if (!table->state)
		return ret;
	for (int i = 0; i < FIND_TRIES; i++) {
		ret = find_once(table, words, ret_index);
		if (ret != -FI_EAGAIN)
			break;
		wf_cpu_relax();
	}
	return ret;
}

/* Writers. */

/* Bring all that follows from the slots in line with them. */
static void repair(struct wf_av_table *table)
{
	uint32_t count = 0, bits = capacity_bits(table);
	uint64_t size = UINT64_C(1) << bits;

	/* The one number that the slots do not tell. */
	if (!bits)
		return;
	wf_av_table_refresh(table);
	for (int l = 0; l < WF_FREEMAP_LEVELS; l++)
		memset(table->used.level[l], 0,
			WF_MIN(table->used.words[l], wf_bitmap_words(size)) *
				sizeof(*table->used.level[l]));
	for (uint64_t i = 0; i < size; i++) {
		const struct wf_av_slot *slot = wf_av_slot_at(table, i);

		if (!slot || !wf_av_slot_live(slot))
			continue;
		wf_freemap_take(&table->used, i);
		count++;
	}
	atomic_store_explicit(&table->state->count, count, memory_order_relaxed);
	rebuild(table, bits);
}

void wf_av_table_begin(struct wf_av_table *table)
{
	if (!table->memory)
		return;
	wf_av_table_refresh(table);
	if (atomic_load_explicit(&table->state->writing, memory_order_relaxed))
		repair(table);
	atomic_store_explicit(&table->state->writing, 1, memory_order_release);
}

void wf_av_table_end(struct wf_av_table *table)
{
	if (table->memory)
		atomic_store_explicit(&table->state->writing, 0, memory_order_release);
}

/* A slot that is free, growing when there is none. */
static int free_slot(
	struct wf_av_table *table, struct wf_av_slot **ret_slot, uint32_t *ret_index)
{
	struct wf_av_slot *slot;
	size_t index;
	int ret;

	index = wf_freemap_lowest(&table->used);
	if (index == WF_FREEMAP_BROKEN)
		return -FI_EIO;
	if (index == wf_av_table_capacity(table)) {
		ret = grow(table);
		if (ret)
			return ret;
	}
	slot = index < wf_av_table_capacity(table) ? wf_av_slot_at(table, index) : NULL;
	if (!slot || wf_av_slot_live(slot))
		return -FI_EIO;
	*ret_slot = slot;
	*ret_index = (uint32_t)index;
	return 0;
}

static void fill_slot(struct wf_av_table *table, struct wf_av_slot *slot,
	uint32_t index, const uint32_t *words, uint32_t flags)
{
	uint64_t hash = hash_of(table->format, words);

	for (unsigned int i = 0; i < table->format->addr_len / sizeof(*words); i++)
		atomic_store_explicit(&slot->word[i], words[i], memory_order_release);
	/* S1: release, the address is whole. */
	atomic_store_explicit(
		&slot->state, state_of(hash) | flags, memory_order_release);
	wf_freemap_take(&table->used, index);
	link_slot(table, slot, index, hash, wf_av_table_capacity(table) - 1);
	atomic_fetch_add_explicit(&table->state->count, 1, memory_order_relaxed);
}

static void count_again(struct wf_av_slot *slot)
{
	uint32_t state = atomic_load_explicit(&slot->state, memory_order_relaxed);

	/* At the top it stays: better never removed than too early. */
	if ((state & WF_AV_AGAIN) != WF_AV_AGAIN)
		atomic_store_explicit(
			&slot->state, state + WF_AV_AGAIN_ONE, memory_order_release);
}

static int insert_once(struct wf_av_table *table, const uint32_t *words, uint32_t flags,
	uint32_t *ret_index)
{
	struct wf_av_slot *slot;
	uint32_t index;
	int ret;

	if (!wf_av_table_find(table, words, ret_index)) {
		count_again(wf_av_slot_at(table, *ret_index));
		return 0;
	}
	ret = free_slot(table, &slot, &index);
	if (ret)
		return ret;
	fill_slot(table, slot, index, words, flags);
	*ret_index = index;
	return 0;
}

int wf_av_table_insert(struct wf_av_table *table, const uint32_t *words, uint32_t flags,
	uint32_t *ret_index)
{
	int ret = insert_once(table, words, flags, ret_index);

	if (ret != -FI_EIO || !table->memory)
		return ret;
	repair(table);
	return insert_once(table, words, flags, ret_index);
}

static void unlink_slot(struct wf_av_table *table, uint32_t index, uint64_t hash)
{
	uint64_t size = wf_av_table_capacity(table);
	_Atomic uint32_t *link = size ? head_at(table, hash & (size - 1)) : NULL;

	for (uint64_t steps = 0; link && steps < size; steps++) {
		uint32_t at;
		struct wf_av_slot *slot = follow(table, link, &at);

		if (!slot)
			return;
		if (at == index) {
			atomic_store_explicit(link,
				atomic_load_explicit(&slot->next, memory_order_relaxed),
				memory_order_release);
			return;
		}
		link = &slot->next;
	}
}

int wf_av_table_remove(struct wf_av_table *table, uint64_t index, bool *ret_gone)
{
	struct wf_av_slot *slot = index < wf_av_table_capacity(table)
					  ? wf_av_slot_at(table, index)
					  : NULL;
	uint32_t words[WF_AV_ADDR_WORDS], state;

	if (!slot || !wf_av_slot_live(slot))
		return -FI_EINVAL;
	state = atomic_load_explicit(&slot->state, memory_order_relaxed);
	*ret_gone = !(state & WF_AV_AGAIN);
	if (!*ret_gone) {
		if ((state & WF_AV_AGAIN) != WF_AV_AGAIN)
			atomic_store_explicit(&slot->state, state - WF_AV_AGAIN_ONE,
				memory_order_release);
		return 0;
	}
	copy_words(table->format, slot, words);
	disturb(table);
	atomic_store_explicit(&slot->state, 0, memory_order_release);
	unlink_slot(table, (uint32_t)index, hash_of(table->format, words));
	settle(table);
	wf_freemap_give(&table->used, index);
	atomic_fetch_sub_explicit(&table->state->count, 1, memory_order_relaxed);
	return 0;
}

/* Life. */

int wf_av_table_start(struct wf_av_table *table)
{
	int ret = add_segment(table, 0);

	if (ret)
		return ret;
	atomic_store_explicit(
		&table->state->bits, WF_AV_FIRST_BITS, memory_order_release);
	return 0;
}

int wf_av_table_init(
	struct wf_av_table *table, const struct wf_av_format *format, size_t count)
{
	int ret;

	memset(table, 0, sizeof(*table));
	table->format = format;
	table->stride = (uint32_t)sizeof(struct wf_av_slot) + format->addr_len;
	table->max_bits = WF_AV_MAX_BITS;
	table->state = &table->own;
	ret = wf_av_table_start(table);
	while (!ret &&
		wf_av_table_capacity(table) < WF_MIN(count, (size_t)MAX_EXPECTED))
		ret = grow(table);
	if (ret)
		wf_av_table_done(table);
	return ret;
}

void wf_av_memory_plan(struct wf_av_memory *memory, const struct wf_av_format *format,
	uint32_t max_bits, size_t start)
{
	size_t size = (size_t)1 << max_bits;

	memory->used_at = start + wf_freemap_upper_words(size) * sizeof(uint64_t);
	memory->heads_at = memory->used_at + wf_bitmap_words(size) * sizeof(uint64_t);
	memory->slots_at = memory->heads_at + size * sizeof(_Atomic uint32_t);
	memory->len = memory->slots_at +
		      size * (sizeof(struct wf_av_slot) + format->addr_len);
}

void wf_av_table_attach(struct wf_av_table *table, const struct wf_av_format *format,
	uint32_t max_bits, struct wf_av_memory *memory, struct wf_av_state *state)
{
	size_t size = (size_t)1 << max_bits;

	memset(table, 0, sizeof(*table));
	table->format = format;
	table->stride = (uint32_t)sizeof(struct wf_av_slot) + format->addr_len;
	table->max_bits = max_bits;
	table->state = state;
	table->memory = memory;
	wf_freemap_attach(&table->used,
		(uint64_t *)(void *)(memory->base + memory->used_at -
				     wf_freemap_upper_words(size) * sizeof(uint64_t)),
		size);
	wf_av_table_refresh(table);
}

void wf_av_table_done(struct wf_av_table *table)
{
	if (table->memory || !table->state)
		return;
	for (unsigned int k = 0; k < WF_AV_SEGMENTS; k++)
		free(private_segment(table, k));
	if (table->used.bits)
		free(table->used.level[WF_FREEMAP_LEVELS - 1]);
	memset(table, 0, sizeof(*table));
}
