/* SPDX-License-Identifier: BSD-2-Clause */
/* What is not inline of table_text.h, behind the same definitions. */

/* A table of up to this many buckets is kept when it has become empty. */
#define KEPT 256
/* Few keys do not ask for memory. */
#define FEW_KEYS       4
#define MOVES_PER_CALL 8
#define MAX_BUCKETS    (UINT32_C(1) << 30)
#define SPARSE_BUCKETS ((UINT32_C(1) << 19) / sizeof(T_LINK))

/*
 * A quarter of the buckets at most is filled, so that a look for what is not there
 * mostly meets an empty one. Where the buckets are more than a cache holds, and each
 * look is a trip to memory anyhow, the memory counts.
 */
static uint32_t T(_keys_of)(uint32_t size)
{
	if (size <= SPARSE_BUCKETS)
		return WF_MAX(size / 4, FEW_KEYS);
	return size == MAX_BUCKETS ? UINT32_MAX : size;
}

static void T(_set_size)(struct T() * t, T_LINK *buckets, uint32_t size)
{
	t->buckets = buckets;
	t->mask = size - 1;
	t->grow_at = T(_keys_of)(size);
	t->shrink_at = size > KEPT ? T(_keys_of)(size / 4) / 2 : 0;
}

static void T(_release)(struct T() * t, T_LINK *buckets)
{
	if (buckets != t->few)
		free(buckets);
}

void T(_init)(struct T() * t, uint64_t ignore, bool directed)
{
	*t = (struct T()){
		.ignore = ignore, .any = directed ? 0 : UINT64_MAX, T_COPY(t)
	};
	T(_set_size)(t, t->few, WF_MATCH_FEW);
}

void T(_done)(struct T() * t)
{
	if (t->old)
		T(_release)(t, t->old);
	T(_release)(t, t->buckets);
	T(_init)(t, t->ignore, !t->any);
}

static void T(_move_chain)(struct T() * t, T_LINK link)
{
	T_VIEW view = T_VIEW_OF(t);
	T_LINK next;
	T_LINK *bucket;
	T_NODE *node;

	for (; link; link = next) {
		node = T_AT(view, link);
		next = node->next;
		bucket = &t->buckets[t->mask & T(_hash)(t, node->tag, T_ADDR(node))];
		node->next = *bucket;
		*bucket = link;
	}
}

static void T(_move_some)(struct T() * t)
{
	for (int i = 0; t->old && i < MOVES_PER_CALL; i++) {
		T(_move_chain)(t, t->old[t->moved]);
		if (t->moved++ == t->old_mask) {
			T(_release)(t, t->old);
			t->old = NULL;
		}
	}
}

static void T(_resize)(struct T() * t, uint32_t size)
{
	T_LINK *buckets = calloc(size, sizeof(T_LINK));

	if (!buckets) {
		/* Not asked for again before the need has doubled or halved. */
		t->grow_at = t->grow_at > UINT32_MAX / 2 ? UINT32_MAX : t->grow_at * 2;
		t->shrink_at = WF_MAX(t->shrink_at / 2, 1);
		return;
	}
	t->old = t->buckets;
	t->old_mask = t->mask;
	t->moved = 0;
	T(_set_size)(t, buckets, size);
}

void T(_grow)(struct T() * t)
{
	if (!t->old && t->keys > t->grow_at)
		T(_resize)(t, (t->mask + 1) * 2);
	T(_move_some)(t);
}

void T(_shrink)(struct T() * t)
{
	if (!t->keys) {
		/* Nothing is left to move. */
		if (t->old)
			T(_release)(t, t->old);
		t->old = NULL;
		if (t->mask >= KEPT) {
			T(_release)(t, t->buckets);
			T(_init)(t, t->ignore, !t->any);
		}
		return;
	}
	if (!t->old && t->keys < t->shrink_at)
		T(_resize)(t, (t->mask + 1) / 4);
	T(_move_some)(t);
}

#undef KEPT
#undef FEW_KEYS
#undef MOVES_PER_CALL
#undef MAX_BUCKETS
#undef SPARSE_BUCKETS
#include "match/text_end.h"
