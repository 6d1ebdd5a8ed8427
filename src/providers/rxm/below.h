/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_RXM_BELOW_H
#define WF_RXM_BELOW_H

#include "providers/rxm/rxm.h"

/* The objects below that all connections of an endpoint share: queues, the listener,
 * and the shared receive context with its buffers. Control calls. rxm_below_open
 * returns 0 or a negative fi_errno, and may be called again after a failure. */
int rxm_below_open(struct rxm_ep *ep);
void rxm_below_close(struct rxm_ep *ep);

/* Are the connections byte streams (tcp)? These hold messages back until the receiver
 * has buffers. */
bool rxm_below_is_stream(const struct rxm_ep *ep);

/* The info for opening an endpoint below with the source address @src. NULL: no
 * memory. */
struct fi_info *rxm_info_below(const struct rxm_ep *ep, const union wf_sockaddr *src);

/* Set the queue sizes in @info, with which an endpoint below is opened. */
void rxm_below_size(const struct rxm_ep *ep, struct fi_info *info);

/*
 * Receive buffers of a shared receive context below, or of one connection. A buffer is
 * posted again when its packet has been handled. Guarded by ep.lock.
 */

/* Allocate @count buffers and post them to @target, for @conn (NULL: any connection). 0
 * or a negative fi_errno. */
int rxm_bufs_new(struct rxm_ep *ep, struct rxm_conn *conn, struct fid_ep *target,
	size_t count, struct rxm_bufs **ret_bufs);
/* Free the buffers, which no endpoint below uses any more. NULL: nothing to do. */
void rxm_bufs_free(struct rxm_bufs *bufs);
/* Post the buffers of a connection that is not held any more. */
void rxm_bufs_post_withheld(struct rxm_conn *conn);
/* Handle the messages in ep->data.held_raw, as far as there is memory for them. */
void rxm_bufs_deliver_raw(struct rxm_ep *ep);
/* Try again to post the buffers that could not be posted. */
void rxm_bufs_post_idle(struct rxm_ep *ep);

#endif
