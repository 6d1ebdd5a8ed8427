/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LNX_DEFERRED_H
#define LNX_DEFERRED_H

#include "providers/lnx/endpoint.h"

/* Deferred receives at members of other libraries; how they are counted is explained in
 * deferred.c. The lock of the receive context is held, except in the two calls for the
 * import of the receive context, which are control calls. */

/* deferred_cntr.c: what such a member calls to count receives. */
extern struct fi_ops_cntr_owner lnx_deferred_cntr_ops;

/* The member moved data and returned, or counts again: count the success that is held.
 */
void lnx_count_held(struct lnx_rail *rail);

/* Put the operations of deferred.c into @ops, which the member is given. */
void lnx_deferred_export_srx(struct fi_ops_srx_owner *ops);

/* The member at @rail imported the receive context: its operations are called through
 * those of deferred.c. */
void lnx_deferred_srx_opened(struct lnx_rail *rail);

/* The member ended a receive with @context. If that is deferred work it is counted, and
 * *@context becomes the application's; or that of the peer, if *@ret_is_transfer.
 * False: the application asked for no entry of a success. */
bool lnx_deferred_done(
	struct lnx_rail *rail, void **context, bool failed, bool *ret_is_transfer);

#endif
