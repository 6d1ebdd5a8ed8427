/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_MATCH_MATCH_H
#define WF_MATCH_MATCH_H

#include <assert.h>
#include <stdbool.h>
#include <stdint.h>

#include "match/table.h"
#include "sys/compiler.h"
#include "sys/list.h"

/*
 * The matching engine: posted receives on one side, unexpected messages on the other.
 * It moves no data and knows no fids; its user embeds an entry in whatever stands for a
 * receive. What stands for a message begins with a smaller one, is an object of a pool
 * with handles (sys/pool.h), and is referred to by its handle, a uint32_t: 0 is none.
 * A receive matches a message when
 *
 *	(receive tag | ignore) == (message tag | ignore)
 *
 * and the receive is undirected (addr WF_MATCH_ANY) or its addr is the message's. A
 * message whose source is not known has addr WF_MATCH_ANY too, and matches undirected
 * receives only. The oldest match wins, on both sides, exactly.
 *
 * Usage:
 *   a receive is posted     msg = wf_match_take_unexpected(); if none wf_match_post()
 *   a message arrives       e = wf_match_take_posted(); if none wf_match_queue()
 *   multi-receive           wf_match_find_posted(), and wf_match_unpost() when full
 *   peek                    wf_match_find_unexpected()
 *   claim, discard          the same, then wf_match_unqueue(): the message is the
 *                           caller's and matches nothing more
 *   cancel                  wf_match_unpost()
 *   an address is learnt    wf_match_foreach_unspec() { wf_match_resolve() }
 *   an address is removed   wf_match_foreach_unexpected() { wf_match_forget() }
 * Untagged receives and messages use an engine of their own, tag 0 and ignore 0.
 *
 * Cost: constant in the number of entries; proportional to the number of distinct
 * (ignore, directed or not) pairs among the posted receives for a message, and among
 * the searches under way for an unexpected message that leaves. Beyond
 * WF_MATCH_MAX_PAIRS such pairs at one time the receives of the further pairs are kept
 * in, and unexpected messages for them are looked for in, one ordered list; so are
 * up to WF_MATCH_FEW_POSTED receives while there are no others. Looking for messages of
 * unknown source costs as much as arrived behind the oldest of them.
 *
 * Nothing here fails. Memory is asked for only to go faster: when there is none, lists
 * are searched instead.
 *
 * The caller serialises calls on one struct wf_match.
 */

/* The same value as FI_ADDR_UNSPEC and FI_ADDR_NOTAVAIL. */
#define WF_MATCH_ANY UINT64_MAX

#define WF_MATCH_MAX_PAIRS  16
#define WF_MATCH_BESIDE     (UINT32_C(1) << WF_MATCH_MAX_PAIRS)
#define WF_MATCH_FEW_POSTED 4

struct wf_match_group;
struct wf_match_marks;

/*
 * Embedded by the owner of a receive; needs no initialisation, may be freed or used
 * again once it left the engine. The fields are the engine's own.
 */
struct wf_match_entry {
	struct wf_match_node node; /* in the table of its group, or beside the groups */
	struct wf_list order;      /* all, oldest first */
	uint64_t ignore;
	uint64_t stamp;
	struct wf_match_group *group; /* NULL: beside the groups */
	uint32_t hash;                /* in the table of its group */
};

/* The same for a message. There may be millions, so it is small. */
struct wf_match_message {
	struct wf_match_compact_node node; /* in the first index; after 0: not there */
	uint32_t older, newer;             /* in order of arrival */
};

/* Posted receives of one (ignore, directed or not) pair. */
struct wf_match_group {
	struct wf_match_table table;
	uint8_t bit; /* in wf_match.live */
};

/* Unexpected messages for one such pair; see unexpected.c. */
struct wf_match_index {
	struct wf_list item; /* in wf_match.indexes */
	uint32_t last;       /* of the messages that it has passed; 0: none */
	uint64_t used;       /* wf_match.stamp at its latest use */
	struct wf_match_compact table;
};

struct wf_match {
	/* Posted receives. Groups whose bit is set in live have some, the others
	 * wait to be used again for their own or another pair. */
	uint32_t live; /* and WF_MATCH_BESIDE: there are some beside them */
	uint32_t beside_count;
	uint32_t group_count;
	uint64_t stamp;                /* receives and messages that ever came */
	struct wf_match_group *recent; /* the group of the latest post */
	struct wf_list posted;
	/* A few, and those that found no group: a ring that begins and ends here. */
	struct wf_match_node beside;

	/* Unexpected messages. The list is the truth, the indexes are lazy. */
	struct wf_handles *handles;
	uint64_t unexpected_count, unspec_count;
	uint32_t oldest, latest;
	struct wf_list indexes; /* latest used first */
	struct wf_match_index *recent_index;
	uint32_t index_count;
	bool first_used;
	struct wf_match_marks *marks; /* NULL: there are none */

	struct wf_match_group *groups[WF_MATCH_MAX_PAIRS];
	struct wf_match_group exact; /* groups[0], there without allocation */
	struct wf_match_index first; /* the index that needs no marks */
};

static_assert(sizeof(struct wf_match) <= 640, "an idle engine stays small");
static_assert(sizeof(struct wf_match_entry) <= 88, "embedded in every receive");
static_assert(sizeof(struct wf_match_message) == 32, "embedded in every message");

/* @handles is that of the messages, and lasts longer. */
void wf_match_init(struct wf_match *m, struct wf_handles *handles);

/* Frees what the engine allocated. Entries still in it are forgotten, not touched. */
void wf_match_done(struct wf_match *m);

/* ---- posted receives ---- */

/* Add a receive behind all others. Only the bits of @tag outside @ignore count. */
void wf_match_post(struct wf_match *m, struct wf_match_entry *e, uint64_t tag,
	uint64_t ignore, uint64_t addr);

/* Take a receive out, whether it matched or was cancelled. */
void wf_match_unpost(struct wf_match *m, struct wf_match_entry *e);

struct wf_match_entry *wf_match_search_posted(
	const struct wf_match *m, uint64_t tag, uint64_t addr);

/* The oldest posted receive for this message, left in its place; NULL if none. */
static inline struct wf_match_entry *wf_match_find_posted(
	const struct wf_match *m, uint64_t tag, uint64_t addr)
{
	return m->live ? wf_match_search_posted(m, tag, addr) : NULL;
}

static inline struct wf_match_entry *wf_match_take_posted(
	struct wf_match *m, uint64_t tag, uint64_t addr)
{
	struct wf_match_entry *e = wf_match_find_posted(m, tag, addr);

	if (e)
		wf_match_unpost(m, e);
	return e;
}

/* ---- unexpected messages ---- */

/* Sources that a message can have, but for WF_MATCH_ANY. */
static inline bool wf_match_addr_fits(uint64_t addr)
{
	return addr <= INT32_MAX;
}

static inline struct wf_match_message *wf_match_message_at(
	const struct wf_match *m, uint32_t msg)
{
	return wf_pool_at(m->handles, msg);
}

/* Add a message behind all others. @addr fits, or is WF_MATCH_ANY. */
void wf_match_queue(struct wf_match *m, uint32_t msg, uint64_t tag, uint64_t addr);

/* Take a message out: received, claimed or discarded. */
void wf_match_unqueue(struct wf_match *m, uint32_t msg);

uint32_t wf_match_search_unexpected(
	struct wf_match *m, uint64_t tag, uint64_t ignore, uint64_t addr);

/* The oldest message for this receive, left in its place; 0 if none. */
static inline uint32_t wf_match_find_unexpected(
	struct wf_match *m, uint64_t tag, uint64_t ignore, uint64_t addr)
{
	return m->unexpected_count ? wf_match_search_unexpected(m, tag, ignore, addr)
				   : 0;
}

static inline uint32_t wf_match_take_unexpected(
	struct wf_match *m, uint64_t tag, uint64_t ignore, uint64_t addr)
{
	uint32_t msg = wf_match_find_unexpected(m, tag, ignore, addr);

	if (msg)
		wf_match_unqueue(m, msg);
	return msg;
}

/* As given to wf_match_queue, or changed since. */
static inline uint64_t wf_match_tag(const struct wf_match_message *msg)
{
	return msg->node.tag;
}

static inline uint64_t wf_match_addr(const struct wf_match_message *msg)
{
	return wf_match_compact_addr(&msg->node);
}

/* The source of a message queued without one is now known; it keeps its place in the
 * order of arrival. @addr fits. Only within wf_match_foreach_unspec, which gets the
 * indexes out of the way, and with no search in between. */
void wf_match_resolve(struct wf_match *m, uint32_t msg, uint64_t addr);

/* The other way about: the source is not known any more. */
void wf_match_forget(struct wf_match *m, uint32_t msg);

/* ---- walks, oldest first ---- */

/* The body may take the current entry out, free it, resolve it; no other one. */
#define wf_match_foreach_posted(e, m)                                                  \
	for (struct wf_match_entry *e =                                                \
			wf_list_entry((m)->posted.next, struct wf_match_entry, order), \
				   *e##_next = wf_list_entry(e->order.next,            \
					   struct wf_match_entry, order);              \
		&e->order != &(m)->posted;                                             \
		e = e##_next, e##_next = wf_list_entry(                                \
				      e->order.next, struct wf_match_entry, order))

/* The one that came behind @msg, or first of all behind 0; 0: none did. */
static inline uint32_t wf_match_newer(const struct wf_match *m, uint32_t msg)
{
	return msg ? wf_match_message_at(m, msg)->newer : m->oldest;
}

/* The oldest message whose source is not known, and the next such behind @msg. */
uint32_t wf_match_unspec_first(struct wf_match *m);
uint32_t wf_match_unspec_behind(struct wf_match *m, uint32_t msg);

#define WF_MATCH_WALK(msg, m, first, next)                                             \
	for (uint32_t msg = (first), msg##_next = msg ? next(m, msg) : 0; msg;         \
		msg = msg##_next, msg##_next = msg ? next(m, msg) : 0)

/* The body may do the same as above to the current message. */
#define wf_match_foreach_unexpected(msg, m)                                            \
	WF_MATCH_WALK(msg, m, (m)->oldest, wf_match_newer)
#define wf_match_foreach_unspec(msg, m)                                                \
	WF_MATCH_WALK(msg, m, wf_match_unspec_first(m), wf_match_unspec_behind)

#endif
