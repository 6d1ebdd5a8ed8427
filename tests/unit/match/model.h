/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_MATCH_MODEL_H
#define TESTS_UNIT_MATCH_MODEL_H

/*
 * Random operations, drawn from a source of numbers (a generator, or a fuzzer's bytes),
 * that are executed on an engine and on a simple model: two arrays in order, searched
 * from the front. After each operation both must have had the same result.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "match/match.h"

struct source {
	uint64_t (*next)(struct source *src);
};

struct item {
	struct wf_match_entry entry; /* for a receive */
	struct message *message;     /* for a message */
	uint64_t tag, ignore, addr;  /* as passed to the engine */
	uint64_t source;             /* source of a message, which resolving returns */
	unsigned int room;           /* messages that a receive can still take */
};

/* A message as the engine knows it. */
struct message {
	struct wf_match_message match;
	struct item *item;
};

struct side {
	struct item **items;
	size_t count, size;
};

struct world {
	struct wf_match match;
	struct wf_handles handles;
	struct wf_pool messages;
	size_t kept;
	struct side posted, unexpected, claimed;
	struct source *src;
	/* The distribution of the numbers in operations, which is changed now and
	 * then. */
	uint64_t tag_mask;
	unsigned int mask_count, addr_count;
	size_t target;
	const char *wrong; /* the first difference */
};

/* Memory of the model itself never runs out. */
#ifndef PLENTY
#define PLENTY(what) what
#endif

#define WRONG(w, what)                                                                 \
	do {                                                                           \
		if (!(w)->wrong)                                                       \
			(w)->wrong = (what);                                           \
	} while (0)

static void side_push(struct side *s, struct item *it)
{
	if (s->count == s->size) {
		s->size = s->size ? 2 * s->size : 64;
		s->items = realloc(s->items, s->size * sizeof(struct item *));
		if (!s->items)
			abort();
	}
	s->items[s->count++] = it;
}

static void side_drop(struct side *s, size_t at)
{
	s->count--;
	memmove(s->items + at, s->items + at + 1, (s->count - at) * sizeof(*s->items));
}

static size_t side_find(const struct side *s, const struct item *it)
{
	size_t i = 0;

	while (i < s->count && s->items[i] != it)
		i++;
	return i;
}

static bool rule(const struct item *recv, uint64_t tag, uint64_t addr)
{
	return (recv->tag | recv->ignore) == (tag | recv->ignore) &&
	       (recv->addr == WF_MATCH_ANY || recv->addr == addr);
}

static struct item *model_posted(const struct world *w, uint64_t tag, uint64_t addr)
{
	for (size_t i = 0; i < w->posted.count; i++)
		if (rule(w->posted.items[i], tag, addr))
			return w->posted.items[i];
	return NULL;
}

static struct item *model_unexpected(const struct world *w, const struct item *recv)
{
	for (size_t i = 0; i < w->unexpected.count; i++)
		if (rule(recv, w->unexpected.items[i]->tag,
			    w->unexpected.items[i]->addr))
			return w->unexpected.items[i];
	return NULL;
}

static struct item *item_of(struct wf_match_entry *e)
{
	return e ? wf_container_of(e, struct item, entry) : NULL;
}

static struct item *item_at(const struct world *w, uint32_t msg)
{
	struct message *message;

	if (!msg)
		return NULL;
	message = (struct message *)(void *)wf_match_message_at(&w->match, msg);
	return message->item;
}

static uint32_t name_of(const struct world *w, const struct item *it)
{
	return wf_pool_handle(&w->handles, it->message);
}

static void item_free(struct world *w, struct item *it)
{
	/* Overwrite what the engine must not read any more. */
	if (it->message) {
		memset(it->message, 0xa5, sizeof(*it->message));
		wf_pool_put(&w->messages, it->message);
	}
	memset(it, 0xa5, sizeof(*it));
	free(it);
}

static uint64_t draw(struct world *w, uint64_t below)
{
	return w->src->next(w->src) % below;
}

static uint64_t draw_tag(struct world *w)
{
	return w->src->next(w->src) & w->tag_mask;
}

static uint64_t draw_ignore(struct world *w)
{
	static const uint64_t common[] = { 0, 0, 0, 0x0f, UINT64_MAX, 0xf0 };
	uint64_t n = draw(w, w->mask_count + 1);

	return n < WF_ARRAY_SIZE(common) ? common[n] : n << (n % 5) | 1;
}

static uint64_t draw_addr(struct world *w)
{
	return draw(w, 3) ? draw(w, w->addr_count) : WF_MATCH_ANY;
}

static struct item *item_new(struct world *w)
{
	struct item *it = malloc(sizeof(*it));

	if (!it)
		abort();
	memset(it, 0x5a, sizeof(*it));
	it->message = NULL;
	it->tag = draw_tag(w);
	it->addr = draw_addr(w);
	return it;
}

static struct item *receive_new(struct world *w)
{
	struct item *it = item_new(w);

	it->ignore = draw_ignore(w);
	it->room = draw(w, 8) ? 1 : 1 + (unsigned int)draw(w, 6);
	return it;
}

/* ---- operations ---- */

static void post(struct world *w, struct item *it)
{
	wf_match_post(&w->match, &it->entry, it->tag, it->ignore, it->addr);
	side_push(&w->posted, it);
}

static void queue(struct world *w, struct item *it)
{
	PLENTY(it->message = wf_pool_get(&w->messages));
	if (!it->message)
		abort();
	memset(it->message, 0x5a, sizeof(*it->message));
	it->message->item = it;
	wf_match_queue(&w->match, name_of(w, it), it->tag, it->addr);
	side_push(&w->unexpected, it);
}

static void op_receive(struct world *w)
{
	struct item *it = receive_new(w), *want, *got;

	do {
		want = model_unexpected(w, it);
		got = item_at(w, wf_match_take_unexpected(
					 &w->match, it->tag, it->ignore, it->addr));
		if (want != got) {
			WRONG(w, "receive");
			return;
		}
		if (!got) {
			post(w, it);
			return;
		}
		side_drop(&w->unexpected, side_find(&w->unexpected, got));
		item_free(w, got);
	} while (--it->room);
	item_free(w, it);
}

static void op_arrive(struct world *w)
{
	struct item *it = item_new(w), *want, *got;

	it->source = it->addr == WF_MATCH_ANY ? draw(w, w->addr_count) : it->addr;
	want = model_posted(w, it->tag, it->addr);
	got = item_of(wf_match_find_posted(&w->match, it->tag, it->addr));
	if (want != got) {
		WRONG(w, "arrival");
	} else if (!got) {
		queue(w, it);
		return;
	} else if (!--got->room) {
		wf_match_unpost(&w->match, &got->entry);
		side_drop(&w->posted, side_find(&w->posted, got));
		item_free(w, got);
	}
	item_free(w, it);
}

static void op_post_unasked(struct world *w)
{
	post(w, receive_new(w));
}

static void op_queue_unasked(struct world *w)
{
	struct item *it = item_new(w);

	it->source = it->addr == WF_MATCH_ANY ? draw(w, w->addr_count) : it->addr;
	queue(w, it);
}

static struct item *peek(struct world *w)
{
	struct item recv, *want, *got;

	recv.tag = draw_tag(w);
	recv.ignore = draw_ignore(w);
	recv.addr = draw_addr(w);
	want = model_unexpected(w, &recv);
	got = item_at(w,
		wf_match_find_unexpected(&w->match, recv.tag, recv.ignore, recv.addr));
	if (want == got)
		return got;
	WRONG(w, "peek");
	return NULL;
}

static void op_peek(struct world *w)
{
	(void)peek(w);
}

static void op_claim(struct world *w)
{
	struct item *it = peek(w);

	if (!it)
		return;
	wf_match_unqueue(&w->match, name_of(w, it));
	side_drop(&w->unexpected, side_find(&w->unexpected, it));
	side_push(&w->claimed, it);
	if (w->claimed.count > 16) {
		item_free(w, w->claimed.items[0]);
		side_drop(&w->claimed, 0);
	}
}

static void op_discard(struct world *w)
{
	struct item *it = peek(w);

	if (!it)
		return;
	wf_match_unqueue(&w->match, name_of(w, it));
	side_drop(&w->unexpected, side_find(&w->unexpected, it));
	item_free(w, it);
}

static void op_cancel(struct world *w)
{
	size_t at;

	if (!w->posted.count)
		return;
	at = draw(w, w->posted.count);
	wf_match_unpost(&w->match, &w->posted.items[at]->entry);
	item_free(w, w->posted.items[at]);
	side_drop(&w->posted, at);
}

/* Remove messages from anywhere, as when an endpoint of a shared context closes. */
static void op_drop(struct world *w)
{
	size_t at;

	if (!w->unexpected.count)
		return;
	at = draw(w, w->unexpected.count);
	wf_match_unqueue(&w->match, name_of(w, w->unexpected.items[at]));
	item_free(w, w->unexpected.items[at]);
	side_drop(&w->unexpected, at);
}

static void op_resolve(struct world *w)
{
	uint64_t source = draw(w, w->addr_count);
	size_t at = 0;

	wf_match_foreach_unspec(e, &w->match)
	{
		while (at < w->unexpected.count &&
			w->unexpected.items[at]->addr != WF_MATCH_ANY)
			at++;
		if (at == w->unexpected.count ||
			item_at(w, e) != w->unexpected.items[at]) {
			WRONG(w, "walk of unknown sources");
			return;
		}
		at++;
		if (item_at(w, e)->source != source)
			continue;
		wf_match_resolve(&w->match, e, source);
		item_at(w, e)->addr = source;
	}
	for (; at < w->unexpected.count; at++)
		if (w->unexpected.items[at]->addr == WF_MATCH_ANY)
			WRONG(w, "walk of unknown sources ended early");
}

/* An address is removed: the source of its messages is unknown again. */
static void op_forget(struct world *w)
{
	uint64_t source = draw(w, w->addr_count);
	size_t at = 0;

	wf_match_foreach_unexpected(e, &w->match)
	{
		struct item *it = w->unexpected.items[at++];

		if (item_at(w, e) != it) {
			WRONG(w, "walk of messages to forget");
			return;
		}
		if (it->addr != source || draw(w, 2))
			continue;
		wf_match_forget(&w->match, e);
		it->source = draw(w, w->addr_count);
		it->addr = WF_MATCH_ANY;
	}
}

static void op_walk(struct world *w)
{
	struct wf_list list;
	size_t at = 0;

	if (w->match.unexpected_count != w->unexpected.count)
		WRONG(w, "count of unexpected messages");
	if (!w->match.live != !w->posted.count)
		WRONG(w, "groups with receives");
	wf_match_list_posted(&w->match, &list);
	wf_match_foreach_listed(e,
		&list) if (at >= w->posted.count || item_of(e) != w->posted.items[at++])
		WRONG(w, "walk of posted receives");
	if (at != w->posted.count)
		WRONG(w, "walk of posted receives ended early");
	at = 0;
	wf_match_foreach_unexpected(
		e, &w->match) if (at >= w->unexpected.count ||
				  item_at(w, e) != w->unexpected.items[at++])
		WRONG(w, "walk of unexpected messages");
	if (at != w->unexpected.count)
		WRONG(w, "walk of unexpected messages ended early");
}

static void side_clear(struct world *w, struct side *s)
{
	while (s->count)
		item_free(w, s->items[--s->count]);
}

/* Remove everything by the functions for closing; sometimes the engine is closed as
 * well. */
static void op_drain(struct world *w)
{
	struct wf_list list;

	op_walk(w);
	if (draw(w, 2)) {
		wf_match_list_posted(&w->match, &list);
		wf_match_foreach_listed(e, &list) wf_match_unpost(&w->match, e);
		wf_match_foreach_unexpected(e, &w->match)
			wf_match_unqueue(&w->match, e);
	} else {
		wf_match_done(&w->match);
		wf_match_init(&w->match, &w->handles);
	}
	side_clear(w, &w->posted);
	side_clear(w, &w->unexpected);
}

/* Change the distribution: few or many tags, masks, sources, entries. */
static void op_season(struct world *w)
{
	static const uint64_t tag_masks[] = { 0, 3, 0x1f, 0xff, 0xfff, UINT64_MAX };
	static const size_t targets[] = { 2, 2, 8, 8, 8, 40, 40, 40, 40, 200, 1000 };
	static const unsigned int masks[] = { 0, 2, 4, 5, 9, 40 };

	w->tag_mask = tag_masks[draw(w, WF_ARRAY_SIZE(tag_masks))];
	w->target = targets[draw(w, WF_ARRAY_SIZE(targets))];
	w->mask_count = masks[draw(w, WF_ARRAY_SIZE(masks))];
	w->addr_count = draw(w, 3) ? 3 : 50;
}

static void world_init(struct world *w, struct source *src)
{
	memset(w, 0, sizeof(*w));
	w->src = src;
	wf_pool_init_handles(
		&w->messages, sizeof(struct message), &w->kept, &w->handles);
	wf_match_init(&w->match, &w->handles);
	op_season(w);
}

static void world_done(struct world *w)
{
	wf_match_done(&w->match);
	side_clear(w, &w->posted);
	side_clear(w, &w->unexpected);
	side_clear(w, &w->claimed);
	wf_pool_done(&w->messages);
	free(w->posted.items);
	free(w->unexpected.items);
	free(w->claimed.items);
}

/* Do one operation; the weights keep the number of receives and messages near the
 * target. */
static void world_step(struct world *w)
{
	static const struct {
		void (*op)(struct world *w);
		unsigned int few, many; /* weights below and above the target */
	} ops[] = {
		{ op_receive, 300, 300 },
		{ op_arrive, 300, 300 },
		{ op_post_unasked, 120, 10 },
		{ op_queue_unasked, 120, 10 },
		{ op_peek, 60, 60 },
		{ op_claim, 20, 80 },
		{ op_discard, 20, 80 },
		{ op_cancel, 30, 120 },
		{ op_drop, 10, 40 },
		{ op_resolve, 10, 10 },
		{ op_forget, 5, 5 },
	};
	bool many = w->posted.count > w->target || w->unexpected.count > w->target;
	unsigned int total = 0, n;

	for (size_t i = 0; i < WF_ARRAY_SIZE(ops); i++)
		total += many ? ops[i].many : ops[i].few;
	n = (unsigned int)draw(w, total);
	for (size_t i = 0; i < WF_ARRAY_SIZE(ops); i++) {
		unsigned int weight = many ? ops[i].many : ops[i].few;

		if (n < weight) {
			ops[i].op(w);
			return;
		}
		n -= weight;
	}
}

#endif
