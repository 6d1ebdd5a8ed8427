/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_PROVIDERS_COLL_CONTROL_H
#define WF_PROVIDERS_COLL_CONTROL_H

#include "providers/coll/group.h"

/*
 * Control messages between members: probes, which a member sends to one that it has
 * waited for, and aborts, which tell that a group has failed. A probe needs no answer:
 * if its receiver is gone, the owner's transport reports that the probe failed. But a
 * receiver to which the group is unknown, or failed, answers by an abort.
 *
 * Every endpoint has one standing receive for them, from its first join on, so that
 * messages about groups that are gone are received, too. The endpoint's lock is held
 * for all calls.
 */

/* Time in ns after which a member that waits sends a probe. */
static inline uint64_t coll_probe_ns(void)
{
	return (uint64_t)coll_params.probe_ms * 1000000;
}

/* Post the standing receive, unless it is posted. 0 or a negative fabric errno. */
int coll_control_open(struct coll_ep *ep);
/* The endpoint is closed, and the receive was cancelled at the owner: it is not in
 * coll_ep.posted any more. */
void coll_control_withdraw(struct coll_ep *ep);
/* Free the memory of the standing receive, and that of messages that were sent. No
 * transfer uses it any more. */
void coll_control_free_standing(struct coll_ep *ep);
void coll_control_free(struct coll_ep *ep);

/* Send a probe to the member @rank. */
void coll_control_probe(struct coll_group *group, uint32_t rank);

/* The group is going away: its probe, if one is under way, ends without effect. */
void coll_control_forget(struct coll_group *group);

/* Tell all other members that the group has failed with @err, a negative fabric
 * errno. */
void coll_control_abort(struct coll_group *group, int err);

#endif
