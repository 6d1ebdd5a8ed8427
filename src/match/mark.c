/* SPDX-License-Identifier: BSD-2-Clause */
#include "match/mark.h"
#include "match/table_ops.h"
#include "sys/pool.h"

static struct wf_match_mark *mark_new(struct wf_match *m)
{
	if (wf_unlikely(!m->marks)) {
		m->marks = malloc(sizeof(*m->marks));
		if (!m->marks)
			return NULL;
		wf_pool_init(m->marks, sizeof(struct wf_match_mark));
	}
	return wf_pool_get(m->marks);
}

bool wf_match_mark_add(
	struct wf_match *m, struct wf_match_index *x, struct wf_match_message *msg)
{
	struct wf_match_mark *mark = mark_new(m);
	struct wf_match_node *node;

	if (wf_unlikely(!mark))
		return false;
	mark->message = msg;
	mark->index = x;
	mark->sibling = msg->marks;
	msg->marks = mark;
	node = &mark->node;
	node->tag = wf_match_tag(msg);
	node->addr = wf_match_addr(msg);
	wf_match_table_add(
		&x->table, node, wf_match_table_hash(&x->table, node->tag, node->addr));
	return true;
}

struct wf_match_mark **wf_match_mark_find(
	struct wf_match_message *msg, const struct wf_match_index *x)
{
	struct wf_match_mark **link = &msg->marks;

	while (*link && (*link)->index != x)
		link = &(*link)->sibling;
	return link;
}

void wf_match_mark_drop(struct wf_match *m, struct wf_match_mark **link)
{
	struct wf_match_mark *mark = *link;
	struct wf_match_table *t = &mark->index->table;
	struct wf_match_node *node = &mark->node;

	*link = mark->sibling;
	wf_match_table_remove(t, node, wf_match_table_hash(t, node->tag, node->addr));
	wf_pool_put(m->marks, mark);
}

void wf_match_marks_done(struct wf_match *m)
{
	if (!m->marks)
		return;
	wf_pool_done(m->marks);
	free(m->marks);
	m->marks = NULL;
}
