/* SPDX-License-Identifier: BSD-2-Clause */
#include <rdma/fi_errno.h>

#include "objects/av/table_internal.h"
#include "sys/lock.h"

/* The hash chains of a table: finding an index by its address. table.h explains Q1, Q2,
 * S1 and S2. */

/* How often a reader starts again before it gives up. */
enum { FIND_TRIES = 64 };

uint64_t wf_av_chain_hash(const struct wf_av_format *format, const uint32_t *words)
{
	uint64_t hash = 0;

	for (unsigned int i = 0; i < format->key_words; i++) {
		hash = (hash ^ words[i]) * UINT64_C(0x9e3779b97f4a7c15);
		hash ^= hash >> 32;
	}
	return hash;
}

uint32_t wf_av_chain_tag(uint64_t hash)
{
	return WF_AV_LIVE | (uint32_t)(hash >> 48 & WF_AV_HASH);
}

/* The words of a slot's address, and their number. A text's block may have fewer than
 * key_words; the missing words are zero. */
static const _Atomic uint32_t *chain_words_at(const struct wf_av_table *table,
	const struct wf_av_slot *slot, uint32_t *ret_count)
{
	const struct wf_av_text *text;

	*ret_count = table->format->key_words;
	if (!table->has_texts)
		return slot->word;
	text = (const struct wf_av_text *)atomic_load_explicit(
		wf_av_slot_text(slot), memory_order_acquire);
	*ret_count = text ? WF_MIN(text->words, *ret_count) : 0;
	return text ? text->word : NULL;
}

void wf_av_chain_words(
	const struct wf_av_table *table, const struct wf_av_slot *slot, uint32_t *words)
{
	uint32_t count;
	const _Atomic uint32_t *from = chain_words_at(table, slot, &count);

	for (uint32_t i = 0; i < table->format->key_words; i++)
		words[i] =
			i < count ? atomic_load_explicit(&from[i], memory_order_relaxed)
				  : 0;
}

static bool chain_same_words(const struct wf_av_table *table,
	const struct wf_av_slot *slot, const uint32_t *words)
{
	uint32_t count;
	const _Atomic uint32_t *at = chain_words_at(table, slot, &count);

	for (uint32_t i = 0; i < count; i++)
		/* acquire: this load comes before Q2. */
		if (atomic_load_explicit(&at[i], memory_order_acquire) != words[i])
			return false;
	return count;
}

static _Atomic uint32_t *chain_head_at(const struct wf_av_table *table, uint64_t i)
{
	uintptr_t heads = atomic_load_explicit(
		&table->heads[wf_av_segment(i)], memory_order_acquire);

	return heads ? (_Atomic uint32_t *)(heads + i * sizeof(_Atomic uint32_t))
		     : NULL;
}

/* The slot that @link points to; NULL at the end, or if shared memory holds an index
 * that does not exist. */
static struct wf_av_slot *chain_follow(
	const struct wf_av_table *table, const _Atomic uint32_t *link, uint32_t *index)
{
	/* acquire: pairs with the release in wf_av_chain_link. */
	uint32_t next = atomic_load_explicit(link, memory_order_acquire);

	*index = next - 1;
	return next ? wf_av_slot_at(table, *index) : NULL;
}

uint64_t wf_av_chain_count(const struct wf_av_table *table)
{
	/* acquire: the segments of the chains are published. */
	uint32_t count =
		atomic_load_explicit(&table->state->chains, memory_order_acquire);

	return count >> WF_AV_FIRST_BITS && count <= wf_av_table_capacity(table) ? count
										 : 0;
}

/* The number of the highest bit of @n, which is not 0. */
static unsigned int chain_highest_bit(uint64_t n)
{
	return 63u - (unsigned int)__builtin_clzll(n);
}

/* The chain, of @count (more than 1), of addresses with @hash. */
static uint64_t chain_index(uint64_t hash, uint64_t count)
{
	uint64_t mask = (UINT64_C(2) << chain_highest_bit(count - 1)) - 1;
	uint64_t chain = hash & mask;

	return chain < count ? chain : chain & (mask >> 1);
}

/* The head of the chain of @hash; NULL: shared memory is corrupt, or another process
 * changed it without the lock. */
static _Atomic uint32_t *chain_head_of(const struct wf_av_table *table, uint64_t hash)
{
	uint64_t count = wf_av_chain_count(table);

	return count ? chain_head_at(table, chain_index(hash, count)) : NULL;
}

static void chain_link_at(
	_Atomic uint32_t *head, struct wf_av_slot *slot, uint32_t index)
{
	atomic_store_explicit(&slot->next,
		atomic_load_explicit(head, memory_order_relaxed), memory_order_release);
	atomic_store_explicit(head, index + 1, memory_order_release);
}

void wf_av_chain_link(struct wf_av_table *table, struct wf_av_slot *slot,
	uint32_t index, uint64_t hash)
{
	_Atomic uint32_t *head = chain_head_of(table, hash);

	if (head)
		chain_link_at(head, slot, index);
}

void wf_av_chain_disturb(struct wf_av_table *table)
{
	uint32_t seq = atomic_load_explicit(&table->state->seq, memory_order_relaxed);

	/* Q1: odd before any store that follows; those are release stores. */
	atomic_store_explicit(&table->state->seq, seq | 1, memory_order_relaxed);
}

void wf_av_chain_settle(struct wf_av_table *table)
{
	uint32_t seq = atomic_load_explicit(&table->state->seq, memory_order_relaxed);

	/* Q1: release, the chains are complete again. */
	atomic_store_explicit(&table->state->seq, (seq | 1) + 1, memory_order_release);
}

static uint64_t chain_slot_hash(
	const struct wf_av_table *table, const struct wf_av_slot *slot)
{
	uint32_t words[WF_AV_ADDR_WORDS];

	wf_av_chain_words(table, slot, words);
	return wf_av_chain_hash(table->format, words);
}

/* Move the slots of the chain at @from whose chain, of @chain + 1, is @chain to the
 * empty chain at @to. */
static void chain_move(struct wf_av_table *table, _Atomic uint32_t *from,
	_Atomic uint32_t *to, uint64_t chain)
{
	uint64_t size = wf_av_table_capacity(table);

	for (uint64_t steps = 0; steps < size; steps++) {
		uint32_t index;
		struct wf_av_slot *slot = chain_follow(table, from, &index);

		if (!slot)
			return;
		if (chain_index(chain_slot_hash(table, slot), chain + 1) != chain) {
			from = &slot->next;
			continue;
		}
		atomic_store_explicit(from,
			atomic_load_explicit(&slot->next, memory_order_relaxed),
			memory_order_release);
		chain_link_at(to, slot, index);
		table->moved++;
	}
}

/* The slots of chain @old that belong to @chain form the new chain @chain. */
void wf_av_chain_split(struct wf_av_table *table)
{
	uint64_t chain = wf_av_chain_count(table), old;
	_Atomic uint32_t *from, *to;

	if (!chain || chain >= wf_av_table_capacity(table))
		return;
	old = chain ^ UINT64_C(1) << chain_highest_bit(chain);
	from = chain_head_at(table, old);
	to = chain_head_at(table, chain);
	if (!from || !to)
		return;
	wf_av_chain_disturb(table);
	atomic_store_explicit(to, 0, memory_order_release);
	chain_move(table, from, to, chain);
	atomic_store_explicit(
		&table->state->chains, (uint32_t)chain + 1, memory_order_release);
	wf_av_chain_settle(table);
}

void wf_av_chain_rebuild(struct wf_av_table *table, uint32_t bits)
{
	uint64_t size = UINT64_C(1) << bits;

	wf_av_chain_disturb(table);
	atomic_store_explicit(
		&table->state->chains, (uint32_t)size, memory_order_release);
	for (uint64_t i = 0; i < size; i++)
		if (chain_head_at(table, i))
			atomic_store_explicit(
				chain_head_at(table, i), 0, memory_order_release);
	for (uint64_t i = 0; i < size; i++) {
		struct wf_av_slot *slot = wf_av_slot_at(table, i);

		if (!slot || !wf_av_slot_live(slot))
			continue;
		wf_av_chain_link(
			table, slot, (uint32_t)i, chain_slot_hash(table, slot));
		table->moved++;
	}
	wf_av_chain_settle(table);
}

void wf_av_chain_unlink(struct wf_av_table *table, uint32_t index, uint64_t hash)
{
	uint64_t size = wf_av_table_capacity(table);
	_Atomic uint32_t *link = chain_head_of(table, hash);

	for (uint64_t steps = 0; link && steps < size; steps++) {
		uint32_t at;
		struct wf_av_slot *slot = chain_follow(table, link, &at);

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

static int chain_find_once(
	struct wf_av_table *table, const uint32_t *words, uint32_t *ret_index)
{
	uint64_t size, hash = wf_av_chain_hash(table->format, words);
	uint32_t state, index = 0, tag = wf_av_chain_tag(hash);
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
	/* A chain may lead to any slot, so this process must have found all segments;
	 * another process may have added some. */
	if (!wf_av_slot_at(table, size - 1))
		wf_av_table_refresh(table);
	link = chain_head_of(table, hash);
	if (!link)
		return -FI_ENOENT;
	for (uint64_t steps = 0; steps < size && !found; steps++) {
		slot = chain_follow(table, link, &index);
		if (!slot)
			break;
		state = atomic_load_explicit(&slot->state, memory_order_acquire);
		found = (state & (WF_AV_LIVE | WF_AV_HASH)) == tag &&
			chain_same_words(table, slot, words);
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
		ret = chain_find_once(table, words, ret_index);
		if (ret != -FI_EAGAIN)
			break;
		wf_cpu_relax();
	}
	return ret;
}
