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
 * Mostly one pair is in use. So one index, the first that was asked for, needs nothing
 * but a bucket for a message, which has room for its place there; the others allocate
 * marks.
 *
 * An index that is not used any more costs nothing to messages that arrive; it gives
 * back its memory by retreating from its end, a few messages at a time.
 *
 * A message of unknown source is passed by directed indexes without being taken in.
 * Before sources become known they retreat to before the oldest such message.
 */
#include "match/mark.h"
#include "match/sides.h"
#include "match/table_ops.h"

/* So few messages are searched one by one. */
#define SHORT 4
/* An index is idle that was not used while so many receives and messages came. */
#define IDLE 4096
/* An idle index gives back this much whenever another one grows by one message ... */
#define RETREAT_SLOWLY 2
/* ... and this much whenever a search has to do without an index. */
#define RETREAT_FAST 128

static struct wf_match_index *index_of(struct wf_list *item)
{
	return wf_list_entry(item, struct wf_match_index, item);
}

static struct wf_match_message *message_of(struct wf_list *order)
{
	return wf_list_entry(order, struct wf_match_message, order);
}

static struct wf_match_message *message_at(struct wf_match_node *node)
{
	return wf_container_of(node, struct wf_match_message, node);
}

static bool is_directed(const struct wf_match_index *x)
{
	return !x->table.any;
}

static bool is_unspec(const struct wf_match_message *msg)
{
	return msg->node.addr == WF_MATCH_ANY;
}

void wf_match_unexpected_init(struct wf_match *m)
{
	wf_list_init(&m->unexpected);
	wf_list_init(&m->indexes);
}

static void index_free(struct wf_match *m, struct wf_match_index *x)
{
	wf_match_table_done(&x->table);
	m->index_count--;
	if (x == &m->first) {
		m->first_used = false;
		return;
	}
	free(x);
	if (m->index_count == m->first_used)
		wf_match_marks_done(m);
}

void wf_match_unexpected_done(struct wf_match *m)
{
	wf_list_foreach_safe(item, &m->indexes) index_free(m, index_of(item));
	wf_list_init(&m->indexes);
}

/* ---- a message in the first index ---- */

static inline bool in_first(const struct wf_match_message *msg)
{
	return msg->node.ring.next;
}

static inline uint32_t first_hash(
	const struct wf_match *m, const struct wf_match_message *msg)
{
	return wf_match_table_hash(&m->first.table, msg->node.tag, msg->node.addr);
}

static void first_add(struct wf_match *m, struct wf_match_message *msg)
{
	wf_match_table_add(&m->first.table, &msg->node, first_hash(m, msg));
}

static void first_drop(struct wf_match *m, struct wf_match_message *msg)
{
	uint32_t hash = wf_match_table_needs_hash(&msg->node) ? first_hash(m, msg) : 0;

	wf_match_table_remove(&m->first.table, &msg->node, hash);
	msg->node.ring.next = NULL;
}

/* ---- a message in any index ---- */

static bool file(
	struct wf_match *m, struct wf_match_index *x, struct wf_match_message *msg)
{
	if (wf_unlikely(x != &m->first))
		return wf_match_mark_add(m, x, msg);
	first_add(m, msg);
	return true;
}

static void unfile(
	struct wf_match *m, struct wf_match_index *x, struct wf_match_message *msg)
{
	struct wf_match_mark **link;

	if (x == &m->first) {
		if (in_first(msg))
			first_drop(m, msg);
		return;
	}
	link = wf_match_mark_find(msg, x);
	if (*link)
		wf_match_mark_drop(m, link);
}

static void retreat(struct wf_match *m, struct wf_match_index *x)
{
	struct wf_match_message *msg = message_of(x->last);

	x->last = msg->order.prev;
	unfile(m, x, msg);
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
	index_free(m, x);
}

/* Extend @x by the message behind its last one; false when there is no memory. */
static bool advance(
	struct wf_match *m, struct wf_match_index *x, struct wf_match_message *msg)
{
	if (is_directed(x) && is_unspec(msg))
		x->last = &msg->order;
	else if (wf_likely(file(m, x, msg)))
		x->last = &msg->order;
	else
		return false;
	retreat_idle(m, RETREAT_SLOWLY);
	return true;
}

/* ---- indexes ---- */

static struct wf_match_index *index_new(struct wf_match *m)
{
	if (m->first_used)
		return malloc(sizeof(struct wf_match_index));
	m->first_used = true;
	return &m->first;
}

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
	x = index_new(m);
	if (!x)
		return NULL;
	wf_match_table_init(&x->table, ignore, directed);
	x->last = &m->unexpected;
	wf_list_insert_after(&m->indexes, &x->item);
	m->index_count++;
	return x;
}

static inline bool serves(
	const struct wf_match_index *x, uint64_t ignore, bool directed)
{
	return x->table.ignore == ignore && is_directed(x) == directed;
}

static __attribute__((noinline)) struct wf_match_index *index_get(
	struct wf_match *m, uint64_t ignore, bool directed)
{
	wf_list_foreach(item, &m->indexes)
	{
		if (!serves(index_of(item), ignore, directed))
			continue;
		wf_list_remove(item);
		wf_list_insert_after(&m->indexes, item);
		return index_of(item);
	}
	return index_add(m, ignore, directed);
}

/* ---- searching ---- */

static bool matches(const struct wf_match_message *msg, uint64_t tag, uint64_t ignore,
	uint64_t addr)
{
	return !((msg->node.tag ^ tag) & ~ignore) &&
	       (addr == WF_MATCH_ANY || msg->node.addr == addr);
}

static __attribute__((noinline)) struct wf_match_message *scan(const struct wf_match *m,
	struct wf_list *from, uint64_t tag, uint64_t ignore, uint64_t addr)
{
	for (struct wf_list *it = from; it != &m->unexpected; it = it->next)
		if (matches(message_of(it), tag, ignore, addr))
			return message_of(it);
	return NULL;
}

/* Nothing up to x->last matches: look further, and take along what is passed. */
static __attribute__((noinline)) struct wf_match_message *walk_on(
	struct wf_match *m, struct wf_match_index *x, uint64_t tag, uint64_t addr)
{
	struct wf_list *it;

	while ((it = x->last->next) != &m->unexpected) {
		if (matches(message_of(it), tag, x->table.ignore, addr))
			return message_of(it);
		if (wf_unlikely(!advance(m, x, message_of(it))))
			return scan(m, it, tag, x->table.ignore, addr);
	}
	return NULL;
}

static struct wf_match_message *found(
	struct wf_match *m, struct wf_match_index *x, struct wf_match_node *node)
{
	return x == &m->first
		       ? message_at(node)
		       : wf_container_of(node, struct wf_match_mark, node)->message;
}

struct wf_match_message *wf_match_search_unexpected(
	struct wf_match *m, uint64_t tag, uint64_t ignore, uint64_t addr)
{
	bool directed = addr != WF_MATCH_ANY;
	struct wf_match_index *x;
	struct wf_match_node *node;
	struct wf_match_message *msg;

	if (m->unexpected_count <= SHORT)
		return scan(m, m->unexpected.next, tag, ignore, addr);
	x = index_of(m->indexes.next);
	if (wf_list_empty(&m->indexes) || !serves(x, ignore, directed))
		x = index_get(m, ignore, directed);
	if (wf_unlikely(!x))
		return scan(m, m->unexpected.next, tag, ignore, addr);
	x->used = m->stamp;
	if (x->table.keys) {
		node = wf_match_table_find(&x->table, tag, addr);
		if (node)
			return found(m, x, node);
	}
	msg = message_of(x->last->next);
	if (&msg->order != &m->unexpected && matches(msg, tag, ignore, addr))
		return msg;
	return walk_on(m, x, tag, addr);
}

/* ---- messages come, go, become known ---- */

void wf_match_queue(
	struct wf_match *m, struct wf_match_message *msg, uint64_t tag, uint64_t addr)
{
	msg->node.tag = tag;
	msg->node.addr = addr;
	msg->node.ring.next = NULL;
	msg->marks = NULL;
	wf_list_push(&m->unexpected, &msg->order);
	m->unexpected_count++;
	m->stamp++;
	if (addr == WF_MATCH_ANY)
		m->unspec_count++;
}

/* No index may end at a message that leaves. Those that have taken it in are found by
 * its places in them, but that has no place in directed ones whose source is not known.
 */
static __attribute__((noinline)) void leave_unspec(
	struct wf_match *m, struct wf_match_message *msg)
{
	m->unspec_count--;
	wf_list_foreach(item, &m->indexes)
	{
		struct wf_match_index *x = index_of(item);

		if (x->last == &msg->order)
			x->last = msg->order.prev;
	}
}

static __attribute__((noinline)) void leave_first(
	struct wf_match *m, struct wf_match_message *msg)
{
	if (m->first.last == &msg->order)
		m->first.last = msg->order.prev;
	first_drop(m, msg);
}

static __attribute__((noinline)) void leave_marked(
	struct wf_match *m, struct wf_match_message *msg)
{
	while (msg->marks) {
		if (msg->marks->index->last == &msg->order)
			msg->marks->index->last = msg->order.prev;
		wf_match_mark_drop(m, &msg->marks);
	}
}

void wf_match_unqueue(struct wf_match *m, struct wf_match_message *msg)
{
	if (in_first(msg))
		leave_first(m, msg);
	if (msg->marks)
		leave_marked(m, msg);
	if (is_unspec(msg))
		leave_unspec(m, msg);
	msg->order.prev->next = msg->order.next;
	msg->order.next->prev = msg->order.prev;
	m->unexpected_count--;
}

static bool passed(const struct wf_match *m, const struct wf_match_index *x,
	const struct wf_match_message *msg)
{
	const struct wf_list *it = m->unexpected.prev;

	while (it != x->last && it != &msg->order)
		it = it->prev;
	return it == x->last;
}

void wf_match_forget(struct wf_match *m, struct wf_match_message *msg)
{
	assert(!is_unspec(msg));
	wf_list_foreach(item, &m->indexes) if (is_directed(index_of(item)))
		unfile(m, index_of(item), msg);
	msg->node.addr = WF_MATCH_ANY;
	m->unspec_count++;
}

/* Mostly they are among the latest: it is these whose senders are not known yet. */
static struct wf_match_message *unspec_first(const struct wf_match *m)
{
	struct wf_match_message *msg = NULL;
	struct wf_list *it = m->unexpected.prev;

	for (uint64_t left = m->unspec_count; left; it = it->prev) {
		msg = message_of(it);
		left -= is_unspec(msg);
	}
	return msg;
}

struct wf_match_message *wf_match_unspec_first(struct wf_match *m)
{
	struct wf_match_message *msg = unspec_first(m);

	wf_list_foreach(item, &m->indexes)
	{
		struct wf_match_index *x = index_of(item);

		if (!msg || !is_directed(x) || !passed(m, x, msg))
			continue;
		while (x->last != msg->order.prev)
			retreat(m, x);
	}
	return msg;
}

void wf_match_resolve(struct wf_match *m, struct wf_match_message *msg, uint64_t addr)
{
	assert(is_unspec(msg) && addr != WF_MATCH_ANY);
	msg->node.addr = addr;
	m->unspec_count--;
}

struct wf_match_message *wf_match_unspec_behind(
	struct wf_match *m, const struct wf_match_message *msg)
{
	struct wf_list *it;

	if (!msg)
		return NULL;
	for (it = msg->order.next; it != &m->unexpected; it = it->next)
		if (is_unspec(message_of(it)))
			return message_of(it);
	return NULL;
}
