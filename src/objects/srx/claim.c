/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/srx/internal.h"

/* Messages reserved with FI_CLAIM match no receive. They are found by the context of
 * the call that reserved them; if the application used one context for several, the
 * oldest comes first. */

static uint64_t claim_key_of(const void *context)
{
	return (uint64_t)(uintptr_t)context;
}

static uint32_t claim_hash_of(
	const struct wf_srx *srx, const struct wf_match_node *node)
{
	return wf_match_table_hash(&srx->claims, node->tag, node->addr);
}

void wf_srx_claim(struct wf_srx *srx, struct wf_srx_entry *entry, void *context)
{
	struct wf_match_node *node = &entry->match.node;

	entry->peer.context = context;
	node->tag = claim_key_of(context);
	node->addr = WF_MATCH_ANY;
	wf_match_table_add(&srx->claims, node, claim_hash_of(srx, node));
	wf_list_push(&srx->claimed, &entry->match.order);
}

struct wf_srx_entry *wf_srx_find_claimed(const struct wf_srx *srx, const void *context)
{
	struct wf_match_node *node =
		wf_match_table_find(&srx->claims, claim_key_of(context), WF_MATCH_ANY);

	return node ? wf_container_of(node, struct wf_srx_entry, match.node) : NULL;
}

void wf_srx_unclaim(struct wf_srx *srx, struct wf_srx_entry *entry)
{
	struct wf_match_node *node = &entry->match.node;

	wf_match_table_remove(&srx->claims, node, claim_hash_of(srx, node));
	wf_list_remove(&entry->match.order);
}
