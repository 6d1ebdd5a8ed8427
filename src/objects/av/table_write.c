/* SPDX-License-Identifier: BSD-2-Clause */
#include <string.h>
#include <rdma/fi_errno.h>

#include "objects/av/table_internal.h"
#include "sys/bitmap.h"

/* Inserting and removing, and repairing a shared table after a writer died. */

/* Rebuild the map of used slots, the count and the chains from the slots. */
static void table_write_repair(struct wf_av_table *table)
{
	uint32_t count = 0, bits = wf_av_table_bits(table);
	uint64_t size = UINT64_C(1) << bits;

	/* The capacity cannot be rebuilt from the slots. */
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
	wf_av_chain_rebuild(table, bits);
}

void wf_av_table_begin(struct wf_av_table *table)
{
	if (!table->memory)
		return;
	wf_av_table_refresh(table);
	if (atomic_load_explicit(&table->state->writing, memory_order_relaxed))
		table_write_repair(table);
	atomic_store_explicit(&table->state->writing, 1, memory_order_release);
}

void wf_av_table_end(struct wf_av_table *table)
{
	if (table->memory)
		atomic_store_explicit(&table->state->writing, 0, memory_order_release);
}

/* Find the lowest free slot; grow the table if there is none. */
static int table_write_free_slot(
	struct wf_av_table *table, struct wf_av_slot **ret_slot, uint32_t *ret_index)
{
	struct wf_av_slot *slot;
	size_t index;
	int ret;

	index = wf_freemap_lowest(&table->used);
	if (index == WF_FREEMAP_BROKEN)
		return -FI_EIO;
	if (index == wf_av_table_capacity(table)) {
		ret = wf_av_table_grow(table);
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

/* False: no memory. */
static bool table_write_set_address(
	struct wf_av_table *table, struct wf_av_slot *slot, const uint32_t *words)
{
	struct wf_av_text *text;

	if (table->has_texts) {
		text = wf_av_text_new(&table->texts, words);
		if (text)
			atomic_store_explicit(wf_av_slot_text(slot), (uintptr_t)text,
				memory_order_release);
		return text;
	}
	for (unsigned int i = 0; i < table->format->addr_len / sizeof(*words); i++)
		atomic_store_explicit(&slot->word[i], words[i], memory_order_release);
	return true;
}

/* Free the text of a slot that is no longer live. A concurrent reader may still read
 * the block (text.h). */
static void table_write_clear_address(
	struct wf_av_table *table, struct wf_av_slot *slot)
{
	if (table->has_texts)
		wf_av_text_free(&table->texts,
			(struct wf_av_text *)atomic_load_explicit(
				wf_av_slot_text(slot), memory_order_relaxed));
}

static void table_write_fill_slot(struct wf_av_table *table, struct wf_av_slot *slot,
	uint32_t index, const uint32_t *words, uint32_t flags)
{
	uint64_t hash = wf_av_chain_hash(table->format, words);

	/* S1: release, the address is complete. */
	atomic_store_explicit(
		&slot->state, wf_av_chain_tag(hash) | flags, memory_order_release);
	wf_freemap_take(&table->used, index);
	wf_av_chain_link(table, slot, index, hash);
	for (int i = 0; i < WF_AV_SPLITS; i++)
		wf_av_chain_split(table);
	atomic_fetch_add_explicit(&table->state->count, 1, memory_order_relaxed);
}

static void table_write_count_again(struct wf_av_slot *slot)
{
	uint32_t state = atomic_load_explicit(&slot->state, memory_order_relaxed);

	/* A count at its maximum stays there: the address is then never removed, which
	 * is better than too early. */
	if ((state & WF_AV_REPEATS) != WF_AV_REPEATS)
		atomic_store_explicit(
			&slot->state, state + WF_AV_REPEAT_ONE, memory_order_release);
}

static int table_write_insert_once(struct wf_av_table *table, const uint32_t *words,
	uint32_t flags, uint32_t *ret_index)
{
	struct wf_av_slot *slot;
	uint32_t index;
	int ret;

	if (!wf_av_table_find(table, words, ret_index)) {
		table_write_count_again(wf_av_slot_at(table, *ret_index));
		return 0;
	}
	if (!wf_av_chain_count(table))
		return -FI_EIO;
	ret = table_write_free_slot(table, &slot, &index);
	if (ret)
		return ret;
	if (!table_write_set_address(table, slot, words))
		return -FI_ENOMEM;
	table_write_fill_slot(table, slot, index, words, flags);
	*ret_index = index;
	return 0;
}

int wf_av_table_slot(
	struct wf_av_table *table, const uint32_t *words, uint32_t *ret_index)
{
	struct wf_av_slot *slot;

	return wf_av_table_find(table, words, ret_index)
		       ? table_write_free_slot(table, &slot, ret_index)
		       : 0;
}

int wf_av_table_insert(struct wf_av_table *table, const uint32_t *words, uint32_t flags,
	uint32_t *ret_index)
{
	int ret = table_write_insert_once(table, words, flags, ret_index);

	if (ret != -FI_EIO || !table->memory)
		return ret;
	table_write_repair(table);
	return table_write_insert_once(table, words, flags, ret_index);
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
	*ret_gone = !(state & WF_AV_REPEATS);
	if (!*ret_gone) {
		if ((state & WF_AV_REPEATS) != WF_AV_REPEATS)
			atomic_store_explicit(&slot->state, state - WF_AV_REPEAT_ONE,
				memory_order_release);
		return 0;
	}
	wf_av_chain_words(table, slot, words);
	wf_av_chain_disturb(table);
	atomic_store_explicit(&slot->state, 0, memory_order_release);
	wf_av_chain_unlink(
		table, (uint32_t)index, wf_av_chain_hash(table->format, words));
	wf_av_chain_settle(table);
	table_write_clear_address(table, slot);
	wf_freemap_give(&table->used, index);
	atomic_fetch_sub_explicit(&table->state->count, 1, memory_order_relaxed);
	return 0;
}
