/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_PROVIDERS_COLL_GROUP_H
#define WF_PROVIDERS_COLL_GROUP_H

#include "providers/coll/coll.h"
#include "providers/coll/node/node.h"
#include "providers/coll/sched/sched.h"

struct coll_control;
struct coll_exchange;

enum coll_state {
	COLL_JOINING, /* or waiting for an earlier join to end */
	COLL_OPEN,
	COLL_FAILED, /* @err says why; every call returns it */
};

/* What a group knows of a member. */
struct coll_member {
	fi_addr_t addr; /* in the numbering of the owner's AV */
	/* From the member's record: its id of the group, and the operation number with
	 * which messages to it begin. */
	uint16_t id, base;
};

/*
 * A group that an endpoint joined. Guarded by the endpoint's lock.
 */
struct coll_group {
	struct fid_mc mc;
	struct wf_list link; /* in coll_ep.groups */
	struct coll_ep *ep;
	enum coll_state state;
	int err; /* negative fabric errno, if failed */
	uint32_t members, rank;
	struct coll_member *member; /* by rank */
	uint32_t *by_addr;      /* ranks ordered by address; NULL: rank == address */
	uint16_t id, base;      /* of this member */
	bool is_ordered;        /* messages match in order at all members */
	uint16_t operations;    /* operations begun, modulo 2^16 */
	unsigned int in_flight; /* operations that did not end */
	struct wf_list ops;     /* operations in the point-to-point engine */
	/* Operations of which parts are for the node engine, in their order at all
	 * members. Only the first one uses the engine. */
	struct wf_list node_ops;
	struct wf_list node_link;   /* in coll_ep.node_groups while there are some */
	struct coll_control *probe; /* the probe that is under way, or NULL */
	uint32_t logged; /* bit by enum fi_collective_op: the choice was logged */

	/* The join. */
	struct wf_list join_link;       /* in coll_ep.joining */
	struct wf_list joined_link;     /* in coll_ep.joined */
	struct coll_exchange *exchange; /* NULL: none is going on */
	struct coll_node *node;         /* NULL: no node engine */
	bool has_records;               /* ids and bases of the members are known */
	/* The members of each node have attached to each other: @nodes are used. */
	bool has_node;
	struct coll_nodes nodes;
	uint32_t *node_maps;    /* memory of @nodes, or NULL */
	struct fid_mc *main_mc; /* the main provider's group */
	void (*joined)(void *context, int err);
	void *join_context;
	uint64_t probed_ns; /* when the join was last found waiting; 0: not yet */
};

static inline struct coll_group *coll_group_of(struct fid_mc *mc)
{
	return wf_container_of(mc, struct coll_group, mc);
}

/* The open or failed group whose fi_mc_addr() is @addr; NULL: none. */
struct coll_group *coll_group_at(const struct coll_ep *ep, fi_addr_t addr);

/* The group with @id and @base, of which a member speaks; NULL: none. */
struct coll_group *coll_group_by_id(
	const struct coll_ep *ep, uint32_t id, uint16_t base);

/* The rank of the member at @addr; @group->members: none. */
uint32_t coll_group_rank(const struct coll_group *group, fi_addr_t addr);

/* The join ended with 0 or a negative fabric errno: open the group or fail it, and have
 * the main provider told. */
void coll_group_joined(struct coll_group *group, int err);

/* The group cannot work any more: end its operations or its join with @err, a negative
 * fabric errno, and tell the other members. No-op if it has failed. */
void coll_group_fail(struct coll_group *group, int err);

#endif
