/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_COLL_NODES_H
#define WF_COLL_NODES_H

#include "providers/coll/group.h"

/*
 * Nodes: the members of a group that share memory. All members compute the same nodes,
 * from the cards that they have exchanged. The endpoint's lock is held in all
 * functions.
 */

/* Divide @group into nodes. @cards[rank] is the card of a member, NULL if it has none.
 * Fills group->nodes. 0 or -FI_ENOMEM. */
int coll_nodes_divide(
	struct coll_group *group, const struct coll_node_card *const *cards);

/* Is this member alone in its node? Then it has no node engine. */
static inline bool coll_nodes_is_alone(const struct coll_group *group)
{
	return group->nodes.members == 1;
}

/* Map the memory of the other members of this member's node, in which it is not alone.
 * 0 or a negative fi_errno. */
int coll_nodes_attach(
	struct coll_group *group, const struct coll_node_card *const *cards);

#endif
