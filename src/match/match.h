/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_MATCH_MATCH_H
#define WF_MATCH_MATCH_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "match/table.h"
#include "sys/compiler.h"
#include "sys/list.h"

/*
 * The matching engine: posted receives and unexpected messages. It moves no data and
 * knows no fids; its user embeds an entry in the object of a receive. The object of a
 * message begins with a smaller entry, comes from a pool with handles (sys/pool.h), and
 * is referred to by its handle, a uint32_t: 0 is none. A receive matches a message when
 *
 *	(receive tag | ignore) == (message tag | ignore)
 *
 * and the receive is undirected (addr WF_MATCH_ANY) or its addr is the message's. A
 * message whose source is not known has addr WF_MATCH_ANY as well, and matches
 * undirected receives only. Of several matching receives, or messages, the oldest is
 * always chosen.
 *
 * Usage:
 *   a receive is posted     msg = wf_match_take_unexpected(); if none wf_match_post()
 *   a message arrives       e = wf_match_take_posted(); if none wf_match_queue()
 *   multi-receive           wf_match_find_posted(), and wf_match_unpost() when full
 *   peek                    wf_match_find_unexpected()
 *   claim, discard          the same, then wf_match_unqueue(): the message is the
 *                           caller's and matches nothing more
 *   cancel                  wf_match_unpost()
 *   all are cancelled       wf_match_list_posted()
 *   an address is learnt    wf_match_foreach_unspec() { wf_match_resolve() }
 *   an address is removed   wf_match_foreach_unexpected() { wf_match_forget() }
 * Untagged receives and messages use an engine of their own, tag 0 and ignore 0.
 *
 * Cost: constant in the number of entries. For an arriving message it is proportional
 * to the number of distinct (ignore, directed or not) pairs among the posted receives;
 * for an unexpected message that leaves, to the number of such pairs that searches use.
 * Receives of more than WF_MATCH_MAX_PAIRS pairs at one time are kept in one ordered
 * list, and unexpected messages for them are searched in one; so are up to
 * WF_MATCH_FEW_POSTED receives while there are no others. A search for messages of
 * unknown source passes all messages that arrived after the oldest of these.
 *
 * No call fails. Memory is allocated only for speed: without it, lists are searched.
 *
 * The caller serialises calls on one struct wf_match.
 */

/* The same value as FI_ADDR_UNSPEC and FI_ADDR_NOTAVAIL. */
#define WF_MATCH_ANY UINT64_MAX

#define WF_MATCH_MAX_PAIRS  16
#define WF_MATCH_UNGROUPED  (UINT32_C(1) << WF_MATCH_MAX_PAIRS)
#define WF_MATCH_FEW_POSTED 4

struct wf_match_group;
struct wf_match_marks;

/*
 * Embedded in the object of a receive; needs no initialisation, may be freed or used
 * again once it left the engine. The fields are private to the engine.
 */
struct wf_match_entry {
	/* In the table of its group, or in wf_match.ungrouped. */
	struct wf_match_node node;
	/* For wf_match_list_posted only; the user's while the receive is not posted. */
	struct wf_list order;
	uint64_t ignore;              /* bits of the tag that are not compared */
	uint64_t stamp;               /* wf_match.stamp when it was posted: its age */
	struct wf_match_group *group; /* NULL: in wf_match.ungrouped */
	uint32_t hash;                /* hash of its key in the table of its group */
};

/* At the beginning of the object of a message. There may be millions, so it is
 * small. */
struct wf_match_message {
	/* Node in wf_match.first; node.after is 0: not in that index. */
	struct wf_match_compact_node node;
	/* Handles of the neighbours in order of arrival; 0: none. */
	uint32_t older, newer;
};

/* Posted receives of one (ignore, directed or not) pair. */
struct wf_match_group {
	struct wf_match_table table; /* its receives by tag and source */
	/* The first receive of the key that was posted or matched last;
	 * wf_match_no_key: no receive of that key is left. So receives of one key that
	 * are posted and matched one after the other need neither hash nor bucket. */
	struct wf_match_node *last_key;
	uint32_t bit; /* the group's bit in wf_match.live */
};

/* An index of unexpected messages for one (ignore, directed or not) pair; see
 * unexpected.c. */
struct wf_match_index {
	struct wf_list item; /* in wf_match.indexes */
	/* Handle of the latest message that the index covers; 0: none. */
	uint32_t last;
	uint64_t used;                 /* wf_match.stamp at its latest use */
	struct wf_match_compact table; /* its messages by tag and source */
};

struct wf_match {
	/* Posted receives. @live has the bits of groups that have receives, and
	 * WF_MATCH_UNGROUPED if @ungrouped has some. An empty group may serve another
	 * pair. */
	uint32_t live;
	uint32_t ungrouped_count; /* receives in @ungrouped */
	uint32_t group_count;     /* groups in @groups */
	/* Number of receives posted and messages queued so far; runs free. */
	uint64_t stamp;
	struct wf_match_group *recent; /* the group of the latest post */
	/* Receives without a group, by node.ungrouped: a few while there are no others,
	 * and receives whose group could not be made. */
	struct wf_list ungrouped;

	/* Unexpected messages: a list in order of arrival, of which each index covers a
	 * beginning. */
	struct wf_handles *handles; /* handles of the pool of messages */
	/* Messages in the list; those of unknown source among them. */
	uint64_t unexpected_count, unspec_count;
	uint32_t oldest, latest;             /* handles of messages; 0: none */
	struct wf_list indexes;              /* latest used first */
	struct wf_match_index *recent_index; /* the index that was used last */
	uint32_t index_count;                /* indexes in @indexes */
	bool first_used;                     /* @first is in @indexes */
	struct wf_match_marks *marks;        /* NULL: no index but @first was needed */

	struct wf_match_group *groups[WF_MATCH_MAX_PAIRS]; /* by bit in @live */
	struct wf_match_group exact; /* groups[0], without an allocation */
	struct wf_match_index first; /* the index that needs no marks */
};

static_assert(sizeof(struct wf_match) <= 640, "an idle engine stays small");
static_assert(sizeof(struct wf_match_entry) <= 88, "embedded in every receive");
static_assert(sizeof(struct wf_match_message) == 32, "embedded in every message");

/* @handles: the handles of the pool of messages; must outlive @m. */
void wf_match_init(struct wf_match *m, struct wf_handles *handles);

/* Free the engine's memory. Entries that are still in it are not touched. */
void wf_match_done(struct wf_match *m);

/* ---- posted receives ---- */

/* Add a receive as the latest. Only the bits of @tag outside of @ignore count. */
void wf_match_post(struct wf_match *m, struct wf_match_entry *e, uint64_t tag,
	uint64_t ignore, uint64_t addr);

/* Remove a receive that matched or was cancelled. */
void wf_match_unpost(struct wf_match *m, struct wf_match_entry *e);

struct wf_match_entry *wf_match_search_posted(
	const struct wf_match *m, uint64_t tag, uint64_t addr);

/* The oldest posted receive that matches, which stays posted; NULL if none. */
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

/* May a message have this source? WF_MATCH_ANY is allowed as well. */
static inline bool wf_match_addr_fits(uint64_t addr)
{
	return addr <= INT32_MAX;
}

static inline struct wf_match_message *wf_match_message_at(
	const struct wf_match *m, uint32_t msg)
{
	return wf_pool_at(m->handles, msg);
}

/* Add a message as the latest. wf_match_addr_fits(@addr), or @addr is WF_MATCH_ANY. */
void wf_match_queue(struct wf_match *m, uint32_t msg, uint64_t tag, uint64_t addr);

/* Remove a message that was received, claimed or discarded. */
void wf_match_unqueue(struct wf_match *m, uint32_t msg);

uint32_t wf_match_search_unexpected(
	struct wf_match *m, uint64_t tag, uint64_t ignore, uint64_t addr);

/* The handle of the oldest message that matches, which stays queued; 0 if none. */
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

/* Tag and source, as given to wf_match_queue or changed since. */
static inline uint64_t wf_match_tag(const struct wf_match_message *msg)
{
	return msg->node.tag;
}

static inline uint64_t wf_match_addr(const struct wf_match_message *msg)
{
	return wf_match_compact_addr(&msg->node);
}

/* The source of a message that was queued without one is now known; the order of
 * arrival does not change. wf_match_addr_fits(@addr). Only within
 * wf_match_foreach_unspec, which makes directed indexes retreat first, and without a
 * search in between. */
void wf_match_resolve(struct wf_match *m, uint32_t msg, uint64_t addr);

/* The source of a message is not known any more. */
void wf_match_forget(struct wf_match *m, uint32_t msg);

/* ---- walks, oldest first ---- */

/* Make @list the list of all posted receives, by their member order. It is sorted for
 * this call, and valid until the next call. Posting pays nothing for it. */
void wf_match_list_posted(struct wf_match *m, struct wf_list *list);

/* Walk the list that wf_match_list_posted made. The body may remove and free the
 * current entry; no other one. */
#define wf_match_foreach_listed(e, list)                                               \
	for (struct wf_match_entry *e =                                                \
			wf_list_entry((list)->next, struct wf_match_entry, order),     \
				   *e##_next = wf_list_entry(e->order.next,            \
					   struct wf_match_entry, order);              \
		&e->order != (list);                                                   \
		e = e##_next, e##_next = wf_list_entry(                                \
				      e->order.next, struct wf_match_entry, order))

/* The message that came next after @msg, or the oldest of all after 0; 0: none. */
static inline uint32_t wf_match_newer(const struct wf_match *m, uint32_t msg)
{
	return msg ? wf_match_message_at(m, msg)->newer : m->oldest;
}

/* The oldest message of unknown source, and the next one after @msg; 0: none. */
uint32_t wf_match_unspec_first(struct wf_match *m);
uint32_t wf_match_unspec_behind(struct wf_match *m, uint32_t msg);

#define WF_MATCH_WALK(msg, m, first, next)                                             \
	for (uint32_t msg = (first), msg##_next = msg ? next(m, msg) : 0; msg;         \
		msg = msg##_next, msg##_next = msg ? next(m, msg) : 0)

/* The body may remove, free or resolve the current message; no other one. */
#define wf_match_foreach_unexpected(msg, m)                                            \
	WF_MATCH_WALK(msg, m, (m)->oldest, wf_match_newer)
#define wf_match_foreach_unspec(msg, m)                                                \
	WF_MATCH_WALK(msg, m, wf_match_unspec_first(m), wf_match_unspec_behind)

#endif
