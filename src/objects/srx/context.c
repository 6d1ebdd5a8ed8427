/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "objects/srx/internal.h"

/*
 * Index of posted receives by their context, for fi_cancel. The first search makes it,
 * of all receives that are posted. While it is there, receives are posted by the long
 * path, which adds them, and one that leaves the posted queue leaves the index. It is
 * dropped when many receives have been posted since the last search. So a program that
 * cancels nothing pays nothing, and one that cancels many receives does not walk all of
 * them each time.
 */

enum { FEW_POSTS = 1024 };

/* The index entry of a posted receive; the receive's owner_context points to it. */
struct indexed {
	struct wf_match_node node;
	struct wf_srx_entry *entry;
};

struct wf_srx_contexts {
	/* struct indexed of untagged and of tagged receives, by context. */
	struct wf_match_table msg, tag;
	struct wf_pool nodes; /* of struct indexed */
	size_t posts_left;    /* receives posted until the index is dropped */
};

void wf_srx_contexts_done(struct wf_srx *srx)
{
	struct wf_srx_contexts *contexts = srx->contexts;

	if (!contexts)
		return;
	wf_match_table_done(&contexts->msg);
	wf_match_table_done(&contexts->tag);
	wf_pool_done(&contexts->nodes);
	free(contexts);
	srx->contexts = NULL;
}

static struct wf_match_table *context_table_of(
	struct wf_srx_contexts *contexts, uint64_t type)
{
	return type & FI_TAGGED ? &contexts->tag : &contexts->msg;
}

static uint64_t context_key_of(const void *context)
{
	return (uint64_t)(uintptr_t)context;
}

static uint32_t context_hash_of(
	const struct wf_match_table *table, const struct wf_match_node *node)
{
	return wf_match_table_hash(table, node->tag, node->addr);
}

static bool context_index_add(
	struct wf_srx_contexts *contexts, struct wf_srx_entry *entry)
{
	struct wf_match_table *table = context_table_of(contexts, entry->peer.flags);
	struct indexed *indexed = wf_pool_get(&contexts->nodes);

	if (!indexed)
		return false;
	indexed->entry = entry;
	indexed->node.tag = context_key_of(entry->peer.context);
	indexed->node.addr = WF_MATCH_ANY;
	wf_match_table_add(
		table, &indexed->node, context_hash_of(table, &indexed->node));
	entry->peer.owner_context = indexed;
	entry->peer.flags |= WF_SRX_INDEXED;
	return true;
}

void wf_srx_index_remove(struct wf_srx *srx, struct wf_srx_entry *entry)
{
	struct wf_match_table *table =
		context_table_of(srx->contexts, entry->peer.flags);
	struct indexed *indexed = entry->peer.owner_context;

	wf_match_table_remove(
		table, &indexed->node, context_hash_of(table, &indexed->node));
	wf_pool_put(&srx->contexts->nodes, indexed);
	entry->peer.owner_context = NULL;
	entry->peer.flags &= ~WF_SRX_INDEXED;
}

static void context_unmark(struct wf_match *match)
{
	struct wf_list list;

	wf_match_list_posted(match, &list);
	wf_match_foreach_listed(posted, &list)
	{
		struct fi_peer_rx_entry *peer = &wf_srx_matched(posted)->peer;

		peer->owner_context = NULL;
		peer->flags &= ~WF_SRX_INDEXED;
	}
}

static void context_drop(struct wf_srx *srx)
{
	context_unmark(&srx->msg);
	context_unmark(&srx->tag);
	wf_srx_contexts_done(srx);
	wf_srx_settle_posts(srx);
}

static bool context_add_all(struct wf_srx_contexts *contexts, struct wf_match *match)
{
	struct wf_list list;

	wf_match_list_posted(match, &list);
	wf_match_foreach_listed(posted, &list)
	{
		if (!context_index_add(contexts, wf_srx_matched(posted)))
			return false;
	}
	return true;
}

/* False: no memory, there is no index. */
static bool context_make(struct wf_srx *srx)
{
	struct wf_srx_contexts *contexts = calloc(1, sizeof(*contexts));

	if (!contexts)
		return false;
	wf_match_table_init(&contexts->msg, NULL, 0, false);
	wf_match_table_init(&contexts->tag, NULL, 0, false);
	wf_pool_init(&contexts->nodes, sizeof(struct indexed));
	srx->contexts = contexts;
	if (!context_add_all(contexts, &srx->msg) ||
		!context_add_all(contexts, &srx->tag)) {
		context_drop(srx);
		return false;
	}
	wf_srx_settle_posts(srx);
	return true;
}

void wf_srx_index_post(struct wf_srx *srx, struct wf_srx_entry *entry)
{
	if (!srx->contexts->posts_left || !context_index_add(srx->contexts, entry))
		context_drop(srx);
	else
		srx->contexts->posts_left--;
}

static struct wf_srx_entry *context_scan(struct wf_match *match, const void *context)
{
	struct wf_list list;

	wf_match_list_posted(match, &list);
	wf_match_foreach_listed(posted, &list)
	{
		if (wf_srx_matched(posted)->peer.context == context)
			return wf_srx_matched(posted);
	}
	return NULL;
}

struct wf_srx_entry *wf_srx_find_posted(
	struct wf_srx *srx, uint64_t type, const void *context)
{
	struct wf_match_table *table;
	struct wf_match_node *node;

	if (!srx->contexts && !context_make(srx))
		return context_scan(wf_srx_engine(srx, type), context);
	/* Making the index anew takes time in proportion to the receives. */
	srx->contexts->posts_left = WF_MAX(FEW_POSTS, 2 * srx->posted);
	table = context_table_of(srx->contexts, type);
	node = wf_match_table_find(table, context_key_of(context), WF_MATCH_ANY);
	return node ? wf_container_of(node, struct indexed, node)->entry : NULL;
}
