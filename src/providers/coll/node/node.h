/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_COLL_NODE_NODE_H
#define WF_COLL_NODE_NODE_H

#include <stdbool.h>

#include "providers/coll/args.h"
#include "providers/coll/reduce.h"
#include "providers/coll/setting.h"

/*
 * The intra-node engine: collectives of the members of a group that run on this
 * machine, through memory that they share. Each member has a segment that only it
 * writes and that the others map read-only, so that a member that writes garbage can
 * spoil results, but no other's memory. The segment has no name, so that no process
 * leaves one behind. Large data are read directly from the member's buffers if the
 * system permits it.
 *
 * The functions take no lock; the caller serialises all calls for one struct coll_node.
 * Several members of a group may be endpoints of one process.
 */
struct coll_node;

/* The data that a member sends to the others when it joins: machine, namespaces, user,
 * process, and where its segment is. Only node/ knows the layout; everything in a card
 * of another member is checked. */
struct coll_node_card {
	uint8_t bytes[64];
};

/* The limits of a group that the engine serves. */
enum { COLL_NODE_MEMBERS_MAX = 256 };

/* Make this member's segment and fill @card. 0 or a negative fi_errno: the machine does
 * not support it, and the group works without the engine. */
int coll_node_prepare(struct coll_node **node, struct coll_node_card *card);

/* May members with these cards share memory? The result is the same at every member. */
bool coll_node_is_local(const struct coll_node_card *a, const struct coll_node_card *b);

/* Method by which large data are copied; COLL_COPY_AUTO: measurements decide. */
enum coll_copy { COLL_COPY_DIRECT, COLL_COPY_SEGMENT, COLL_COPY_AUTO };

/* Called before coll_node_attach: force a method. That of the first member is valid for
 * all. */
void coll_node_set_copy(struct coll_node *node, enum coll_copy copy);

/* The method by which operations of @kind with parts of about @part bytes copy from now
 * on, and the best times that were measured, in nanoseconds for a KiB of a part. */
struct coll_node_choice {
	enum fi_collective_op kind;
	size_t part;
	enum coll_copy copy;
	uint64_t direct_ns, segment_ns;
};
typedef void coll_node_tell_fn(void *arg, const struct coll_node_choice *choice);

/* Called before coll_node_attach: let @tell be called with @arg when measurements have
 * decided how some operations copy, for the first time or differently from before. Only
 * the first member measures. coll_node_start or coll_node_progress calls @tell, which
 * must not call functions of the node. */
void coll_node_set_tell(struct coll_node *node, coll_node_tell_fn *tell, void *arg);

/* Values of COLL_NODE_DEGREE that are no number of children, and the largest one. */
enum {
	COLL_DEGREE_AUTO, /* by the number of members */
	COLL_DEGREE_FLAT, /* No tree: each member reads from each other one. */
	COLL_DEGREE_MAX = 64,
};

/* Where the engine changes its method. A part is what one member has for one other, or
 * for all. */
enum coll_node_setting {
	/* Number of children of a member in the tree through which small operations
	 * go. */
	COLL_NODE_DEGREE,
	/* With COLL_DEGREE_AUTO: number of members from which on there is a tree; the
	 * second one is that of members that share processors. */
	COLL_NODE_TREE_MEMBERS,
	COLL_NODE_TREE_MEMBERS_OVERSUBSCRIBED,
	COLL_NODE_TREE_BYTES, /* largest part that goes through a tree */
	/* Smallest number of members, and smallest part, of which each member reduces a
	 * share. */
	COLL_NODE_SHARE_MEMBERS,
	COLL_NODE_SHARE_BYTES,
	/* Largest part that is posted in one chunk. */
	COLL_NODE_CHUNK_BYTES,
	/* Smallest part that may be copied directly; the second one is that of members
	 * that share processors. */
	COLL_NODE_DIRECT_BYTES,
	COLL_NODE_DIRECT_BYTES_OVERSUBSCRIBED,
	/* Smallest result, of all members together, that is stored around the
	 * caches. */
	COLL_NODE_STREAM_BYTES,
	COLL_NODE_SETTINGS,
};

/* By enum coll_node_setting; constant after the provider was loaded. In a group those
 * of the first member's process are valid for all members. */
extern struct coll_setting coll_node_settings[COLL_NODE_SETTINGS];

/* Map the segments of the @count members with @cards; this member is @cards[@rank]. All
 * members do so between the two exchanges of a join, so all segments exist. 0 or a
 * negative fi_errno: this member then reports it to the others, and none uses the
 * engine. */
int coll_node_attach(struct coll_node *node, const struct coll_node_card *cards,
	uint32_t count, uint32_t rank);

/* All members have mapped the segments: descriptors that were needed only for that can
 * be closed. */
void coll_node_settled(struct coll_node *node);

/* Leave the group, and free @node. The operations of other members end with
 * -FI_ECONNRESET, as if this member had died, unless they need nothing more of it. */
void coll_node_close(struct coll_node *node);

/* Can the engine execute the operation? The result is the same at every member, because
 * it depends only on what all have in common. */
bool coll_node_can(const struct coll_node *node, const struct coll_args *args);

/*
 * Start the operation @args, which is copied, and whose rank, root and members are
 * those of the node's members. One operation at a time; all members start the same
 * operations in the same order. Returns 1: it has ended; 0: coll_node_progress ends it;
 * a negative fi_errno: a member died or left, and all later calls for this node return
 * the same.
 */
int coll_node_start(struct coll_node *node, const struct coll_args *args);

/* A barrier (all zero), or an allreduce of up to COLL_NODE_TINY bytes. */
struct coll_node_tiny {
	coll_reduce_fn *reduce;
	const void *in;
	void *out;
	size_t count, len; /* number of elements, and their bytes */
};

enum { COLL_NODE_TINY = 56 };

/*
 * Execute all of @tiny, if no operation is under way and the other members make the
 * call at about the same time. False: call coll_node_start next, with the same
 * operation.
 */
bool coll_node_fast_path(struct coll_node *node, const struct coll_node_tiny *tiny);

/* Continue the operation; results as for coll_node_start. Cheap while nothing has
 * changed: it reads one or a few cache lines. Now and then it checks whether the
 * members for which it waits are alive. */
int coll_node_progress(struct coll_node *node);

#endif
