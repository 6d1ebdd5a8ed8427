/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_PROVIDERS_COLL_NODE_COPY_H
#define WF_PROVIDERS_COLL_NODE_COPY_H

#include "providers/coll/node/state.h"

/*
 * How large data come from one member to the other: directly from buffer to buffer
 * (direct.h), or through the cells of the segments. Which is faster depends on the
 * machine, on where the members run and on what else runs there, so the first member
 * measures both while real operations run, and publishes its choice for each class of
 * operations (struct coll_segment).
 */

/* The class of the operation @plan, or -1: not one in which all members wait for all.
 */
int coll_copy_class(const struct coll_plan *plan);

/* Are the data of an operation of @copy_class that begins at slot use node->base copied
 * directly? The same answer at every member. */
bool coll_copy_is_direct(const struct coll_node *node, int copy_class);

/* Before other members map the segment: publish what the parameter forces. */
void coll_copy_init(struct coll_node *node);

/* The operation of node->plan begins, and has ended. */
void coll_copy_start(struct coll_node *node);
void coll_copy_end(struct coll_node *node);

#endif
