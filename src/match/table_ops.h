/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_MATCH_TABLE_OPS_H
#define WF_MATCH_TABLE_OPS_H

/* The hot part of the table, inline for its users. */

#include "match/seed.h"
#include "match/table.h"
#include "sys/compiler.h"

/* Carry on with a resize under way, begin one that is due. */
void wf_match_table_grow(struct wf_match_table *t);
void wf_match_table_shrink(struct wf_match_table *t);

/* Of what the table compares; 32 bits are more than it has buckets for. */
static inline uint32_t wf_match_table_hash(
	const struct wf_match_table *t, uint64_t tag, uint64_t addr)
{
	return (uint32_t)wf_match_hash(tag & ~t->ignore, addr | t->any);
}

static inline struct wf_match_node **wf_match_table_bucket(
	const struct wf_match_table *t, uint32_t hash)
{
	if (wf_unlikely(t->old) && (hash & t->old_mask) >= t->moved)
		return &t->old[hash & t->old_mask];
	return &t->buckets[hash & t->mask];
}

static inline bool wf_match_table_same(const struct wf_match_table *t,
	const struct wf_match_node *node, uint64_t tag, uint64_t addr)
{
	return !(((node->tag ^ tag) & ~t->ignore) | ((node->addr ^ addr) & ~t->any));
}

static inline struct wf_match_node *wf_match_table_look(const struct wf_match_table *t,
	struct wf_match_node *const *bucket, uint64_t tag, uint64_t addr)
{
	struct wf_match_node *node = *bucket;

	while (node && !wf_match_table_same(t, node, tag, addr))
		node = node->next;
	return node;
}

/* The first of the ring of that key, or NULL. */
static inline struct wf_match_node *wf_match_table_find(
	const struct wf_match_table *t, uint64_t tag, uint64_t addr)
{
	uint32_t hash = wf_match_table_hash(t, tag, addr);

	return wf_match_table_look(t, wf_match_table_bucket(t, hash), tag, addr);
}

/* File @node, its tag and addr set, behind those of its key. */
static inline void wf_match_table_add(
	struct wf_match_table *t, struct wf_match_node *node, uint32_t hash)
{
	struct wf_match_node **bucket = wf_match_table_bucket(t, hash);
	struct wf_match_node *first =
		wf_match_table_look(t, bucket, node->tag, node->addr);

	if (first) {
		node->next = &wf_match_behind;
		wf_list_push(&first->ring, &node->ring);
		return;
	}
	wf_list_init(&node->ring);
	node->next = *bucket;
	*bucket = node;
	if (wf_unlikely(++t->keys > t->grow_at || t->old))
		wf_match_table_grow(t);
}

/* Where @node, the first of its ring, hangs. */
static inline struct wf_match_node **wf_match_table_link(
	const struct wf_match_table *t, const struct wf_match_node *node, uint32_t hash)
{
	struct wf_match_node **link = wf_match_table_bucket(t, hash);

	while (wf_unlikely(*link != node))
		link = &(*link)->next;
	return link;
}

/* Only the first of a ring is looked for by its hash. */
static inline bool wf_match_table_needs_hash(const struct wf_match_node *node)
{
	return node->next != &wf_match_behind;
}

static inline void wf_match_table_remove(
	struct wf_match_table *t, struct wf_match_node *node, uint32_t hash)
{
	struct wf_list *second = node->ring.next;
	struct wf_match_node **link, *heir;

	if (second != &node->ring) {
		if (wf_match_table_needs_hash(node)) {
			link = wf_match_table_link(t, node, hash);
			heir = wf_list_entry(second, struct wf_match_node, ring);
			heir->next = node->next;
			*link = heir;
		}
		second->prev = node->ring.prev;
		second->prev->next = second;
		return;
	}
	link = wf_match_table_link(t, node, hash);
	*link = node->next;
	if (wf_unlikely(--t->keys < t->shrink_at || t->old))
		wf_match_table_shrink(t);
}

#endif
