/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_PEER_COLL_RIG_H
#define TESTS_PEER_COLL_RIG_H

#include <rdma/fi_collective.h>
#include <rdma/providers/fi_peer_coll.h>

#include "rig.h"

/*
 * Endpoints of one provider in one process, each with the collective provider off_coll
 * above it, for which this test is the main provider: fi_peer_coll.h.
 */
enum { NODES_MAX = 16, GROUPS_MAX = 64 };

/* A group at one node, in the main provider. */
struct coll_mc {
	struct fid_mc main; /* passed to off_coll */
	struct fid_mc *mc;  /* returned by off_coll */
	int joined;         /* number of calls of the callback */
	int err;            /* result that the callback got */
};

struct coll_node {
	struct fi_info *info, *coll_info;
	struct fid_fabric *fabric, *coll_fabric;
	struct fid_domain *domain, *coll_domain;
	struct fid_cq *cq, *coll_cq;
	struct fid_av *av, *coll_av;
	struct fid_ep *ep, *coll_ep;
	struct fid_peer_cq peer_cq;
	struct fid_peer_av peer_av;
	/* Addresses of the nodes in this node's AV; FI_ADDR_NOTAVAIL: not there. */
	fi_addr_t addr[NODES_MAX];
	unsigned int self;
	bool is_open;
};

struct coll_rig {
	struct coll_node node[NODES_MAX];
	unsigned int count;
	/* Called whenever all nodes make progress; NULL: nothing is. */
	void (*each_time)(struct coll_rig *rig);
};

/* Differences between the main endpoints. */
struct coll_options {
	size_t max_msg_size;    /* in bytes; 0: the provider's limit */
	unsigned int unordered; /* bit by node: its messages may match out of order */
	bool no_source;         /* sources are not reported */
	unsigned int strangers; /* so many of the last nodes are in no other AV */
};

/* Open @count nodes, each with the addresses of all but strangers. @options may be
 * NULL. */
struct coll_rig *coll_rig_open(unsigned int count, const struct coll_options *options);
void coll_rig_close(struct coll_rig *rig);
/* Close a node before the other nodes. */
void coll_node_end(struct coll_node *node);

/* Let every node make progress; the second function does so for a while. */
void coll_rig_progress(struct coll_rig *rig);
void coll_rig_settle(struct coll_rig *rig);

/* Begin to join like coll_rig_join, but with an event, whose context is @ret, instead
 * of the callback. */
int coll_rig_join_event(struct coll_node *node, const unsigned int *member,
	unsigned int count, struct coll_mc *ret);
/* Begin to join the group of the nodes @member, @count of them. */
int coll_rig_join(struct coll_node *node, const unsigned int *member,
	unsigned int count, struct coll_mc *ret);
/* Wait for the end of a join, and expect this result. */
void coll_rig_joined(struct coll_rig *rig, struct coll_mc *mc, int err);
/* Join at all members and wait for the end; @mc is indexed by rank. */
void coll_rig_join_all(struct coll_rig *rig, const unsigned int *member,
	unsigned int count, struct coll_mc *mc);
void coll_rig_leave(struct coll_mc *mc, unsigned int count);

/* Wait until @node has a completion; 0, or the error in its entry. */
int coll_rig_wait(struct coll_rig *rig, struct coll_node *node, void **ret_context);

/* Hints to which off_coll answers. */
struct fi_info *coll_rig_hints(void);

/* The nodes in ascending order, for coll_rig_join_all. */
extern const unsigned int coll_rig_in_order[NODES_MAX];

/* The address of the group of @mc. */
fi_addr_t coll_rig_addr(const struct coll_mc *mc);

/* Wait for one success of each of the first @count nodes, with @context. */
void coll_rig_expect_all(struct coll_rig *rig, unsigned int count, void *context);

/* Do the parameters select the engine over messages? */
bool coll_rig_is_p2p(void);

/* A barrier of the first @count nodes. */
void coll_rig_barrier(
	struct coll_rig *rig, const struct coll_mc *mc, unsigned int count);

/* An allreduce of the first nodes; the results are checked. */
void coll_rig_allreduce(
	struct coll_rig *rig, const struct coll_mc *mc, unsigned int count, size_t n);

/* Collectives of several kinds of the first @n nodes; their results are checked. */
void coll_rig_every_kind(
	struct coll_rig *rig, const struct coll_mc *mc, unsigned int n);

#endif
