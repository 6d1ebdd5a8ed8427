/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_COLL_EXCHANGE_H
#define WF_COLL_EXCHANGE_H

#include "providers/coll/group.h"

/*
 * An allgather among the members of a group that is being joined (Bruck's algorithm):
 * in each step a member sends all blocks that it has to the member @dist ranks before
 * it, and gets as many from the member @dist ranks after it.
 *
 * Groups of one size that are joined at the same time may use the same tags: then the
 * sources tell their messages apart. A message for a group that this endpoint has not
 * begun to join waits at the owner. The endpoint's lock is held in all functions.
 */

/*
 * Gather the @len bytes at @mine, which are copied, of each member. @second: it is the
 * second exchange of this join, whose tags have the members' secrets. Returns 0: @done
 * is called with 0 and the members' blocks by rank, which are valid inside it, perhaps
 * before this function returns; or the group fails. -FI_ENOMEM.
 */
int coll_exchange_start(struct coll_group *group, const void *mine, size_t len,
	bool second,
	void (*done)(struct coll_group *group, int err, const void *blocks));

/* Stop the exchange of @group, if there is one. */
void coll_exchange_stop(struct coll_group *group);

/* The rank of a member for whose message the exchange waits. */
uint32_t coll_exchange_awaits(const struct coll_group *group);

/* Free stopped exchanges and the messages that were kept; no transfer uses them any
 * more. */
void coll_exchange_free(struct coll_ep *ep);

#endif
