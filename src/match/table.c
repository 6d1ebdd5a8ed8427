/* SPDX-License-Identifier: BSD-2-Clause */
#include "match/table_ops.h"

/* A table of up to this many buckets is kept when it has become empty. */
#define KEPT 256
/* Few keys do not ask for memory. */
#define FEW_KEYS       4
#define MOVES_PER_CALL 8
#define MAX_BUCKETS    (UINT32_C(1) << 30)
#define SPARSE_BUCKETS (UINT32_C(1) << 16)

struct wf_match_node wf_match_behind;

/*
 * A quarter of the buckets at most is filled, so that a look for what is not there
 * mostly meets an empty one. Where the buckets are more than a cache holds, and each
 * look is a trip to memory anyhow, the memory counts.
 */
static uint32_t keys_of(uint32_t size)
{
	if (size <= SPARSE_BUCKETS)
		return WF_MAX(size / 4, FEW_KEYS);
	return size == MAX_BUCKETS ? UINT32_MAX : size;
}

static void set_size(
	struct wf_match_table *t, struct wf_match_node **buckets, uint32_t size)
{
	t->buckets = buckets;
	t->mask = size - 1;
	t->grow_at = keys_of(size);
	t->shrink_at = size > KEPT ? keys_of(size / 4) / 2 : 0;
}

static void release(struct wf_match_table *t, struct wf_match_node **buckets)
{
	if (buckets != t->few)
		free(buckets);
}

void wf_match_table_init(struct wf_match_table *t, uint64_t ignore, bool directed)
{
	*t = (struct wf_match_table){
		.ignore = ignore,
		.any = directed ? 0 : UINT64_MAX,
	};
	set_size(t, t->few, WF_MATCH_FEW);
}

void wf_match_table_done(struct wf_match_table *t)
{
	if (t->old)
		release(t, t->old);
	release(t, t->buckets);
	wf_match_table_init(t, t->ignore, !t->any);
}

static void move_chain(struct wf_match_table *t, struct wf_match_node *node)
{
	struct wf_match_node *next, **bucket;

	for (; node; node = next) {
		next = node->next;
		bucket = &t->buckets[t->mask &
				     wf_match_table_hash(t, node->tag, node->addr)];
		node->next = *bucket;
		*bucket = node;
	}
}

static void move_some(struct wf_match_table *t)
{
	for (int i = 0; t->old && i < MOVES_PER_CALL; i++) {
		move_chain(t, t->old[t->moved]);
		if (t->moved++ == t->old_mask) {
			release(t, t->old);
			t->old = NULL;
		}
	}
}

static void resize(struct wf_match_table *t, uint32_t size)
{
	struct wf_match_node **buckets = calloc(size, sizeof(struct wf_match_node *));

	if (!buckets) {
		/* Not asked for again before the need has doubled or halved. */
		t->grow_at = t->grow_at > UINT32_MAX / 2 ? UINT32_MAX : t->grow_at * 2;
		t->shrink_at = WF_MAX(t->shrink_at / 2, 1);
		return;
	}
	t->old = t->buckets;
	t->old_mask = t->mask;
	t->moved = 0;
	set_size(t, buckets, size);
}

void wf_match_table_grow(struct wf_match_table *t)
{
	if (!t->old && t->keys > t->grow_at)
		resize(t, (t->mask + 1) * 2);
	move_some(t);
}

void wf_match_table_shrink(struct wf_match_table *t)
{
	if (!t->keys) {
		/* Nothing is left to move. */
		if (t->old)
			release(t, t->old);
		t->old = NULL;
		if (t->mask >= KEPT) {
			release(t, t->buckets);
			wf_match_table_init(t, t->ignore, !t->any);
		}
		return;
	}
	if (!t->old && t->keys < t->shrink_at)
		resize(t, (t->mask + 1) / 4);
	move_some(t);
}
