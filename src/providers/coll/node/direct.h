/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_PROVIDERS_COLL_NODE_DIRECT_H
#define WF_PROVIDERS_COLL_NODE_DIRECT_H

#include "providers/coll/node/state.h"

/*
 * Large operations without copies in between: members read each other's buffers by
 * process_vm_readv(2), where all of them may do that. Few steps, so that members that
 * share processors wait rarely.
 *
 * An operation ends at a member when the others have read what they need of its
 * buffers.
 */

/* May this member read the memory of @member? */
bool coll_direct_probe(const struct coll_node *node, uint32_t member);

/* Go on. 1: the operation has ended; 0: it waits, or has done much; else the error.
 * @ret_moved: something was done. */
int coll_direct_advance(struct coll_node *node, bool *ret_moved);

/* Does the operation wait for @member? */
bool coll_direct_needs(const struct coll_node *node, uint32_t member);

#endif
