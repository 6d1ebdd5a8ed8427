/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/coll/join.h"

#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "providers/coll/control.h"
#include "providers/coll/engine.h"
#include "providers/coll/exchange.h"
#include "providers/coll/node/locality.h"
#include "providers/coll/nodes.h"

#define RECORD_MAGIC UINT32_C(0x6c6f6302) /* "\2col"; contains the version */

enum {
	RECORD_ORDERED = 1,
	/* Members of the largest group that is divided into nodes: every member is
	 * compared with every node. */
	NODES_MAX = 1 << 14,
};

/* The record that a member sends to all others; little-endian. It reaches the others
 * only from members, whose sources are checked by the receives. */
struct record {
	uint32_t magic;    /* RECORD_MAGIC */
	uint32_t err;      /* positive fi_errno: this member cannot join; 0: it can */
	uint64_t secret;   /* the secret of messages to this member (tag.h) */
	uint32_t flags;    /* RECORD_ bits */
	uint32_t has_card; /* 1: @card is valid */
	struct coll_node_card card;
	struct coll_locality locality;
};

_Static_assert(sizeof(struct record) == 96, "layout of join records");

/* Block of the second exchange: the positive fi_errno of attaching, or 0. */
struct attached {
	uint32_t err;
};

/*
 * Can messages of the two joins be mistaken for each other? They can if a member has
 * the same rank in both, so that its messages have the same tags. Such joins are made
 * one after the other: their members call them in the same order. If the owner does not
 * report the sources of messages, this applies to all groups of one size in which this
 * endpoint has the same rank.
 */
static bool join_collide(const struct coll_group *a, const struct coll_group *b)
{
	if (a->members != b->members || a->rank != b->rank)
		return false;
	for (uint32_t i = 0; i < a->members; i++)
		if (i != a->rank &&
			(a->member[i].addr == b->member[i].addr || !a->ep->has_sources))
			return true;
	return false;
}

static bool join_has_to_wait(const struct coll_group *group)
{
	wf_list_foreach(link, &group->ep->joining)
	{
		struct coll_group *before =
			wf_list_entry(link, struct coll_group, join_link);

		if (before == group)
			return false;
		if (join_collide(before, group))
			return true;
	}
	return false;
}

static int join_read_record(
	struct coll_group *group, uint32_t rank, const struct record *record)
{
	uint64_t secret = le64toh(record->secret);

	if (le32toh(record->magic) != RECORD_MAGIC) {
		coll_log(FI_LOG_WARN, FI_LOG_EP_CTRL,
			"join failed: member %u sent no record of this version\n",
			rank);
		return -FI_EINVAL;
	}
	if (record->err || !secret) {
		coll_log(FI_LOG_WARN, FI_LOG_EP_CTRL,
			"join failed: member %u could not join\n", rank);
		return -FI_ECONNREFUSED;
	}
	group->member[rank].secret = secret;
	if (!(le32toh(record->flags) & RECORD_ORDERED))
		group->is_ordered = false;
	return 0;
}

static void join_drop_node(struct coll_group *group)
{
	if (group->node)
		coll_node_close(group->node);
	group->node = NULL;
}

static void join_attached_done(struct coll_group *group, int err, const void *blocks)
{
	const struct attached *attached = blocks;

	group->has_node = !err;
	for (uint32_t i = 0; i < group->members; i++)
		if (attached[i].err)
			group->has_node = false;
	if (!group->has_node)
		join_drop_node(group);
	else if (group->node)
		coll_node_settled(group->node);
	coll_group_joined(group, err);
}

/* The cards of the members by rank. NULL: no memory. */
static const struct coll_node_card **join_cards_of(
	const struct coll_group *group, const struct record *records)
{
	const struct coll_node_card **cards =
		calloc(group->members, sizeof(struct coll_node_card *));

	for (uint32_t i = 0; cards && i < group->members; i++)
		if (records[i].has_card)
			cards[i] = &records[i].card;
	return cards;
}

/* Divide the group, and attach the memory of the members of this member's node.
 * *@ret_err: result of attaching, for the other members. */
static int join_find_nodes(
	struct coll_group *group, const struct record *records, int *ret_err)
{
	const struct coll_node_card **cards = join_cards_of(group, records);
	int ret = cards ? coll_nodes_divide(group, cards) : -FI_ENOMEM;

	*ret_err = 0;
	if (!ret && coll_nodes_is_alone(group))
		join_drop_node(group);
	else if (!ret)
		*ret_err = coll_nodes_attach(group, cards);
	free(cards);
	return ret;
}

/* Do members have cards, so that nodes are used? All members decide alike, from the
 * same records. */
static bool join_is_divided(
	const struct coll_group *group, const struct record *records)
{
	for (uint32_t i = 0; i < group->members; i++)
		if (records[i].has_card)
			return group->members > 1 && group->members <= NODES_MAX;
	return false;
}

/* Find the nodes and tell the other members the result. */
static int join_begin_second(struct coll_group *group, const struct record *records)
{
	struct attached mine;
	int err, ret = join_find_nodes(group, records, &err);

	if (ret)
		return ret;
	if (group->nodes.count == group->members) {
		coll_group_joined(group, 0);
		return 0;
	}
	mine.err = htole32((uint32_t)-err);
	return coll_exchange_start(
		group, &mine, sizeof(mine), true, join_attached_done);
}

/* Determine whether members have to yield to each other. */
static void join_note_oversubscribed(
	struct coll_group *group, const struct record *records)
{
	struct coll_locality *localities;

	if (group->members < 2)
		return;
	localities = calloc(group->members, sizeof(*localities));
	if (!localities)
		return;
	for (uint32_t i = 0; i < group->members; i++)
		localities[i] = (struct coll_locality){
			.processors = le32toh(records[i].locality.processors),
			.process = le32toh(records[i].locality.process),
		};
	if (coll_is_oversubscribed(localities, group->members))
		group->ep->is_oversubscribed = true;
	free(localities);
}

static void join_records_done(struct coll_group *group, int err, const void *blocks)
{
	const struct record *records = blocks;

	group->is_ordered = true;
	for (uint32_t i = 0; !err && i < group->members; i++)
		err = join_read_record(group, i, &records[i]);
	if (!err)
		join_note_oversubscribed(group, records);
	if (!err && join_is_divided(group, records))
		err = join_begin_second(group, records);
	else if (!err)
		coll_group_joined(group, 0);
	if (err)
		coll_group_fail(group, err);
}

static void join_prepare_node(struct coll_group *group, struct record *record)
{
	if (coll_params.engine == COLL_ENGINE_P2P || group->members < 2 ||
		group->members > NODES_MAX)
		return;
	if (coll_node_prepare(&group->node, &record->card)) {
		group->node = NULL;
	} else {
		coll_node_set_copy(group->node, coll_params.copy);
		coll_node_set_tell(group->node, coll_engine_tell_copy, group);
	}
	record->has_card = htole32(group->node != NULL);
}

static void join_begin(struct coll_group *group)
{
	struct record record = {
		.magic = htole32(RECORD_MAGIC),
		.secret = htole64(group->secret),
		.flags = htole32(group->ep->is_ordered ? RECORD_ORDERED : 0),
	};
	struct coll_locality locality;
	int ret;

	locality = coll_locality_own();
	record.locality.processors = htole32(locality.processors);
	record.locality.process = htole32(locality.process);
	join_prepare_node(group, &record);
	ret = coll_control_open(group->ep);
	if (!ret)
		ret = coll_exchange_start(
			group, &record, sizeof(record), false, join_records_done);
	if (ret)
		coll_group_fail(group, ret);
}

void coll_join_start(struct coll_group *group)
{
	wf_list_push(&group->ep->joining, &group->join_link);
	if (!join_has_to_wait(group))
		join_begin(group);
}

static struct coll_group *join_next_of(const struct coll_ep *ep)
{
	wf_list_foreach(link, &ep->joining)
	{
		struct coll_group *group =
			wf_list_entry(link, struct coll_group, join_link);

		if (!group->exchange && !join_has_to_wait(group))
			return group;
	}
	return NULL;
}

void coll_join_next(struct coll_ep *ep)
{
	struct coll_group *group;

	while ((group = join_next_of(ep)))
		join_begin(group);
}

void coll_join_stop(struct coll_group *group)
{
	wf_list_remove(&group->join_link);
	coll_exchange_stop(group);
	if (!group->has_node)
		join_drop_node(group);
}

struct coll_group *coll_join_find(const struct coll_ep *ep, uint32_t members,
	uint32_t to, uint32_t from, fi_addr_t src)
{
	struct coll_group *group;

	wf_list_foreach(link, &ep->joining)
	{
		group = wf_list_entry(link, struct coll_group, join_link);
		if (group->members == members && group->rank == to &&
			coll_group_is_from(group, from, src))
			return group;
	}
	wf_list_foreach(link, &ep->groups)
	{
		group = wf_list_entry(link, struct coll_group, link);
		if (group->state == COLL_FAILED && group->members == members &&
			group->rank == to && coll_group_is_from(group, from, src))
			return group;
	}
	return NULL;
}

static void join_probe(struct coll_group *group, uint64_t now_ns)
{
	if (!group->exchange)
		return;
	if (!group->probed_ns)
		group->probed_ns = now_ns;
	if (now_ns - group->probed_ns < coll_probe_ns())
		return;
	group->probed_ns = now_ns;
	coll_control_probe(group, coll_exchange_awaits(group));
}

void coll_join_watch(struct coll_ep *ep, uint64_t now_ns)
{
	/* A probe that fails at once ends the join. */
	wf_list_foreach_safe(link, &ep->joining)
		join_probe(wf_list_entry(link, struct coll_group, join_link), now_ns);
}
