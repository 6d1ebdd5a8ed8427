/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unexpected messages.
 *
 * They are one list in order of arrival, and a message that arrives is put at its end;
 * nothing else happens, for nobody knows yet which receive will ask for it. Receives
 * ask by any ignore mask, with or without a source. For each such pair that is in use
 * there is an index, a hash table like that of posted receives, over a beginning of the
 * list, up to and including @last. A search looks into the table, and what it finds
 * there is older than everything behind @last. If it finds nothing it walks the list
 * from there on, and takes what it passes into the index. So each message is passed
 * once for each pair in use, however many there are and however often it is searched
 * for.
 *
 * An index that is not used any more costs nothing to messages that arrive; it gives
 * back its memory by retreating from its end, a few messages at a time.
 *
 * A message of unknown source is passed by directed indexes without being taken in, and
 * is put into its place there when the source becomes known.
 */
#include "match/sides.h"
#include "match/slab.h"
#include "match/table_ops.h"

/* So few messages are searched one by one. */
#define SHORT 4
/* An index is idle that was not used while so many receives and messages came. */
#define IDLE 4096
/* An idle index gives back this much whenever another one grows by one message ... */
#define RETREAT_SLOWLY 2
/* ... and this much whenever a search has to do without an index. */
#define RETREAT_FAST 128

struct wf_match_index {
	struct wf_list item; /* in wf_match.indexes */
	uint64_t ignore;
	bool directed;
	uint64_t used; /* wf_match.stamp at its latest use */
	struct wf_list *last;
	struct wf_match_table table;
};

static struct wf_match_index *index_of(struct wf_list *item)
{
	return wf_list_entry(item, struct wf_match_index, item);
}

static struct wf_match_entry *entry_of(struct wf_list *order)
{
	return wf_list_entry(order, struct wf_match_entry, order);
}

static struct wf_match_mark *mark_of(struct wf_match_node *node)
{
	return wf_container_of(node, struct wf_match_mark, node);
}

void wf_match_unexpected_init(struct wf_match *m)
{
	wf_list_init(&m->unexpected);
	wf_list_init(&m->unspec);
	wf_list_init(&m->indexes);
	wf_list_init(&m->slabs);
}

void wf_match_unexpected_done(struct wf_match *m)
{
	wf_list_foreach_safe(item, &m->indexes)
	{
		struct wf_match_index *x = index_of(item);

		wf_match_table_done(&x->table);
		free(x);
	}
	wf_list_init(&m->indexes);
	wf_match_slabs_done(&m->slabs);
}

/* ---- a message in an index ---- */

static struct wf_match_mark *mark_new(
	struct wf_match *m, struct wf_match_index *x, struct wf_match_entry *e)
{
	struct wf_match_mark *mark = wf_match_mark_alloc(&m->slabs);

	if (wf_unlikely(!mark))
		return NULL;
	mark->node.tag = e->node.tag & ~x->ignore;
	mark->node.addr = x->directed ? e->node.addr : WF_MATCH_ANY;
	mark->entry = e;
	mark->index = x;
	mark->sibling = e->marks;
	e->marks = mark;
	return mark;
}

static void mark_drop(struct wf_match *m, struct wf_match_mark *mark)
{
	wf_match_table_remove(&mark->index->table, &mark->node);
	wf_match_mark_free(&m->slabs, mark);
}

static void retreat(struct wf_match *m, struct wf_match_index *x)
{
	struct wf_match_entry *e = entry_of(x->last);
	struct wf_match_mark **link = &e->marks, *mark;

	x->last = e->order.prev;
	while ((mark = *link) && mark->index != x)
		link = &mark->sibling;
	if (mark) {
		*link = mark->sibling;
		mark_drop(m, mark);
	}
}

/* The index not used for longest, if it is idle, gives back up to @count places, and
 * itself when none is left. */
static void retreat_idle(struct wf_match *m, int count)
{
	struct wf_match_index *x = index_of(m->indexes.prev);

	if (m->stamp - x->used < IDLE)
		return;
	while (count-- && x->last != &m->unexpected)
		retreat(m, x);
	if (x->last != &m->unexpected)
		return;
	m->indexes.prev = x->item.prev;
	m->indexes.prev->next = &m->indexes;
	m->index_count--;
	wf_match_table_done(&x->table);
	free(x);
}

/* Extend @x by the message behind its last one; false when there is no memory. */
static bool advance(
	struct wf_match *m, struct wf_match_index *x, struct wf_match_entry *e)
{
	struct wf_match_mark *mark;

	if (!x->directed || !wf_match_entry_unspec(e)) {
		mark = mark_new(m, x, e);
		if (wf_unlikely(!mark))
			return false;
		wf_match_table_add(&x->table, &mark->node);
	}
	x->last = &e->order;
	retreat_idle(m, RETREAT_SLOWLY);
	return true;
}

/* ---- indexes ---- */

static struct wf_match_index *index_add(
	struct wf_match *m, uint64_t ignore, bool directed)
{
	struct wf_match_index *x;

	if (m->index_count == WF_MATCH_MAX_PAIRS) {
		/* Time passes here too, or searches alone would never make one idle. */
		m->stamp++;
		retreat_idle(m, RETREAT_FAST);
		if (m->index_count == WF_MATCH_MAX_PAIRS)
			return NULL;
	}
	x = malloc(sizeof(*x));
	if (!x)
		return NULL;
	wf_match_table_init(&x->table);
	x->ignore = ignore;
	x->directed = directed;
	x->last = &m->unexpected;
	wf_list_insert_after(&m->indexes, &x->item);
	m->index_count++;
	return x;
}

static __attribute__((noinline)) struct wf_match_index *index_get(
	struct wf_match *m, uint64_t ignore, bool directed)
{
	wf_list_foreach(item, &m->indexes)
	{
		struct wf_match_index *x = index_of(item);

		if (x->ignore == ignore && x->directed == directed) {
			wf_list_remove(item);
			wf_list_insert_after(&m->indexes, item);
			return x;
		}
	}
	return index_add(m, ignore, directed);
}

/* ---- searching ---- */

static bool matches(
	const struct wf_match_entry *e, uint64_t tag, uint64_t ignore, uint64_t addr)
{
	return !((e->node.tag ^ tag) & ~ignore) &&
	       (addr == WF_MATCH_ANY || e->node.addr == addr);
}

static __attribute__((noinline)) struct wf_match_entry *scan(const struct wf_match *m,
	struct wf_list *from, uint64_t tag, uint64_t ignore, uint64_t addr)
{
	for (struct wf_list *it = from; it != &m->unexpected; it = it->next)
		if (matches(entry_of(it), tag, ignore, addr))
			return entry_of(it);
	return NULL;
}

/* Nothing up to x->last matches: look further, and take along what is passed. */
static __attribute__((noinline)) struct wf_match_entry *walk_on(
	struct wf_match *m, struct wf_match_index *x, uint64_t tag, uint64_t addr)
{
	struct wf_list *it;

	while ((it = x->last->next) != &m->unexpected) {
		if (matches(entry_of(it), tag, x->ignore, addr))
			return entry_of(it);
		if (wf_unlikely(!advance(m, x, entry_of(it))))
			return scan(m, it, tag, x->ignore, addr);
	}
	return NULL;
}

struct wf_match_entry *wf_match_search_unexpected(
	struct wf_match *m, uint64_t tag, uint64_t ignore, uint64_t addr)
{
	bool directed = addr != WF_MATCH_ANY;
	struct wf_match_index *x;
	struct wf_match_node *node;
	struct wf_match_entry *e;

	if (m->unexpected_count <= SHORT)
		return scan(m, m->unexpected.next, tag, ignore, addr);
	x = index_of(m->indexes.next);
	if (wf_list_empty(&m->indexes) || x->ignore != ignore ||
		x->directed != directed)
		x = index_get(m, ignore, directed);
	if (wf_unlikely(!x))
		return scan(m, m->unexpected.next, tag, ignore, addr);
	x->used = m->stamp;
	if (x->table.keys) {
		node = wf_match_table_find(&x->table, tag & ~ignore, addr);
		if (node)
			return mark_of(node)->entry;
	}
	e = entry_of(x->last->next);
	if (&e->order != &m->unexpected && matches(e, tag, ignore, addr))
		return e;
	return walk_on(m, x, tag, addr);
}

/* ---- messages come, go, become known ---- */

void wf_match_queue(
	struct wf_match *m, struct wf_match_entry *e, uint64_t tag, uint64_t addr)
{
	e->node.tag = tag;
	e->node.addr = addr;
	e->stamp = m->stamp++;
	e->marks = NULL;
	wf_list_push(&m->unexpected, &e->order);
	m->unexpected_count++;
	if (addr == WF_MATCH_ANY)
		wf_list_push(&m->unspec, &e->node.ring);
}

/* No index may end at a message that leaves; those that it is in are found by its
 * marks, but it is in none of the directed ones while its source is not known. */
static __attribute__((noinline)) void leave_unspec(
	struct wf_match *m, struct wf_match_entry *e)
{
	wf_list_remove(&e->node.ring);
	wf_list_foreach(item, &m->indexes) if (index_of(item)->last == &e->order)
		index_of(item)
			->last = e->order.prev;
}

static __attribute__((noinline)) void leave_indexes(
	struct wf_match *m, struct wf_match_entry *e)
{
	struct wf_match_mark *mark, *next;

	for (mark = e->marks; mark; mark = next) {
		next = mark->sibling;
		if (mark->index->last == &e->order)
			mark->index->last = e->order.prev;
		mark_drop(m, mark);
	}
}

void wf_match_unqueue(struct wf_match *m, struct wf_match_entry *e)
{
	if (e->marks)
		leave_indexes(m, e);
	if (wf_match_entry_unspec(e))
		leave_unspec(m, e);
	e->order.prev->next = e->order.next;
	e->order.next->prev = e->order.prev;
	m->unexpected_count--;
}

static bool passed(
	struct wf_match *m, struct wf_match_index *x, struct wf_match_entry *e)
{
	return x->last != &m->unexpected && entry_of(x->last)->stamp >= e->stamp;
}

static uint64_t stamp_of(struct wf_list *ring)
{
	return mark_of(wf_list_entry(ring, struct wf_match_node, ring))->entry->stamp;
}

/* Into the ring of its key at the place that its arrival gives; mostly the end. */
static void file_by_stamp(struct wf_match_index *x, struct wf_match_mark *mark)
{
	struct wf_match_node *first =
		wf_match_table_find(&x->table, mark->node.tag, mark->node.addr);
	struct wf_list *pos;

	if (!first) {
		wf_match_table_add(&x->table, &mark->node);
		return;
	}
	mark->node.link = NULL;
	pos = first->ring.prev;
	while (pos != &first->ring && stamp_of(pos) > mark->entry->stamp)
		pos = pos->prev;
	if (stamp_of(pos) > mark->entry->stamp) {
		pos = pos->prev;
		wf_match_table_replace(first, &mark->node);
	}
	wf_list_insert_after(pos, &mark->node.ring);
}

void wf_match_resolve(struct wf_match *m, struct wf_match_entry *e, uint64_t addr)
{
	assert(wf_match_entry_unspec(e) && addr != WF_MATCH_ANY);
	wf_list_remove(&e->node.ring);
	e->node.addr = addr;
	wf_list_foreach(item, &m->indexes)
	{
		struct wf_match_index *x = index_of(item);
		struct wf_match_mark *mark;

		if (!x->directed || !passed(m, x, e))
			continue;
		mark = mark_new(m, x, e);
		if (mark)
			file_by_stamp(x, mark);
		else
			while (passed(m, x, e))
				retreat(m, x);
	}
}
