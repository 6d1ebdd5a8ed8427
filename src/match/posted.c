/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Posted receives.
 *
 * The receives of one (ignore, directed or not) pair form a group: a hash table whose
 * key has the values that such a receive compares: the tag without the ignored bits
 * and, if the receive is directed, the source. A message is looked up once in each
 * group that has receives; the oldest receive found is its match. Receives of one key
 * leave in the order in which they came, so only the first of a key has to be compared.
 *
 * Receives without a group are in one list: a few receives while there are no others,
 * because a table costs more than comparing each; and receives whose group could not be
 * made.
 */
#include "match/posted.h"
#include "match/halves.h"

/* No source is equal to it: wf_match_addr_fits, or WF_MATCH_ANY. */
struct wf_match_node wf_match_no_key = { .addr = WF_MATCH_ANY - 1 };

static struct wf_match_group *posted_group_set(struct wf_match *m, unsigned int bit,
	struct wf_match_group *g, uint64_t ignore, bool directed)
{
	wf_match_table_init(&g->table, NULL, ignore, directed);
	g->last_key = &wf_match_no_key;
	g->bit = UINT32_C(1) << bit;
	m->groups[bit] = g;
	return g;
}

void wf_match_posted_init(struct wf_match *m)
{
	wf_list_init(&m->ungrouped);
	m->recent = posted_group_set(m, 0, &m->exact, 0, false);
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

static inline bool posted_group_serves(
	const struct wf_match_group *g, uint64_t ignore, bool directed)
{
	return g->table.ignore == ignore && g->table.any == (directed ? 0 : UINT64_MAX);
}

/* A new group, or an empty one that is used for another pair. */
static struct wf_match_group *posted_group_add(
	struct wf_match *m, uint64_t ignore, bool directed)
{
	struct wf_match_group *g = NULL;

	if (m->group_count < WF_MATCH_MAX_PAIRS)
		g = malloc(sizeof(*g));
	if (g)
		return posted_group_set(m, m->group_count++, g, ignore, directed);
	for (unsigned int i = 1; i < m->group_count; i++) {
		g = m->groups[i];
		if (g->table.keys)
			continue;
		wf_match_table_done(&g->table);
		return posted_group_set(m, i, g, ignore, directed);
	}
	return NULL;
}

/* The group of a pair, which is not m->recent; NULL: there is none, and none can be
 * made. */
static struct wf_match_group *posted_group_other(
	struct wf_match *m, uint64_t ignore, bool directed)
{
	struct wf_match_group *g;

	for (unsigned int i = 0; i < m->group_count; i++) {
		g = m->groups[i];
		if (posted_group_serves(g, ignore, directed))
			return m->recent = g;
	}
	g = posted_group_add(m, ignore, directed);
	if (g)
		m->recent = g;
	return g;
}

/* wf_match_group_post to @g. */
static inline void posted_group_post(struct wf_match *m, struct wf_match_group *g,
	struct wf_match_entry *e, uint64_t tag, uint64_t addr)
{
	e->group = g;
	m->live |= g->bit;
	e->hash = wf_match_table_hash(&g->table, tag, addr);
	g->last_key = wf_match_table_put(&g->table, &e->node, e->hash);
	wf_match_table_grow_if_due(&g->table);
}

/* wf_match_group_post to a group that is not m->recent. */
static __attribute__((noinline)) void posted_post_other(struct wf_match *m,
	struct wf_match_entry *e, uint64_t tag, uint64_t ignore, uint64_t addr)
{
	struct wf_match_group *g = posted_group_other(m, ignore, addr != WF_MATCH_ANY);

	if (g)
		posted_group_post(m, g, e, tag, addr);
	else
		wf_match_ungrouped_post(m, e);
}

void wf_match_group_post(struct wf_match *m, struct wf_match_entry *e, uint64_t tag,
	uint64_t ignore, uint64_t addr)
{
	struct wf_match_group *g = m->recent;

	if (wf_unlikely(!posted_group_serves(g, ignore, addr != WF_MATCH_ANY)))
		posted_post_other(m, e, tag, ignore, addr);
	else
		posted_group_post(m, g, e, tag, addr);
}

__attribute__((noinline)) struct wf_match_entry *wf_match_group_lookup(
	const struct wf_match_group *g, uint64_t tag, uint64_t addr)
{
	struct wf_match_node *node = wf_match_table_find_key(&g->table, tag, addr);

	return node ? wf_match_entry_of(node) : NULL;
}

__attribute__((noinline)) struct wf_match_entry *wf_match_search_groups(
	const struct wf_match *m, uint64_t tag, uint64_t addr)
{
	struct wf_match_entry *e, *best = NULL;

	if (m->live & WF_MATCH_UNGROUPED)
		best = wf_match_ungrouped_search(m, tag, addr);
	for (uint32_t live = m->live & ~WF_MATCH_UNGROUPED; live; live &= live - 1) {
		e = wf_match_group_find(m->groups[__builtin_ctz(live)], tag, addr);
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
