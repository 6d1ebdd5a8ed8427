/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_RXM_DATA_WORK_H
#define WF_RXM_DATA_WORK_H

#include "providers/rxm/conn/conn.h"

/*
 * A work: something to send over a connection, that is, an operation, an answer, or the
 * reads that fetch a message. It is sent at once, or waits in conn->waiting or, if the
 * peer has no connection, in remote.pending. ep.lock is held.
 */
struct rxm_work;

struct rxm_work_ops {
	/* Send the next packets, or start the next operations below. Returns 0: all
	 * were taken; -FI_EAGAIN: the work is called again for those that were not
	 * taken; another negative fi_errno: it failed; what was taken ends by its
	 * calls. */
	ssize_t (*send)(struct rxm_conn *conn, struct rxm_work *work);
	/* No more of the work will be sent, because of the positive fi_errno @err. What
	 * was taken below ends by its calls. If the work is a receive's, the lock of
	 * the receive context is held. */
	void (*fail)(struct rxm_work *work, int err);
	/* Free the work without a report; nothing of it has been taken below. */
	void (*free)(struct rxm_work *work);
	/* Must the work be sent before the endpoint is closed? */
	bool (*is_promised)(const struct rxm_work *work);
	/* Is the work an operation of the application that @which selects, of which
	 * nothing was sent? NULL: never. */
	bool (*is)(const struct rxm_work *work, const struct wf_cancel *which);
	/* The application's operation that the work is, if nothing of it was sent, else
	 * NULL. May be NULL: the work is never an operation. */
	const struct wf_op *(*fresh)(const struct rxm_work *work);
};

struct rxm_work {
	struct wf_list link;
	const struct rxm_work_ops *ops;
};

static inline struct rxm_work *rxm_work_of(const struct wf_list *link)
{
	return wf_list_entry(link, struct rxm_work, link);
}

/* Let an operation that waits for others of @conn continue if these have ended. */
void rxm_fence_check(struct rxm_conn *conn);
/* The work with @link was removed from conn->waiting. */
void rxm_fence_removed(struct rxm_conn *conn, const struct wf_list *link);

/* Send @work over @conn, or queue it there. It must not be an operation of which
 * nothing was sent. */
void rxm_work_send(struct rxm_conn *conn, struct rxm_work *work);

/* Queue the answer of @len bytes at @packet, or send it at once. If there is no memory,
 * the connection fails. */
void rxm_answer(struct rxm_conn *conn, const void *packet, size_t len);
/* Send the answer RXM_RDV_READ or RXM_RDV_WRITTEN. */
void rxm_answer_end(struct rxm_conn *conn, uint8_t kind, uint64_t msg_id);

#endif
