/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_COLL_CONTROL_H
#define WF_COLL_CONTROL_H

#include "providers/coll/group.h"

/*
 * Control messages between members: a member that has waited for another one sends it a
 * probe; an abort reports that a group has failed. A probe needs no answer: if its
 * receiver has died, the owner's transport reports that the probe failed. But a
 * receiver that does not know the group, or knows that it has failed, answers with an
 * abort.
 *
 * Every endpoint has one standing receive for control messages, from its first join on,
 * so that messages for groups that were closed are received, too. It matches messages
 * of any source, so each is checked: it has the receiver's secret of the group, once
 * the sender has that, and comes from the address of the member that it names, if the
 * owner reports sources. All others are dropped. The endpoint's lock is held in all
 * functions.
 */

/* Time in nanoseconds after which a member that waits sends a probe. */
static inline uint64_t coll_probe_ns(void)
{
	return (uint64_t)coll_params.probe_ms * 1000000;
}

/* Post the standing receive, unless it is posted. 0 or a negative fi_errno. */
int coll_control_open(struct coll_ep *ep);
/* The endpoint is being closed, and the receive was cancelled at the owner: it is no
 * longer in coll_ep.posted. */
void coll_control_withdraw(struct coll_ep *ep);
/* Free the memory of the standing receive, and that of sent messages. No transfer uses
 * it any more. */
void coll_control_free_standing(struct coll_ep *ep);
void coll_control_free(struct coll_ep *ep);

/* Send a probe to the member @rank. */
void coll_control_probe(struct coll_group *group, uint32_t rank);

/* The group is being closed: its probe, if one is under way, ends without effect. */
void coll_control_forget(struct coll_group *group);

/* Send the abort of the group, with the negative fi_errno @err, to all other
 * members. */
void coll_control_abort(struct coll_group *group, int err);

#endif
