/* SPDX-License-Identifier: BSD-2-Clause */
#include "match/mark.h"

struct wf_match_marks {
	struct wf_pool pool;        /* memory of struct wf_match_mark */
	size_t kept;                /* bytes of free slabs that @pool keeps */
	struct wf_match_compact of; /* table of marks by the handle of their message */
};

static struct wf_match_marks *marks_new(struct wf_match *m)
{
	struct wf_match_marks *marks = malloc(sizeof(*marks));

	if (!marks)
		return NULL;
	marks->kept = 0;
	wf_pool_init_handles(
		&marks->pool, sizeof(struct wf_match_mark), &marks->kept, m->handles);
	wf_match_compact_init(&marks->of, m->handles, 0, false);
	return m->marks = marks;
}

static void mark_compact_insert(
	struct wf_match_compact *table, struct wf_match_compact_node *node)
{
	wf_match_compact_add(table, wf_pool_handle(table->handles, node),
		wf_match_compact_hash(table, node->tag, wf_match_compact_addr(node)));
}

static void mark_compact_erase(
	struct wf_match_compact *table, struct wf_match_compact_node *node)
{
	wf_match_compact_remove(table, wf_pool_handle(table->handles, node),
		wf_match_compact_hash(table, node->tag, wf_match_compact_addr(node)));
}

bool wf_match_mark_add(struct wf_match *m, struct wf_match_index *x, uint32_t msg)
{
	struct wf_match_marks *marks = m->marks ? m->marks : marks_new(m);
	struct wf_match_mark *mark = marks ? wf_pool_get(&marks->pool) : NULL;

	if (wf_unlikely(!mark))
		return false;
	mark->node = wf_match_message_at(m, msg)->node;
	mark->of.tag = msg;
	mark->of.addr = 0;
	mark->index = x;
	mark->message = msg;
	mark_compact_insert(&x->table, &mark->node);
	mark_compact_insert(&marks->of, &mark->of);
	return true;
}

static struct wf_match_mark *mark_of(const struct wf_match *m, uint32_t of)
{
	return wf_container_of(wf_pool_at(m->handles, of), struct wf_match_mark, of);
}

struct wf_match_mark *wf_match_mark_any(const struct wf_match *m, uint32_t msg)
{
	uint32_t of = m->marks ? wf_match_compact_find(&m->marks->of, msg, 0) : 0;

	return of ? mark_of(m, of) : NULL;
}

struct wf_match_mark *wf_match_mark_find(
	const struct wf_match *m, const struct wf_match_index *x, uint32_t msg)
{
	struct wf_match_mark *first = wf_match_mark_any(m, msg), *mark = first;

	while (mark && mark->index != x) {
		mark = mark_of(m, mark->of.after);
		if (mark == first)
			return NULL;
	}
	return mark;
}

void wf_match_mark_drop(struct wf_match *m, struct wf_match_mark *mark)
{
	mark_compact_erase(&mark->index->table, &mark->node);
	mark_compact_erase(&m->marks->of, &mark->of);
	wf_pool_put(&m->marks->pool, mark);
}

void wf_match_marks_done(struct wf_match *m)
{
	if (!m->marks)
		return;
	wf_match_compact_done(&m->marks->of);
	wf_pool_done(&m->marks->pool);
	free(m->marks);
	m->marks = NULL;
}
