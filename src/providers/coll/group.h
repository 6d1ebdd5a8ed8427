/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_COLL_GROUP_H
#define WF_COLL_GROUP_H

#include "providers/coll/coll.h"
#include "providers/coll/node/node.h"
#include "providers/coll/sched/sched.h"

struct coll_control;
struct coll_exchange;

enum coll_state {
	COLL_JOINING, /* or waiting until an earlier join has ended */
	COLL_OPEN,
	COLL_FAILED, /* every call returns @err */
};

/* A member of a group, as this endpoint knows it. */
struct coll_member {
	fi_addr_t addr; /* index in the owner's AV */
	/* The secret of messages to it (tag.h), from its record; 0: not known yet. */
	uint64_t secret;
};

/*
 * A group that an endpoint has joined. Guarded by the endpoint's lock.
 */
struct coll_group {
	struct fid_mc mc;
	struct wf_list link; /* link in coll_ep.groups */
	struct coll_ep *ep;
	enum coll_state state;
	int err; /* negative fi_errno if it has failed */
	uint32_t members, rank;
	struct coll_member *member; /* by rank */
	/* Ranks ordered by address; NULL: each rank equals its address. */
	uint32_t *by_addr;
	uint16_t id;            /* index in coll_ep.ids */
	uint64_t secret;        /* the secret of messages to this member */
	bool is_ordered;        /* Messages match in order at all members. */
	uint16_t operations;    /* number of the next operation, modulo 2^16 */
	unsigned int in_flight; /* number of operations that have not ended */
	struct wf_list ops;     /* operations in the point-to-point engine */
	/* Operations with actions for the node engine, in an order that is the same at
	 * all members. Only the first one uses the engine. */
	struct wf_list node_ops;
	/* Link in coll_ep.node_groups while node_ops is not empty. */
	struct wf_list node_link;
	struct coll_control *probe; /* the probe that is under way, or NULL */
	/* Bits by enum fi_collective_op: the choice for it was logged. */
	uint32_t logged;

	/* State of the join. */
	struct wf_list join_link;       /* link in coll_ep.joining */
	struct wf_list joined_link;     /* link in coll_ep.joined */
	struct coll_exchange *exchange; /* the exchange that is under way; NULL: none */
	struct coll_node *node;         /* NULL: the group has no node engine */
	/* The members of each node have attached each other's memory: @nodes is
	 * used. */
	bool has_node;
	struct coll_nodes nodes;
	uint32_t *node_maps;    /* memory of @nodes, or NULL */
	struct fid_mc *main_mc; /* the main provider's group */
	void (*joined)(void *context, int err);
	void *join_context;
	uint64_t probed_ns; /* time when the join was last found waiting; 0: not yet */
};

static inline struct coll_group *coll_group_of(struct fid_mc *mc)
{
	return wf_container_of(mc, struct coll_group, mc);
}

/* The open or failed group whose fi_mc_addr() is @addr; NULL: none. */
struct coll_group *coll_group_at(const struct coll_ep *ep, fi_addr_t addr);

/* The group whose own secret is @secret, which may be any number; NULL: none. */
struct coll_group *coll_group_by_secret(const struct coll_ep *ep, uint64_t secret);

/* May a message that claims to be from the member @rank come from @src, or is the
 * source unknown because the owner does not report sources? */
static inline bool coll_group_is_from(
	const struct coll_group *group, uint32_t rank, fi_addr_t src)
{
	return rank < group->members &&
	       (!group->ep->has_sources || group->member[rank].addr == src);
}

/* The rank of the member at @addr; @group->members: none. */
uint32_t coll_group_rank(const struct coll_group *group, fi_addr_t addr);

/* outcome.c. The join ended with 0 or a negative fi_errno: open the group or let it
 * fail, and let the main provider be told. */
void coll_group_joined(struct coll_group *group, int err);

/* Close the memory that the group shares with other members of its node. No-op if there
 * is none. */
void coll_group_leave_node(struct coll_group *group);

/* The group cannot be used any more: end its operations or its join with @err, a
 * negative fi_errno, and tell the other members. No-op if it has failed already. */
void coll_group_fail(struct coll_group *group, int err);

#endif
