/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_PROVIDERS_COLL_NODES_H
#define WF_PROVIDERS_COLL_NODES_H

#include "providers/coll/group.h"

/*
 * Which members of a group share memory. All members divide it alike, by the cards that
 * they exchanged. The endpoint's lock is held.
 */

/* Divide @group into nodes: the card of a member is @cards[rank], NULL if it has none.
 * Fills group->nodes. -FI_ENOMEM. */
int coll_nodes_divide(
	struct coll_group *group, const struct coll_node_card *const *cards);

/* Is this member alone in its node? Then it has no node engine. */
static inline bool coll_nodes_is_alone(const struct coll_group *group)
{
	return group->nodes.members == 1;
}

/* Map the memory of the other members of the node of this member, which is not alone. 0
 * or a negative fabric errno. */
int coll_nodes_attach(
	struct coll_group *group, const struct coll_node_card *const *cards);

#endif
