/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_LOCAL_UNREAD_H
#define WF_OBJECTS_LOCAL_UNREAD_H

#include "objects/local/local.h"
#include "sys/list.h"

/*
 * Messages that a process left unread in memory when it died. In memory a message is
 * complete for the application before the peer has begun to receive it, whatever its
 * completion level. Over a socket it would have failed, or waited for the next process
 * at the peer's address. So it waits for that process at the front of the operations
 * that are pending for the peer, before all that were posted later, and its end is not
 * reported again. The lock of the endpoint above and that of the receive context are
 * held.
 */
struct wf_local_left {
	/* Is the pending operation @link such a message, of which nothing was sent? */
	bool (*is_left)(const struct wf_list *link);
	/* Keep the message @op of @ep, with a copy of its payload, as an operation that
	 * is in no list yet; its end will not be reported. NULL: no memory. */
	struct wf_list *(*keep)(struct wf_ep *ep, const struct wf_op *op);
};

/* End the connection below to @peer with the positive fi_errno @err, as
 * wf_local_remove. If @err is not 0, the messages that the peer, whose address is
 * @addr, left unread are inserted into @pending. Returns whether there are any: a
 * connection is wanted. */
bool wf_local_take_over(struct wf_local *below, fi_addr_t peer, int err,
	const union wf_sockaddr *addr, struct wf_list *pending,
	const struct wf_local_left *left);

/* A connection ends: move messages that an earlier process left unread, and that are
 * still in @queue, to @pending. Returns whether there are any. */
bool wf_local_keep_left(struct wf_list *queue, struct wf_list *pending,
	const struct wf_local_left *left);

#endif
