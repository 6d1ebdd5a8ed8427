/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/coll/nodes.h"

#include <stdlib.h>

static uint32_t nodes_largest_node(void)
{
	size_t size = coll_params.node_size;

	return size && size < COLL_NODE_MEMBERS_MAX ? (uint32_t)size
						    : COLL_NODE_MEMBERS_MAX;
}

/* The arrays of struct coll_nodes while they are filled. */
struct maps {
	uint32_t count;
	uint32_t *node_of, *rank_in_node; /* indexed by rank */
	uint32_t *first, *size;           /* indexed by node */
};

/* The node of the member @rank, among those found so far; maps->count: none. */
static uint32_t nodes_find(const struct maps *maps, uint32_t rank,
	const struct coll_node_card *const *cards)
{
	uint32_t limit = nodes_largest_node();

	for (uint32_t node = 0; cards[rank] && node < maps->count; node++) {
		const struct coll_node_card *card = cards[maps->first[node]];

		if (card && maps->size[node] < limit &&
			coll_node_is_local(card, cards[rank]))
			return node;
	}
	return maps->count;
}

static void nodes_add(
	struct maps *maps, uint32_t rank, const struct coll_node_card *const *cards)
{
	uint32_t node = nodes_find(maps, rank, cards);

	if (node == maps->count) {
		maps->count++;
		maps->first[node] = rank;
	}
	maps->node_of[rank] = node;
	maps->rank_in_node[rank] = maps->size[node]++;
}

int coll_nodes_divide(
	struct coll_group *group, const struct coll_node_card *const *cards)
{
	size_t n = group->members;
	struct maps maps = { .node_of = calloc(4 * n, sizeof(*maps.node_of)) };

	if (!maps.node_of)
		return -FI_ENOMEM;
	maps.rank_in_node = maps.node_of + n;
	maps.first = maps.node_of + 2 * n;
	maps.size = maps.node_of + 3 * n;
	for (uint32_t rank = 0; rank < n; rank++)
		nodes_add(&maps, rank, cards);
	group->node_maps = maps.node_of;
	group->nodes = (struct coll_nodes){
		.count = maps.count,
		.members = maps.size[maps.node_of[group->rank]],
		.node_of = maps.node_of,
		.rank_in_node = maps.rank_in_node,
		.first = maps.first,
	};
	return 0;
}

int coll_nodes_attach(
	struct coll_group *group, const struct coll_node_card *const *cards)
{
	const struct coll_nodes *nodes = &group->nodes;
	uint32_t count = 0, node = nodes->node_of[group->rank];
	struct coll_node_card *mine = calloc(nodes->members, sizeof(*mine));
	int ret;

	if (!mine)
		return -FI_ENOMEM;
	for (uint32_t rank = 0; rank < group->members; rank++)
		if (nodes->node_of[rank] == node)
			mine[count++] = *cards[rank];
	ret = coll_node_attach(
		group->node, mine, count, nodes->rank_in_node[group->rank]);
	free(mine);
	return ret;
}
