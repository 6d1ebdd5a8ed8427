/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_MATCH_TABLE_OPS_H
#define WF_MATCH_TABLE_OPS_H

/* The hot part of the table, inline for posted.c and unexpected.c. */

#include "match/seed.h"
#include "match/table.h"

/* Carry on with a resize under way, begin one that is due. */
void wf_match_table_grow(struct wf_match_table *t);
void wf_match_table_shrink(struct wf_match_table *t);

static inline struct wf_match_node **wf_match_table_bucket(
	const struct wf_match_table *t, uint64_t hash)
{
	if (wf_unlikely(t->old) && (hash & t->old_mask) >= t->moved)
		return &t->old[hash & t->old_mask];
	return &t->buckets[hash & t->mask];
}

static inline struct wf_match_node *wf_match_table_look(
	struct wf_match_node *const *bucket, uint64_t tag, uint64_t addr)
{
	struct wf_match_node *node = *bucket;

	while (node && (node->tag != tag || node->addr != addr))
		node = node->next;
	return node;
}

/* The first of the ring of that key, or NULL. */
static inline struct wf_match_node *wf_match_table_find(
	const struct wf_match_table *t, uint64_t tag, uint64_t addr)
{
	return wf_match_table_look(
		wf_match_table_bucket(t, wf_match_hash(tag, addr)), tag, addr);
}

static inline void wf_match_table_push(
	struct wf_match_node **bucket, struct wf_match_node *node)
{
	node->next = *bucket;
	node->link = bucket;
	if (node->next)
		node->next->link = &node->next;
	*bucket = node;
}

/* File @node, its tag and addr set, behind those of its key. */
static inline void wf_match_table_add(
	struct wf_match_table *t, struct wf_match_node *node)
{
	struct wf_match_node **bucket =
		wf_match_table_bucket(t, wf_match_hash(node->tag, node->addr));
	struct wf_match_node *first =
		wf_match_table_look(bucket, node->tag, node->addr);

	if (first) {
		node->link = NULL;
		wf_list_push(&first->ring, &node->ring);
		return;
	}
	wf_list_init(&node->ring);
	wf_match_table_push(bucket, node);
	if (wf_unlikely(++t->keys > t->grow_at || t->old))
		wf_match_table_grow(t);
}

/* @to, until now not the first of its ring, takes the place of @from in the bucket. */
static inline void wf_match_table_replace(
	struct wf_match_node *from, struct wf_match_node *to)
{
	to->next = from->next;
	to->link = from->link;
	*to->link = to;
	if (to->next)
		to->next->link = &to->next;
	from->link = NULL;
}

static inline void wf_match_table_remove(
	struct wf_match_table *t, struct wf_match_node *node)
{
	struct wf_list *second = node->ring.next;

	if (second != &node->ring) {
		if (node->link)
			wf_match_table_replace(node,
				wf_list_entry(second, struct wf_match_node, ring));
		second->prev = node->ring.prev;
		second->prev->next = second;
		return;
	}
	*node->link = node->next;
	if (node->next)
		node->next->link = node->link;
	if (wf_unlikely(--t->keys < t->shrink_at || t->old))
		wf_match_table_shrink(t);
}

#endif
