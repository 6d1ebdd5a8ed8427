/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_COLL_NODE_COPY_H
#define WF_COLL_NODE_COPY_H

#include "providers/coll/node/state.h"

/*
 * Method by which large data are copied between members: directly from buffer to buffer
 * (direct.h), or through the cells of the segments. Which is faster depends on the
 * machine, on the processors of the members and on other load. So the first member
 * measures both while real operations run, and publishes its choice for each class of
 * operations (struct coll_segment).
 */

/* The class of the operation @plan; -1: not an operation in which all members wait for
 * all. */
int coll_copy_class(const struct coll_plan *plan);

/* Are the data of an operation of @copy_class that begins at slot use node->base copied
 * directly? The result is the same at every member. */
bool coll_copy_is_direct(const struct coll_node *node, int copy_class);

/* Publish the choice @copy for operations of @copy_class that begin later; called by
 * the first member. */
void coll_copy_publish(struct coll_node *node, int copy_class, enum coll_copy copy);

/* May the published choice be replaced? No member needs the previous one any more: all
 * have reached the slot use from which the new one is valid. */
bool coll_copy_is_in_force(const struct coll_node *node, int copy_class);

/* Called before other members map the segment: publish the choice that the parameter
 * forces. */
void coll_copy_init(struct coll_node *node);

/* measure.c: the operation of node->plan begins, and has ended. */
void coll_copy_start(struct coll_node *node);
void coll_copy_end(struct coll_node *node);

#endif
