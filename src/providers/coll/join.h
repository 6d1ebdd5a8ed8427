/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_COLL_JOIN_H
#define WF_COLL_JOIN_H

#include "providers/coll/group.h"

/*
 * Joining: what the members of a new group exchange. First a record of each member,
 * with the secret of messages to it (tag.h); then, if the node engine is possible,
 * whether each member could attach the others' memory. Both are allgathers over peer
 * transfers. The endpoint's lock is held in all functions.
 */

/* Begin the join, or wait for an earlier join of the same members. coll_group_joined
 * reports the end, perhaps before this returns. */
void coll_join_start(struct coll_group *group);

/* Begin joins that waited for one that has ended. */
void coll_join_next(struct coll_ep *ep);

/* Stop joining; then @group may be freed. */
void coll_join_stop(struct coll_group *group);

/* Find the group of @members members that is joining or, if there is none, has failed,
 * in which this endpoint has rank @to, and the member at @src has rank @from; @src is
 * not checked if the owner does not report sources. NULL: there is none. */
struct coll_group *coll_join_find(const struct coll_ep *ep, uint32_t members,
	uint32_t to, uint32_t from, fi_addr_t src);

/* Called now and then: probe the members that joins wait for. */
void coll_join_watch(struct coll_ep *ep, uint64_t now_ns);

#endif
