/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_PROVIDERS_COLL_GROUP_H
#define WF_PROVIDERS_COLL_GROUP_H

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
	/* From the member's record: its id of the group, and the number of the first
	 * operation in messages to it. */
	uint16_t id, base;
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
	uint16_t id, base;      /* as in struct coll_member, of this member */
	bool is_ordered;        /* Messages match in order at all members. */
	uint16_t operations;    /* number of operations started, modulo 2^16 */
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
	bool has_records; /* The ids and bases of the members are known. */
	/* The members of each node have attached each other's memory: @nodes is used.
	 */
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

/* The group with @id and @base, from a member's message; NULL: none. */
struct coll_group *coll_group_by_id(
	const struct coll_ep *ep, uint32_t id, uint16_t base);

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
