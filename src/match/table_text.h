/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The text of a hash table, for two kinds of links: pointers (table.h), and the handles
 * of 32 bits that sys/pool.h has for objects (compact.h). No guard: it is included once
 * for each, behind table_is.h or compact_is.h, which define
 *
 *   T(name)            the names: struct T(), T(_find)() ...
 *   T_NODE             things, with the members tag, addr and next
 *   T_LINK             what refers to a node; 0: nothing
 *   T_BEHIND           a link that is no node's
 *   T_MEMBERS          further members of the table
 *   T_VIEW             what turns links into nodes
 *   T_VIEW_OF(t)       that of a table, while nothing is allocated
 *   T_AT(view, link)   the node
 *   T_ADDR(node)       its addr in 64 bits
 *   T_BEFORE(node), T_AFTER(node)   its neighbours in the ring
 *   T_JOIN(view, a, b)              makes them neighbours, @b after @a
 *   T_COPY(t)          what init keeps of the further members
 *
 * A node is filed under (tag, addr). Those of one key form a ring in the order in which
 * they were added; only the first of a ring stands in a bucket, so that many things of
 * one key never lengthen the way to another key.
 *
 * The table compares tags without the bits of @ignore, and sources unless @any says
 * that they do not count: 0, or all bits. Its growth and shrinking are spread over
 * later calls: while @old is set, the rings of its buckets below @moved are in @buckets
 * already. Memory that cannot be had makes it slower, never wrong. Never copied: it
 * points into itself. table_body.h has the rest of the text.
 */
#define WF_MATCH_FEW 8

struct T() {
	T_LINK *buckets;
	T_LINK *old;
	uint32_t mask, old_mask, moved;
	uint32_t keys;               /* rings, which is what fills buckets */
	uint32_t grow_at, shrink_at; /* act above, below that many keys */
	uint64_t ignore, any;
	T_MEMBERS
	T_LINK few[WF_MATCH_FEW];
};

/* A table of things with a source, or where @directed is false, of whatever source.
 * Further members are set before. */
void T(_init)(struct T() * t, uint64_t ignore, bool directed);

/* Forgets what is in it; the table is as after init. */
void T(_done)(struct T() * t);

/* Carry on with a resize under way, begin one that is due. */
void T(_grow)(struct T() * t);
void T(_shrink)(struct T() * t);

/* Of what the table compares; 32 bits are more than it has buckets for. */
static inline uint32_t T(_hash)(const struct T() * t, uint64_t tag, uint64_t addr)
{
	return (uint32_t)wf_match_hash(tag & ~t->ignore, addr | t->any);
}

static inline T_LINK *T(_bucket)(const struct T() * t, uint32_t hash)
{
	if (wf_unlikely(t->old) && (hash & t->old_mask) >= t->moved)
		return &t->old[hash & t->old_mask];
	return &t->buckets[hash & t->mask];
}

static inline bool T(_same)(
	const struct T() * t, const T_NODE *node, uint64_t tag, uint64_t addr)
{
	return !(((node->tag ^ tag) & ~t->ignore) | ((T_ADDR(node) ^ addr) & ~t->any));
}

static inline T_LINK T(_look)(
	const struct T() * t, T_LINK const *bucket, uint64_t tag, uint64_t addr)
{
	T_VIEW view = T_VIEW_OF(t);
	T_LINK link = *bucket;

	while (link && !T(_same)(t, T_AT(view, link), tag, addr))
		link = T_AT(view, link)->next;
	return link;
}

/* The first of the ring of that key, or 0. */
static inline T_LINK T(_find)(const struct T() * t, uint64_t tag, uint64_t addr)
{
	uint32_t hash = T(_hash)(t, tag, addr);

	return T(_look)(t, T(_bucket)(t, hash), tag, addr);
}

/* File @link, whose node has tag and addr set, behind those of its key. */
static inline void T(_add)(struct T() * t, T_LINK link, uint32_t hash)
{
	T_VIEW view = T_VIEW_OF(t);
	T_NODE *node = T_AT(view, link);
	T_LINK *bucket = T(_bucket)(t, hash);
	T_LINK first = T(_look)(t, bucket, node->tag, T_ADDR(node));

	if (first) {
		node->next = T_BEHIND;
		T_JOIN(view, T_BEFORE(T_AT(view, first)), link);
		T_JOIN(view, link, first);
		return;
	}
	T_JOIN(view, link, link);
	node->next = *bucket;
	*bucket = link;
	if (wf_unlikely(++t->keys > t->grow_at || t->old))
		T(_grow)(t);
}

/* Where @link, the first of its ring, hangs. */
static inline T_LINK *T(_hook)(const struct T() * t, T_LINK link, uint32_t hash)
{
	T_VIEW view = T_VIEW_OF(t);
	T_LINK *hook = T(_bucket)(t, hash);

	while (wf_unlikely(*hook != link))
		hook = &T_AT(view, *hook)->next;
	return hook;
}

/* Only the first of a ring is looked for by its hash. */
static inline bool T(_needs_hash)(const T_NODE *node)
{
	return node->next != T_BEHIND;
}

static inline void T(_remove)(struct T() * t, T_LINK link, uint32_t hash)
{
	T_VIEW view = T_VIEW_OF(t);
	T_NODE *node = T_AT(view, link);
	T_LINK second = T_AFTER(node);
	T_LINK *hook;

	if (second != link) {
		if (T(_needs_hash)(node)) {
			hook = T(_hook)(t, link, hash);
			T_AT(view, second)->next = node->next;
			*hook = second;
		}
		T_JOIN(view, T_BEFORE(node), second);
		return;
	}
	hook = T(_hook)(t, link, hash);
	*hook = node->next;
	if (wf_unlikely(--t->keys < t->shrink_at || t->old))
		T(_shrink)(t);
}

#include "match/text_end.h"
