/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Posted receives.
 *
 * The receives of one (ignore, directed or not) pair form a group, a hash table over
 * what such a receive compares: the tag without the ignored bits and, when directed,
 * the source. A message is looked up once in each group that has receives, and the
 * oldest of what is found there is its match. Receives of one key leave in the order in
 * which they came, so the first of a key is the oldest of it.
 *
 * In a list beside the groups are a few receives while there are no others, for a table
 * costs more than a look at each, and those for which no group could be had.
 */
#include "match/posted.h"
#include "match/halves.h"

static struct wf_match_group *group_set(struct wf_match *m, unsigned int bit,
	struct wf_match_group *g, uint64_t ignore, bool directed)
{
	wf_match_table_init(&g->table, NULL, ignore, directed);
	g->bit = (uint8_t)bit;
	m->groups[bit] = g;
	return g;
}

void wf_match_posted_init(struct wf_match *m)
{
	wf_list_init(&m->posted);
	m->beside.before = m->beside.after = &m->beside;
	m->recent = group_set(m, 0, &m->exact, 0, false);
	m->group_count = 1;
}

void wf_match_posted_done(struct wf_match *m)
{
	for (unsigned int i = 0; i < m->group_count; i++) {
		wf_match_table_done(&m->groups[i]->table);
		if (m->groups[i] != &m->exact)
			free(m->groups[i]);
	}
}

/* A new group, or one without receives that now serves another pair. */
static struct wf_match_group *group_add(
	struct wf_match *m, uint64_t ignore, bool directed)
{
	struct wf_match_group *g = NULL;

	if (m->group_count < WF_MATCH_MAX_PAIRS)
		g = malloc(sizeof(*g));
	if (g)
		return group_set(m, m->group_count++, g, ignore, directed);
	for (unsigned int i = 1; i < m->group_count; i++) {
		g = m->groups[i];
		if (g->table.keys)
			continue;
		wf_match_table_done(&g->table);
		return group_set(m, i, g, ignore, directed);
	}
	return NULL;
}

static inline bool group_serves(
	const struct wf_match_group *g, uint64_t ignore, bool directed)
{
	return g->table.ignore == ignore && !g->table.any == directed;
}

/* The group of that pair where it is not the recent one; NULL: there can be no more. */
static __attribute__((noinline)) struct wf_match_group *group_other(
	struct wf_match *m, uint64_t ignore, bool directed)
{
	struct wf_match_group *g;

	for (unsigned int i = 0; i < m->group_count; i++) {
		g = m->groups[i];
		if (group_serves(g, ignore, directed))
			return m->recent = g;
	}
	g = group_add(m, ignore, directed);
	if (g)
		m->recent = g;
	return g;
}

void wf_match_group_post(
	struct wf_match *m, struct wf_match_entry *e, uint64_t tag, uint64_t addr)
{
	struct wf_match_group *g = m->recent;

	if (wf_unlikely(!group_serves(g, e->ignore, addr != WF_MATCH_ANY)))
		g = group_other(m, e->ignore, addr != WF_MATCH_ANY);
	if (wf_unlikely(!g)) {
		wf_match_beside_post(m, e);
		return;
	}
	e->group = g;
	e->hash = wf_match_table_hash(&g->table, tag, addr);
	wf_match_table_add(&g->table, &e->node, e->hash);
	m->live |= UINT32_C(1) << g->bit;
}

void wf_match_group_unpost(struct wf_match *m, struct wf_match_entry *e)
{
	struct wf_match_group *g = e->group;

	wf_match_table_remove(&g->table, &e->node, e->hash);
	if (!g->table.keys)
		m->live &= ~(UINT32_C(1) << g->bit);
}

/* In one group: NULL also where a message of unknown source meets directed receives. */
static inline struct wf_match_entry *search_group(
	const struct wf_match_group *g, uint64_t tag, uint64_t addr)
{
	struct wf_match_node *node;

	if (!g->table.any && addr == WF_MATCH_ANY)
		return NULL;
	node = wf_match_table_find(&g->table, tag, addr);
	return node ? wf_match_entry_of(node) : NULL;
}

struct wf_match_entry *wf_match_group_search(const struct wf_match *m, uint64_t tag,
	uint64_t addr, struct wf_match_entry *best)
{
	struct wf_match_entry *e;

	for (uint32_t live = m->live & ~WF_MATCH_BESIDE; live; live &= live - 1) {
		e = search_group(m->groups[__builtin_ctz(live)], tag, addr);
		if (e && (!best || e->stamp < best->stamp))
			best = e;
	}
	return best;
}

void wf_match_post(struct wf_match *m, struct wf_match_entry *e, uint64_t tag,
	uint64_t ignore, uint64_t addr)
{
	wf_match_post_inline(m, e, tag, ignore, addr);
}

void wf_match_unpost(struct wf_match *m, struct wf_match_entry *e)
{
	wf_match_unpost_inline(m, e);
}

struct wf_match_entry *wf_match_search_posted(
	const struct wf_match *m, uint64_t tag, uint64_t addr)
{
	return wf_match_search_posted_inline(m, tag, addr);
}
