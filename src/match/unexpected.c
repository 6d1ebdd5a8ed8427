/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Unexpected messages.
 *
 * They are in one list in order of arrival. A message that arrives is only appended,
 * because it is not known which receive will ask for it. Receives ask with any ignore
 * mask, with or without a source. For each such pair that is in use there is an index,
 * a hash table like that of posted receives, which covers the list from its beginning
 * up to and including @last. A search looks into the table; a match there is older than
 * everything behind @last. If there is none the search walks the list behind @last, and
 * adds the messages that it passes to the index. So each message is passed once for
 * each pair in use, however many messages there are and however many searches.
 *
 * Mostly one pair is in use. So one index, the first that is needed, stores a message
 * without memory of its own, in the message's entry; the others allocate marks, which
 * record the indexes that a message is in (mark.h), and a table.
 *
 * An index that is no longer used costs arriving messages nothing; it gives its memory
 * back by retreating from its end, a few messages at a time.
 *
 * A directed index does not store messages of unknown source, although it covers them.
 * Before sources become known, directed indexes retreat to before the oldest such
 * message.
 */
#include "match/mark.h"
#include "match/halves.h"

/* Up to this number of messages are compared one by one, without an index. */
#define SHORT 4
/* An index is idle if it was not used while this number of receives and messages
 * came. */
#define IDLE 4096
/* Number of messages that an idle index gives back when another index grows by one, */
#define RETREAT_SLOWLY 2
/* and when a search found no index and could not make one. */
#define RETREAT_FAST 128

static struct wf_match_index *unexpected_index_of(struct wf_list *item)
{
	return wf_list_entry(item, struct wf_match_index, item);
}

static struct wf_match_message *unexpected_at(const struct wf_match *m, uint32_t msg)
{
	return wf_match_message_at(m, msg);
}

static struct wf_match_message *unexpected_message_in(
	struct wf_handles_view view, uint32_t msg)
{
	return wf_pool_view_at(view, msg);
}

static bool unexpected_is_directed(const struct wf_match_index *x)
{
	return !x->table.any;
}

static bool unexpected_is_unspec(const struct wf_match_message *msg)
{
	return msg->node.addr < 0;
}

/* m->recent_index is never NULL: it is the index that was used last, and that the next
 * search mostly wants. While the first index is not in use, its table.any is this
 * value, which no search has. */
#define UNUSED_INDEX 1

static void unexpected_first_unused(struct wf_match *m)
{
	m->first.table.any = UNUSED_INDEX;
	m->first_used = false;
}

static void unexpected_set_recent(struct wf_match *m)
{
	m->recent_index = wf_list_empty(&m->indexes)
				  ? &m->first
				  : unexpected_index_of(m->indexes.next);
}

void wf_match_unexpected_init(struct wf_match *m)
{
	wf_list_init(&m->indexes);
	unexpected_first_unused(m);
	unexpected_set_recent(m);
}

static void unexpected_index_free(struct wf_match *m, struct wf_match_index *x)
{
	wf_match_compact_done(&x->table);
	m->index_count--;
	if (x == &m->first) {
		unexpected_first_unused(m);
		return;
	}
	free(x);
	if (m->index_count == m->first_used)
		wf_match_marks_done(m);
}

void wf_match_unexpected_done(struct wf_match *m)
{
	wf_list_foreach_safe(item, &m->indexes)
		unexpected_index_free(m, unexpected_index_of(item));
	wf_list_init(&m->indexes);
	unexpected_set_recent(m);
}

/* ---- a message in the first index ---- */

static inline bool unexpected_in_first(const struct wf_match_message *msg)
{
	return msg->node.after;
}

static inline uint32_t unexpected_first_hash(
	const struct wf_match *m, const struct wf_match_message *msg)
{
	return wf_match_compact_hash(
		&m->first.table, wf_match_tag(msg), wf_match_addr(msg));
}

static void unexpected_first_drop(struct wf_match *m, uint32_t msg)
{
	struct wf_match_message *message = unexpected_at(m, msg);
	uint32_t hash = wf_match_compact_is_first(&m->first.table, msg)
				? unexpected_first_hash(m, message)
				: 0;

	wf_match_compact_remove(&m->first.table, msg, hash);
	message->node.after = 0;
}

/* ---- a message in any index ---- */

static bool unexpected_enter_index(
	struct wf_match *m, struct wf_match_index *x, uint32_t msg)
{
	if (wf_unlikely(x != &m->first))
		return wf_match_mark_add(m, x, msg);
	wf_match_compact_add(
		&x->table, msg, unexpected_first_hash(m, unexpected_at(m, msg)));
	return true;
}

static void unexpected_leave_index(
	struct wf_match *m, struct wf_match_index *x, uint32_t msg)
{
	struct wf_match_mark *mark;

	if (x == &m->first) {
		if (unexpected_in_first(unexpected_at(m, msg)))
			unexpected_first_drop(m, msg);
		return;
	}
	mark = wf_match_mark_find(m, x, msg);
	if (mark)
		wf_match_mark_drop(m, mark);
}

static void unexpected_retreat(struct wf_match *m, struct wf_match_index *x)
{
	uint32_t msg = x->last;

	x->last = unexpected_at(m, msg)->older;
	unexpected_leave_index(m, x, msg);
}

/* Make the index that was unused for longest, if it is idle, give back up to @count
 * messages; an empty one is freed. */
static void unexpected_retreat_idle(struct wf_match *m, int count)
{
	struct wf_match_index *x = unexpected_index_of(m->indexes.prev);

	if (m->stamp - x->used < IDLE)
		return;
	while (count-- && x->last)
		unexpected_retreat(m, x);
	if (x->last)
		return;
	wf_list_remove(&x->item);
	unexpected_index_free(m, x);
	unexpected_set_recent(m);
}

/* Extend @x by the message behind its last one; false when there is no memory. */
static bool unexpected_advance(
	struct wf_match *m, struct wf_match_index *x, uint32_t msg)
{
	if (!(unexpected_is_directed(x) &&
		    unexpected_is_unspec(unexpected_at(m, msg))) &&
		wf_unlikely(!unexpected_enter_index(m, x, msg)))
		return false;
	x->last = msg;
	unexpected_retreat_idle(m, RETREAT_SLOWLY);
	return true;
}

/* ---- indexes ---- */

static struct wf_match_index *unexpected_index_new(struct wf_match *m)
{
	struct wf_match_index *x = &m->first;

	if (m->first_used)
		x = malloc(sizeof(*x));
	m->first_used = true;
	return x;
}

static struct wf_match_index *unexpected_index_add(
	struct wf_match *m, uint64_t ignore, bool directed)
{
	struct wf_match_index *x;

	if (m->index_count == WF_MATCH_MAX_PAIRS) {
		/* Searches advance the stamp as well: otherwise searches alone would
		 * never make an index idle. */
		m->stamp++;
		unexpected_retreat_idle(m, RETREAT_FAST);
		if (m->index_count == WF_MATCH_MAX_PAIRS)
			return NULL;
	}
	x = unexpected_index_new(m);
	if (!x)
		return NULL;
	wf_match_compact_init(&x->table, m->handles, ignore, directed);
	x->last = 0;
	wf_list_insert_after(&m->indexes, &x->item);
	m->index_count++;
	unexpected_set_recent(m);
	return x;
}

static inline bool unexpected_serves(
	const struct wf_match_index *x, uint64_t ignore, uint64_t addr)
{
	return x->table.ignore == ignore &&
	       x->table.any == (addr == WF_MATCH_ANY ? UINT64_MAX : 0);
}

static struct wf_match_index *unexpected_index_get(
	struct wf_match *m, uint64_t ignore, uint64_t addr)
{
	wf_list_foreach(item, &m->indexes)
	{
		if (!unexpected_serves(unexpected_index_of(item), ignore, addr))
			continue;
		wf_list_remove(item);
		wf_list_insert_after(&m->indexes, item);
		unexpected_set_recent(m);
		return unexpected_index_of(item);
	}
	return unexpected_index_add(m, ignore, addr != WF_MATCH_ANY);
}

/* ---- searching ---- */

static bool unexpected_matches(const struct wf_match_message *msg, uint64_t tag,
	uint64_t ignore, uint64_t addr)
{
	return !((wf_match_tag(msg) ^ tag) & ~ignore) &&
	       (addr == WF_MATCH_ANY || wf_match_addr(msg) == addr);
}

static __attribute__((noinline)) uint32_t unexpected_scan(const struct wf_match *m,
	uint32_t from, uint64_t tag, uint64_t ignore, uint64_t addr)
{
	struct wf_handles_view view = wf_handles_view(m->handles);
	const struct wf_match_message *message;

	for (uint32_t msg = from; msg; msg = message->newer) {
		message = unexpected_message_in(view, msg);
		if (unexpected_matches(message, tag, ignore, addr))
			return msg;
	}
	return 0;
}

/* No message up to x->last matches: walk on, and add passed messages to the index. */
static __attribute__((noinline)) uint32_t unexpected_walk_on(
	struct wf_match *m, struct wf_match_index *x, uint64_t tag, uint64_t addr)
{
	uint32_t msg;

	while ((msg = wf_match_newer(m, x->last))) {
		if (unexpected_matches(
			    unexpected_at(m, msg), tag, x->table.ignore, addr))
			return msg;
		if (wf_unlikely(!unexpected_advance(m, x, msg)))
			return unexpected_scan(m, msg, tag, x->table.ignore, addr);
	}
	return 0;
}

static uint32_t unexpected_found(
	const struct wf_match *m, const struct wf_match_index *x, uint32_t link)
{
	const struct wf_match_mark *mark;

	if (x == &m->first)
		return link;
	mark = wf_container_of(
		wf_pool_at(m->handles, link), struct wf_match_mark, node);
	return mark->message;
}

/* Search the messages that @x does not cover. */
static inline uint32_t unexpected_search_behind(
	struct wf_match *m, struct wf_match_index *x, uint64_t tag, uint64_t addr)
{
	struct wf_handles_view view = wf_handles_view(m->handles);
	uint32_t msg =
		x->last ? unexpected_message_in(view, x->last)->newer : m->oldest;

	if (!msg || unexpected_matches(unexpected_message_in(view, msg), tag,
			    x->table.ignore, addr))
		return msg;
	return unexpected_walk_on(m, x, tag, addr);
}

/* @link: the first node of its bucket. */
static __attribute__((noinline)) uint32_t unexpected_search_bucket(struct wf_match *m,
	struct wf_match_index *x, uint64_t tag, uint64_t addr, uint32_t link)
{
	link = wf_match_compact_search(&x->table, link, tag, addr);
	return link ? unexpected_found(m, x, link)
		    : unexpected_search_behind(m, x, tag, addr);
}

static inline uint32_t unexpected_search(
	struct wf_match *m, struct wf_match_index *x, uint64_t tag, uint64_t addr)
{
	uint32_t hash, link;

	x->used = m->stamp;
	if (x->table.keys) {
		hash = wf_match_compact_hash(&x->table, tag, addr);
		link = *wf_match_compact_bucket(&x->table, hash);
		if (link)
			return unexpected_search_bucket(m, x, tag, addr, link);
	}
	return unexpected_search_behind(m, x, tag, addr);
}

static __attribute__((noinline)) uint32_t unexpected_search_other(
	struct wf_match *m, uint64_t tag, uint64_t ignore, uint64_t addr)
{
	struct wf_match_index *x = unexpected_index_get(m, ignore, addr);

	return x ? unexpected_search(m, x, tag, addr)
		 : unexpected_scan(m, m->oldest, tag, ignore, addr);
}

/* All calls are tail calls: no registers to save in the fast path. */
uint32_t wf_match_search_unexpected(
	struct wf_match *m, uint64_t tag, uint64_t ignore, uint64_t addr)
{
	const struct wf_match_message *oldest = unexpected_at(m, m->oldest);

	if (unexpected_matches(oldest, tag, ignore, addr))
		return m->oldest;
	if (m->unexpected_count <= SHORT)
		return unexpected_scan(m, oldest->newer, tag, ignore, addr);
	if (wf_unlikely(!unexpected_serves(m->recent_index, ignore, addr)))
		return unexpected_search_other(m, tag, ignore, addr);
	return unexpected_search(m, m->recent_index, tag, addr);
}

/* ---- messages come, go, become known ---- */

void wf_match_queue(struct wf_match *m, uint32_t msg, uint64_t tag, uint64_t addr)
{
	struct wf_handles_view view = wf_handles_view(m->handles);
	struct wf_match_message *message = unexpected_message_in(view, msg);

	assert(addr == WF_MATCH_ANY || wf_match_addr_fits(addr));
	message->node.tag = tag;
	message->node.addr = (int32_t)addr;
	message->node.after = 0;
	message->older = m->latest;
	message->newer = 0;
	if (m->latest)
		unexpected_message_in(view, m->latest)->newer = msg;
	else
		m->oldest = msg;
	m->latest = msg;
	m->unexpected_count++;
	m->stamp++;
	if (addr == WF_MATCH_ANY)
		m->unspec_count++;
}

/* Called before @msg leaves the list: if @x ends at @msg, it now ends at the message
 * before. The marks of @msg tell which indexes have it; for a message of unknown source
 * all indexes are passed, because a directed index covers it without a mark. */
static void unexpected_step_back(
	const struct wf_match *m, struct wf_match_index *x, uint32_t msg)
{
	if (x->last == msg)
		x->last = unexpected_at(m, msg)->older;
}

static __attribute__((noinline)) void unexpected_leave_unspec(
	struct wf_match *m, uint32_t msg)
{
	m->unspec_count--;
	wf_list_foreach(item, &m->indexes)
		unexpected_step_back(m, unexpected_index_of(item), msg);
}

static __attribute__((noinline)) void unexpected_leave_first(
	struct wf_match *m, uint32_t msg)
{
	unexpected_step_back(m, &m->first, msg);
	unexpected_first_drop(m, msg);
}

static __attribute__((noinline)) void unexpected_leave_marked(
	struct wf_match *m, uint32_t msg)
{
	struct wf_match_mark *mark;

	while ((mark = wf_match_mark_any(m, msg))) {
		unexpected_step_back(m, mark->index, msg);
		wf_match_mark_drop(m, mark);
	}
}

/* Remove @msg from the list. */
static inline void unexpected_unlink_message(struct wf_match *m, uint32_t msg)
{
	struct wf_handles_view view = wf_handles_view(m->handles);
	const struct wf_match_message *message = unexpected_message_in(view, msg);
	uint32_t older = message->older, newer = message->newer;

	if (older)
		unexpected_message_in(view, older)->newer = newer;
	else
		m->oldest = newer;
	if (newer)
		unexpected_message_in(view, newer)->older = older;
	else
		m->latest = older;
	m->unexpected_count--;
}

/* unexpected_unlink_message for a message that is in an index, or whose source is
 * unknown. */
static __attribute__((noinline)) void unexpected_leave_all(
	struct wf_match *m, uint32_t msg)
{
	if (unexpected_in_first(unexpected_at(m, msg)))
		unexpected_leave_first(m, msg);
	if (wf_unlikely(m->marks))
		unexpected_leave_marked(m, msg);
	if (unexpected_is_unspec(unexpected_at(m, msg)))
		unexpected_leave_unspec(m, msg);
	unexpected_unlink_message(m, msg);
}

/* The call is a tail call: no registers to save in the fast path. */
void wf_match_unqueue(struct wf_match *m, uint32_t msg)
{
	const struct wf_match_message *message = unexpected_at(m, msg);

	if (unexpected_in_first(message) || unexpected_is_unspec(message) || m->marks)
		unexpected_leave_all(m, msg);
	else
		unexpected_unlink_message(m, msg);
}

static bool unexpected_passed(
	const struct wf_match *m, const struct wf_match_index *x, uint32_t msg)
{
	uint32_t it = m->latest;

	while (it != x->last && it != msg)
		it = unexpected_at(m, it)->older;
	return it == x->last;
}

void wf_match_forget(struct wf_match *m, uint32_t msg)
{
	assert(!unexpected_is_unspec(unexpected_at(m, msg)));
	wf_list_foreach(item,
		&m->indexes) if (unexpected_is_directed(unexpected_index_of(item)))
		unexpected_leave_index(m, unexpected_index_of(item), msg);
	unexpected_at(m, msg)->node.addr = -1;
	m->unspec_count++;
}

/* Searched from the latest on: messages of unknown source are mostly among these,
 * because their senders were just met. */
static uint32_t unexpected_unspec_first(const struct wf_match *m)
{
	uint32_t msg = 0, it = m->latest;

	for (uint64_t left = m->unspec_count; left; it = unexpected_at(m, it)->older) {
		msg = it;
		left -= unexpected_is_unspec(unexpected_at(m, it));
	}
	return msg;
}

uint32_t wf_match_unspec_first(struct wf_match *m)
{
	uint32_t msg = unexpected_unspec_first(m);

	wf_list_foreach(item, &m->indexes)
	{
		struct wf_match_index *x = unexpected_index_of(item);

		if (!msg || !unexpected_is_directed(x) || !unexpected_passed(m, x, msg))
			continue;
		while (x->last != unexpected_at(m, msg)->older)
			unexpected_retreat(m, x);
	}
	return msg;
}

void wf_match_resolve(struct wf_match *m, uint32_t msg, uint64_t addr)
{
	assert(unexpected_is_unspec(unexpected_at(m, msg)) && wf_match_addr_fits(addr));
	unexpected_at(m, msg)->node.addr = (int32_t)addr;
	m->unspec_count--;
}

uint32_t wf_match_unspec_behind(struct wf_match *m, uint32_t msg)
{
	do {
		msg = unexpected_at(m, msg)->newer;
	} while (msg && !unexpected_is_unspec(unexpected_at(m, msg)));
	return msg;
}
