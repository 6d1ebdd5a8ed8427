/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_LNX_DEFERRED_H
#define WF_LNX_DEFERRED_H

#include "providers/lnx/endpoint.h"

/* Deferred receives at members of other libraries; how they are counted is explained in
 * deferred.c. The lock of the receive context is held, except in
 * lnx_deferred_export_srx and lnx_deferred_srx_opened, which are control calls. */

/* deferred_cntr.c: the operations of the counter that such a member imports to count
 * receives. */
extern struct fi_ops_cntr_owner lnx_deferred_cntr_ops;

/* Count the successful receive that deferred_cntr.c holds back, if there is one: the
 * member has returned from its progress call, or counts another receive. */
void lnx_count_held(struct lnx_rail *rail);

/* Set the receive context's operations in @ops, which the member imports, to those of
 * deferred.c. */
void lnx_deferred_export_srx(struct fi_ops_srx_owner *ops);

/* The member at @rail has imported the receive context: from now on the receive context
 * calls the member's operations through deferred.c. */
void lnx_deferred_srx_opened(struct lnx_rail *rail);

/* The member completed a receive with *@context. If the receive is deferred work, it is
 * counted, and *@context becomes the application's context. If it is a peer transfer,
 * *@ret_is_transfer is true, and *@context becomes that of the peer. Returns whether a
 * success is to be written to the CQ. */
bool lnx_deferred_done(
	struct lnx_rail *rail, void **context, bool failed, bool *ret_is_transfer);

#endif
