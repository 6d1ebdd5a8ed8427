/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <rdma/fi_errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

#include "providers/coll/node/copy.h"
#include "providers/coll/node/direct.h"
#include "providers/coll/node/tree.h"
#include "sys/calls.h"

/* Joining and leaving of a member. */

int coll_node_prepare(struct coll_node **ret_node, struct coll_node_card *ret_card)
{
	struct coll_node *node = calloc(1, sizeof(*node));
	struct coll_card card;
	int ret;

	if (!node)
		return -FI_ENOMEM;
	ret = coll_card_fill(&card);
	if (!ret && wf_sys_getrandom(&card.cookie, sizeof(card.cookie), 0) < 0)
		ret = -errno;
	if (!ret)
		ret = coll_segment_new(card.cookie, &node->fd, &node->own);
	if (ret) {
		free(node);
		return ret;
	}
	node->copy = COLL_COPY_AUTO;
	card.fd = node->fd;
	node->pid = (pid_t)card.pid;
	memcpy(ret_card, &card, sizeof(card));
	*ret_node = node;
	return 0;
}

void coll_node_set_copy(struct coll_node *node, enum coll_copy copy)
{
	node->copy = copy;
}

void coll_node_set_tell(struct coll_node *node, coll_node_tell_fn *tell, void *arg)
{
	node->tell = tell;
	node->tell_arg = arg;
}

/* Do members share processors? All members come to the same result. */
static bool coll_node_is_oversubscribed(const struct coll_node *node)
{
	for (uint32_t i = 0; i < node->members; i++) {
		const struct coll_card *card = &node->card[i];
		uint32_t count = 0;

		for (uint32_t j = 0; j < node->members; j++)
			if (node->card[j].cpu_hash == card->cpu_hash &&
				node->card[j].cpus == card->cpus)
				count++;
		if (card->cpus && count > card->cpus)
			return true;
	}
	return false;
}

static bool node_may_read_all(const struct coll_node *node)
{
	for (uint32_t i = 0; i < node->members; i++)
		if (i != node->rank && !coll_direct_probe(node, i))
			return false;
	return true;
}

static int node_map_members(struct coll_node *node, const struct coll_node_card *cards)
{
	int ret;

	for (uint32_t i = 0; i < node->members; i++) {
		node->card[i] = coll_card_get(&cards[i]);
		if (i == node->rank) {
			node->segment[i] = node->own;
			continue;
		}
		if (!coll_node_is_local(&cards[i], &cards[node->rank]))
			return -FI_EINVAL;
		ret = coll_segment_map(&node->card[i], &node->segment[i]);
		if (ret)
			return ret;
	}
	return 0;
}

static void node_unmap_members(struct coll_node *node)
{
	for (uint32_t i = 0; i < node->members; i++)
		if (node->segment && node->segment[i] && i != node->rank)
			coll_segment_unmap(node->segment[i]);
	free(node->segment);
	free(node->card);
	free(node->gone);
	coll_tree_free(node);
	node->segment = NULL;
	node->card = NULL;
	node->gone = NULL;
	node->members = 0;
}

int coll_node_attach(struct coll_node *node, const struct coll_node_card *cards,
	uint32_t count, uint32_t rank)
{
	int ret = -FI_ENOMEM;

	if (!count || count > COLL_NODE_MEMBERS_MAX || rank >= count)
		return -FI_EINVAL;
	node->members = count;
	node->rank = rank;
	node->segment = calloc(count, sizeof(struct coll_segment *));
	node->card = calloc(count, sizeof(*node->card));
	node->gone = calloc(count, sizeof(*node->gone));
	if (node->segment && node->card && node->gone && coll_tree_init(node))
		ret = node_map_members(node, cards);
	if (ret) {
		node_unmap_members(node);
		return ret;
	}
	node->oversubscribed = coll_node_is_oversubscribed(node);
	node->call_yields = coll_call_yields(node);
	coll_copy_init(node);
	coll_settings_publish(node);
	atomic_store_explicit(
		&node->own->may_read, node_may_read_all(node), memory_order_release);
	return 0;
}

void coll_node_settled(struct coll_node *node)
{
	if (node->fd >= 0)
		(void)wf_sys_close(node->fd);
	node->fd = -1;
	if (node->members) {
		coll_settings_read(node);
		coll_tree_build(node);
	}
	/* All have mapped, so all have written. */
	node->may_read = node->members > 0;
	for (uint32_t i = 0; i < node->members; i++)
		if (!atomic_load_explicit(
			    &node->segment[i]->may_read, memory_order_acquire))
			node->may_read = false;
}

void coll_node_close(struct coll_node *node)
{
	if (!node)
		return;
	if (node->fd >= 0)
		(void)wf_sys_close(node->fd);
	node_unmap_members(node);
	free(node->scratch);
	/* A forked child has no mapping, and must not leave for its parent. */
	if (getpid() == node->pid) {
		coll_leave(node);
		coll_segment_unmap(node->own);
	}
	free(node);
}
