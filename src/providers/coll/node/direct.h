/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_COLL_NODE_DIRECT_H
#define WF_COLL_NODE_DIRECT_H

#include "providers/coll/node/state.h"

/*
 * Large operations without intermediate copies: members read each other's buffers by
 * process_vm_readv(2), if all of them are permitted to. They take few steps, so members
 * that share processors seldom wait.
 *
 * An operation ends at a member when the other members have read what they need of its
 * buffers.
 */

/* May this member read the memory of @member? */
bool coll_direct_probe(const struct coll_node *node, uint32_t member);

/* Continue the operation. Returns 1: it has ended; 0: it waits, or the call has
 * processed enough; or a negative fi_errno. *@ret_moved: something was done. */
int coll_direct_advance(struct coll_node *node, bool *ret_moved);

/* Does the operation wait for @member? */
bool coll_direct_needs(const struct coll_node *node, uint32_t member);

#endif
