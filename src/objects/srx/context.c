/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "objects/srx/internal.h"

/*
 * Index of posted receives by their context, for fi_cancel. Posting a receive does not
 * touch it: a search first adds the receives posted since the search before it. So each
 * receive is added once, however many searches there are, and a program that cancels
 * nothing has no index. A receive that leaves the posted queue leaves the index.
 */

/* The index entry of a posted receive; the receive's owner_context points to it. */
struct indexed {
	struct wf_match_node node;
	struct wf_srx_entry *entry;
};

/* The index of the receives of one matching engine. */
struct engine {
	struct wf_match_table table; /* struct indexed, by context */
	/* All posted receives with a lower match stamp are in @table. */
	uint64_t stamp;
};

struct wf_srx_contexts {
	struct engine msg, tag; /* of untagged and of tagged receives */
	struct wf_pool nodes;   /* of struct indexed */
};

static struct wf_srx_contexts *contexts_get(struct wf_srx *srx)
{
	struct wf_srx_contexts *contexts = srx->contexts;

	if (contexts)
		return contexts;
	contexts = calloc(1, sizeof(*contexts));
	if (!contexts)
		return NULL;
	wf_match_table_init(&contexts->msg.table, NULL, 0, false);
	wf_match_table_init(&contexts->tag.table, NULL, 0, false);
	wf_pool_init(&contexts->nodes, sizeof(struct indexed));
	return srx->contexts = contexts;
}

void wf_srx_contexts_done(struct wf_srx *srx)
{
	struct wf_srx_contexts *contexts = srx->contexts;

	if (!contexts)
		return;
	wf_match_table_done(&contexts->msg.table);
	wf_match_table_done(&contexts->tag.table);
	wf_pool_done(&contexts->nodes);
	free(contexts);
	srx->contexts = NULL;
}

static struct engine *engine_of(struct wf_srx_contexts *contexts, uint64_t type)
{
	return type & FI_TAGGED ? &contexts->tag : &contexts->msg;
}

static uint64_t key_of(const void *context)
{
	return (uint64_t)(uintptr_t)context;
}

static uint32_t hash_of(const struct engine *engine, const struct wf_match_node *node)
{
	return wf_match_table_hash(&engine->table, node->tag, node->addr);
}

static bool index_add(struct wf_srx_contexts *contexts, struct engine *engine,
	struct wf_srx_entry *entry)
{
	struct indexed *indexed = wf_pool_get(&contexts->nodes);

	if (!indexed)
		return false;
	indexed->entry = entry;
	indexed->node.tag = key_of(entry->peer.context);
	indexed->node.addr = WF_MATCH_ANY;
	wf_match_table_add(
		&engine->table, &indexed->node, hash_of(engine, &indexed->node));
	entry->peer.owner_context = indexed;
	entry->peer.flags |= WF_SRX_INDEXED;
	return true;
}

void wf_srx_index_remove(struct wf_srx *srx, struct wf_srx_entry *entry)
{
	struct engine *engine = engine_of(srx->contexts, entry->peer.flags);
	struct indexed *indexed = entry->peer.owner_context;

	wf_match_table_remove(
		&engine->table, &indexed->node, hash_of(engine, &indexed->node));
	wf_pool_put(&srx->contexts->nodes, indexed);
	entry->peer.owner_context = NULL;
	entry->peer.flags &= ~WF_SRX_INDEXED;
}

/* The oldest receive posted with @stamp or a higher one; the head of the list if there
 * is none. */
static struct wf_list *posted_since(struct wf_match *match, uint64_t stamp)
{
	struct wf_list *at = match->posted.prev;

	while (at != &match->posted &&
		wf_list_entry(at, struct wf_match_entry, order)->stamp >= stamp)
		at = at->prev;
	return at->next;
}

/* Add the receives posted since the last search. False: no memory, some are not in the
 * table. */
static bool add_new(
	struct wf_srx_contexts *contexts, struct engine *engine, struct wf_match *match)
{
	struct wf_list *at = posted_since(match, engine->stamp);

	for (; at != &match->posted; at = at->next) {
		struct wf_match_entry *posted =
			wf_list_entry(at, struct wf_match_entry, order);

		engine->stamp = posted->stamp;
		if (!index_add(contexts, engine, wf_srx_matched(posted)))
			return false;
	}
	engine->stamp = match->stamp;
	return true;
}

static struct wf_srx_entry *scan(struct wf_match *match, const void *context)
{
	wf_match_foreach_posted(posted, match)
	{
		if (wf_srx_matched(posted)->peer.context == context)
			return wf_srx_matched(posted);
	}
	return NULL;
}

struct wf_srx_entry *wf_srx_find_posted(
	struct wf_srx *srx, uint64_t type, const void *context)
{
	struct wf_match *match = wf_srx_engine(srx, type);
	struct wf_srx_contexts *contexts = contexts_get(srx);
	struct wf_match_node *node;
	struct engine *engine;

	if (!contexts)
		return scan(match, context);
	engine = engine_of(contexts, type);
	if (!add_new(contexts, engine, match))
		return scan(match, context);
	node = wf_match_table_find(&engine->table, key_of(context), WF_MATCH_ANY);
	return node ? wf_container_of(node, struct indexed, node)->entry : NULL;
}
