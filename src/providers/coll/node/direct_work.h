/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_COLL_NODE_DIRECT_WORK_H
#define WF_COLL_NODE_DIRECT_WORK_H

#include <rdma/fi_errno.h>

#include "providers/coll/node/direct.h"

/* Functions that the files of direct operations share. */

/*
 * The steps of a direct operation. Each step has a slot use of its own, so that no step
 * waits for the slot of another one.
 */
enum coll_direct_step {
	COLL_STEP_POST, /* Post the addresses of the buffers: first slot use. */
	/* Copy or reduce from the inputs of other members, then publish the second
	 * use. */
	COLL_STEP_READ,
	/* Copy the shares that other members reduced, then publish the third use. */
	COLL_STEP_RESULTS,
	COLL_STEP_END, /* Wait for the members that read from this member. */
};

/* Bytes of one piece of a reduction, which stay in the cache. */
enum { COLL_DIRECT_PIECE = 128 << 10 };

/* What a member posts: addresses of its buffers, in its process. */
struct coll_addresses {
	uint64_t in, out;
};

static inline bool coll_direct_reduces(const struct coll_node *node)
{
	return node->plan.role.combines;
}

/* With two members, the root of a broadcast writes half of the data to the other
 * one. */
static inline bool coll_direct_in_halves(const struct coll_node *node)
{
	return node->members == 2 && node->plan.kind == FI_BROADCAST;
}

/* The member that the step processes now: first this one, for which no step waits; then
 * each member continues with a different one. */
static inline uint32_t coll_direct_member(const struct coll_node *node)
{
	return (node->rank + node->direct.members_done) % node->members;
}

/* direct_memory.c: the addresses that @member has posted for the operation. */
struct coll_addresses coll_direct_posted(const struct coll_node *node, uint32_t member);

/*
 * Copy between @mine and @len bytes at @theirs of @member. A wrong address concerns the
 * memory of that member's process only. 0 or -FI_ECONNRESET: whatever the error is
 * (EFAULT, too, for a process that is about to end), the member is lost to the group.
 */
int coll_direct_transfer(const struct coll_node *node, uint32_t member, bool write,
	void *mine, uint64_t theirs, size_t len);

/* Allocate the memory that the operation needs, and post the addresses of this member's
 * buffers. 0 or -FI_ENOMEM. */
int coll_direct_post(struct coll_node *node);

/* direct_work.c: do one piece of the work of the current step. *@ret_bytes: its length.
 * 0 or a negative fi_errno. */
int coll_direct_work(struct coll_node *node, size_t *ret_bytes);

#endif
