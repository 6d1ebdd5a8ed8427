/* SPDX-License-Identifier: BSD-2-Clause */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>

#include "objects/av/table_internal.h"
#include "sys/bitmap.h"

/* The memory of a table: making, growing and freeing its segments. */

static_assert(ATOMIC_INT_LOCK_FREE == 2, "processes share these words");
static_assert(sizeof(struct wf_av_slot) == 8, "tens of bytes per entry");

/* The most addresses for which a private table allocates segments when it is made, if
 * as many are expected: segments cost address space, and memory only when used. */
enum { MAX_EXPECTED = 1 << 20 };

static void table_publish(
	struct wf_av_table *table, unsigned int k, char *slots, char *heads)
{
	uint64_t start = wf_av_segment_start(k);

	/* release: pairs with the acquire in wf_av_slot_at and head_at. */
	atomic_store_explicit(&table->heads[k],
		(uintptr_t)heads - start * sizeof(_Atomic uint32_t),
		memory_order_release);
	atomic_store_explicit(&table->slots[k],
		(uintptr_t)slots - start * table->stride, memory_order_release);
}

static char *table_private_segment(const struct wf_av_table *table, unsigned int k)
{
	uintptr_t slots = atomic_load_explicit(&table->slots[k], memory_order_relaxed);

	if (!slots)
		return NULL;
	return (char *)(slots + wf_av_segment_start(k) * table->stride);
}

static int table_grow_used(struct wf_av_table *table, size_t bits)
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

/* A segment is one allocation: its slots, then its heads. */
static int table_add_private(struct wf_av_table *table, unsigned int k)
{
	uint64_t size = wf_av_segment_size(k);
	char *slots;

	if (table_grow_used(table, wf_av_segment_start(k) + size))
		return -FI_ENOMEM;
	slots = calloc(size, table->stride + sizeof(_Atomic uint32_t));
	if (!slots)
		return -FI_ENOMEM;
	table_publish(table, k, slots, slots + size * table->stride);
	return 0;
}

static void table_publish_shared(struct wf_av_table *table, unsigned int k)
{
	const struct wf_av_memory *memory = table->memory;
	uint64_t start = wf_av_segment_start(k);

	table_publish(table, k, memory->base + memory->slots_at + start * table->stride,
		memory->base + memory->heads_at + start * sizeof(_Atomic uint32_t));
}

/* Commit segment @k of the array at offset @at, which has @index_bits bits for each
 * index. */
static int table_commit(
	const struct wf_av_memory *memory, size_t at, size_t index_bits, unsigned int k)
{
	if (!memory->commit)
		return 0;
	return memory->commit(memory->arg, at + wf_av_segment_start(k) * index_bits / 8,
		wf_av_segment_size(k) * index_bits / 8);
}

static int table_add_shared(struct wf_av_table *table, unsigned int k)
{
	const struct wf_av_memory *memory = table->memory;

	if (table_commit(memory, memory->used_at, 1, k) ||
		table_commit(
			memory, memory->heads_at, 8 * sizeof(_Atomic uint32_t), k) ||
		table_commit(memory, memory->slots_at, 8 * (size_t)table->stride, k))
		return -FI_ENOMEM;
	table_publish_shared(table, k);
	return 0;
}

static int table_add_segment(struct wf_av_table *table, unsigned int k)
{
	return table->memory ? table_add_shared(table, k) : table_add_private(table, k);
}

uint32_t wf_av_table_bits(const struct wf_av_table *table)
{
	uint32_t bits;

	if (!table->state)
		return 0;
	/* acquire: pairs with the release in wf_av_table_grow. */
	bits = atomic_load_explicit(&table->state->bits, memory_order_acquire);
	return bits < WF_AV_FIRST_BITS || bits > table->max_bits ? 0 : bits;
}

uint64_t wf_av_table_capacity(const struct wf_av_table *table)
{
	uint32_t bits = wf_av_table_bits(table);

	return bits ? UINT64_C(1) << bits : 0;
}

void wf_av_table_refresh(struct wf_av_table *table)
{
	uint32_t bits = wf_av_table_bits(table);

	/* Concurrent threads store the same values. */
	for (unsigned int k = 0; table->memory && k + WF_AV_FIRST_BITS <= bits; k++)
		table_publish_shared(table, k);
}

int wf_av_table_grow(struct wf_av_table *table)
{
	uint32_t bits = wf_av_table_bits(table);
	int ret;

	if (!bits)
		return -FI_EIO;
	if (bits == table->max_bits)
		return -FI_ENOMEM;
	ret = table_add_segment(table, bits + 1 - WF_AV_FIRST_BITS);
	if (ret)
		return ret;
	/* release: the segment is published before the capacity includes it. */
	atomic_store_explicit(&table->state->bits, bits + 1, memory_order_release);
	/* Without an address there is no chain to split. */
	if (!atomic_load_explicit(&table->state->count, memory_order_relaxed))
		atomic_store_explicit(&table->state->chains, UINT32_C(1) << (bits + 1),
			memory_order_release);
	return 0;
}

int wf_av_table_start(struct wf_av_table *table)
{
	int ret = table_add_segment(table, 0);

	if (ret)
		return ret;
	atomic_store_explicit(&table->state->chains, UINT32_C(1) << WF_AV_FIRST_BITS,
		memory_order_relaxed);
	/* release: everything else is there when the capacity is not 0. */
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
	table->has_texts = format->is_text;
	table->stride =
		(uint32_t)sizeof(struct wf_av_slot) +
		(table->has_texts ? (uint32_t)sizeof(uintptr_t) : format->addr_len);
	table->max_bits = WF_AV_MAX_BITS;
	table->state = &table->own;
	ret = wf_av_table_start(table);
	while (!ret &&
		wf_av_table_capacity(table) < WF_MIN(count, (size_t)MAX_EXPECTED))
		ret = wf_av_table_grow(table);
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
		free(table_private_segment(table, k));
	if (table->used.bits)
		free(table->used.level[WF_FREEMAP_LEVELS - 1]);
	wf_av_texts_done(&table->texts);
	memset(table, 0, sizeof(*table));
}
