/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_PROVIDERS_COLL_JOIN_H
#define WF_PROVIDERS_COLL_JOIN_H

#include "providers/coll/group.h"

/*
 * Joining: what the members of a new group exchange. First a record of each, with its
 * id of the group; then, if the node engine is possible, whether each has attached to
 * the others' memory. Both are allgathers over peer transfers. The endpoint's lock is
 * held for all calls.
 */

/* Begin to join, or wait for an earlier join of the same members. coll_group_joined
 * tells the end, perhaps inside the call. */
void coll_join_start(struct coll_group *group);

/* Begin joins that waited for one that ended. */
void coll_join_next(struct coll_ep *ep);

/* Stop joining; @group may be freed then. */
void coll_join_stop(struct coll_group *group);

/* The group of @members members that is joining, or could not be joined, in which this
 * endpoint has rank @to, and @from is the rank of the member at @src, which is checked
 * unless it is FI_ADDR_NOTAVAIL. NULL: none. */
struct coll_group *coll_join_find(const struct coll_ep *ep, uint32_t members,
	uint32_t to, uint32_t from, fi_addr_t src);

/* Now and then: probe members that a join waits for. */
void coll_join_watch(struct coll_ep *ep, uint64_t now_ns);

#endif
