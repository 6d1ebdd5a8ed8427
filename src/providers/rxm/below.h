/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RXM_BELOW_H
#define RXM_BELOW_H

#include "providers/rxm/rxm.h"

/* The objects below that all connections of an endpoint share: queues, the listener,
 * and the shared receive context with its buffers. Control calls; open: 0 or a negative
 * FI_E code, may be called again. */
int rxm_below_open(struct rxm_ep *ep);
void rxm_below_close(struct rxm_ep *ep);

/* What an endpoint below is opened with, at @src. NULL: no memory. */
struct fi_info *rxm_info_below(const struct rxm_ep *ep, const union wf_sockaddr *src);

/* Set the sizes of the queues that an endpoint below is opened with. */
void rxm_below_size(const struct rxm_ep *ep, struct fi_info *info);

/*
 * Receive buffers of a shared receive context below or of one connection. A buffer is
 * posted again when its packet was handled. ep.lock guards them.
 */

/* Post @count buffers to @target for @conn (NULL: any connection). 0 or a negative FI_E
 * code. */
int rxm_bufs_new(struct rxm_ep *ep, struct rxm_conn *conn, struct fid_ep *target,
	size_t count, struct rxm_bufs **ret_bufs);
/* Nothing uses the buffers below any more. NULL: nothing to do. */
void rxm_bufs_free(struct rxm_bufs *bufs);
/* Try again to post what could not be posted. */
void rxm_bufs_post_idle(struct rxm_ep *ep);

#endif
