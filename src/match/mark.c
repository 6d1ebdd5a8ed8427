/* SPDX-License-Identifier: BSD-2-Clause */
#include "match/mark.h"
#include "match/table_ops.h"
#include "sys/pool.h"

struct wf_match_marks {
	struct wf_match_table owners;
	struct wf_pool pool;
};

static uint64_t key_of(const struct wf_match_message *msg)
{
	return (uint64_t)(uintptr_t)msg;
}

struct wf_match_message *wf_match_mark_message(const struct wf_match_mark *mark)
{
	return (void *)(uintptr_t)mark->owner.tag;
}

static struct wf_match_marks *marks_get(struct wf_match *m)
{
	struct wf_match_marks *marks = m->marks;

	if (marks)
		return marks;
	marks = malloc(sizeof(*marks));
	if (!marks)
		return NULL;
	wf_match_table_init(&marks->owners, 0, false);
	wf_pool_init(&marks->pool, sizeof(struct wf_match_mark));
	return m->marks = marks;
}

bool wf_match_mark_add(
	struct wf_match *m, struct wf_match_index *x, struct wf_match_message *msg)
{
	struct wf_match_marks *marks = marks_get(m);
	struct wf_match_mark *mark = marks ? wf_pool_get(&marks->pool) : NULL;
	struct wf_match_node *node, *owner;

	if (wf_unlikely(!mark))
		return false;
	mark->index = x;
	node = &mark->node;
	node->tag = wf_match_tag(msg);
	node->addr = wf_match_addr(msg);
	wf_match_table_add(
		&x->table, node, wf_match_table_hash(&x->table, node->tag, node->addr));
	owner = &mark->owner;
	owner->tag = key_of(msg);
	owner->addr = 0;
	wf_match_table_add(&marks->owners, owner,
		wf_match_table_hash(&marks->owners, owner->tag, 0));
	return true;
}

struct wf_match_mark *wf_match_mark_find(const struct wf_match *m,
	const struct wf_match_message *msg, const struct wf_match_index *x)
{
	struct wf_match_node *first, *node;
	struct wf_match_mark *mark;

	if (!m->marks || !m->marks->owners.keys)
		return NULL;
	first = wf_match_table_find(&m->marks->owners, key_of(msg), 0);
	for (node = first; node;) {
		mark = wf_container_of(node, struct wf_match_mark, owner);
		if (!x || mark->index == x)
			return mark;
		node = wf_list_entry(node->ring.next, struct wf_match_node, ring);
		if (node == first)
			break;
	}
	return NULL;
}

static void take_out(struct wf_match_table *t, struct wf_match_node *node)
{
	wf_match_table_remove(
		t, node, wf_match_table_hash(t, node->tag, node->addr));
}

void wf_match_mark_drop(struct wf_match *m, struct wf_match_mark *mark)
{
	take_out(&mark->index->table, &mark->node);
	take_out(&m->marks->owners, &mark->owner);
	wf_pool_put(&m->marks->pool, mark);
}

void wf_match_marks_done(struct wf_match *m)
{
	if (!m->marks)
		return;
	wf_match_table_done(&m->marks->owners);
	wf_pool_done(&m->marks->pool);
	free(m->marks);
	m->marks = NULL;
}
