/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_PROVIDERS_COLL_NODE_H
#define WF_PROVIDERS_COLL_NODE_H

#include <stdbool.h>

#include "providers/coll/args.h"
#include "providers/coll/reduce.h"

/*
 * The intra-node engine: collectives of the members of a group that run on this
 * machine, through memory that they share. Each member has a segment that only it
 * writes and that the others map read-only, so that a member that writes garbage can
 * spoil results, but no other's memory. The segment has no name, so that no process
 * leaves one behind. Large data are read from the buffers of the member itself where
 * the system allows that.
 *
 * The functions take no lock; the caller serialises all calls for one struct coll_node.
 * Several members of a group may be endpoints of one process.
 */
struct coll_node;

/* What a member tells the others when it joins: machine, namespaces, user, process,
 * where its segment is. The layout is of node/ alone; everything in a card from another
 * member is checked. */
struct coll_node_card {
	uint8_t bytes[64];
};

/* The limits of a group that the engine serves. */
enum { COLL_NODE_MEMBERS_MAX = 256 };

/* Make this member's segment and fill @card. 0 or a negative fabric errno:
 * the machine cannot do it, the group works without. */
int coll_node_prepare(struct coll_node **node, struct coll_node_card *card);

/* May members with these cards share memory? The same answer at every member. */
bool coll_node_is_local(const struct coll_node_card *a, const struct coll_node_card *b);

/* How large data are copied: COLL_COPY_AUTO leaves that to measurements. */
enum coll_copy { COLL_COPY_DIRECT, COLL_COPY_SEGMENT, COLL_COPY_AUTO };

/* Before coll_node_attach: force a way. That of the first member counts for all. */
void coll_node_set_copy(struct coll_node *node, enum coll_copy copy);

/* How the operations of @kind with parts of about @part bytes copy from now on, and the
 * best times that were measured: ns for a KiB of a part. */
struct coll_node_choice {
	enum fi_collective_op kind;
	size_t part;
	enum coll_copy copy;
	uint64_t direct_ns, segment_ns;
};
typedef void coll_node_tell_fn(void *arg, const struct coll_node_choice *choice);

/* Before coll_node_attach: have @tell called with @arg when measurements have settled
 * how some operations copy, for the first time or in another way than before. Only the
 * first member measures. @tell is called by coll_node_start or coll_node_progress, and
 * does not call the node. */
void coll_node_set_tell(struct coll_node *node, coll_node_tell_fn *tell, void *arg);

/* Map the segments of the @count members with @cards; this one is @cards[@rank]. All of
 * them do so between the two exchanges of a join, so all segments exist. 0 or a
 * negative fabric errno (then this member tells the others, and none uses the
 * engine). */
int coll_node_attach(struct coll_node *node, const struct coll_node_card *cards,
	uint32_t count, uint32_t rank);

/* All members have mapped: descriptors that were only needed for that can be closed. */
void coll_node_settled(struct coll_node *node);

/* Leave, and free @node. Operations in progress of others end with -FI_ECONNRESET as
 * those of a member that died, unless they need no more of this one. */
void coll_node_close(struct coll_node *node);

/* Can the engine do this? The same answer at every member, from what all have in
 * common. */
bool coll_node_can(const struct coll_node *node, const struct coll_args *args);

/*
 * Begin the operation @args, whose rank, root and members are those of the node's
 * members, and which is copied. One operation at a time; all members begin the same
 * ones in the same order. 1: it has ended; 0: coll_node_progress ends it.
 * Negative fabric errno: a member died or left, and this node answers so from then on.
 */
int coll_node_start(struct coll_node *node, const struct coll_args *args);

/* A barrier (all zero), or an allreduce of up to COLL_NODE_TINY bytes. */
struct coll_node_tiny {
	coll_reduce_fn *reduce;
	const void *in;
	void *out;
	size_t count, len; /* elements, and the bytes of all */
};

enum { COLL_NODE_TINY = 56 };

/*
 * Do all of @tiny, if no operation is under way and the other members come at about the
 * same time. False: call coll_node_start next, with the same operation.
 */
bool coll_node_fast_path(struct coll_node *node, const struct coll_node_tiny *tiny);

/* Go on with the operation. As coll_node_start. Cheap while nothing has changed: it
 * reads one or a few cache lines. Now and then it checks whether the members that it
 * waits for are alive. */
int coll_node_progress(struct coll_node *node);

#endif
