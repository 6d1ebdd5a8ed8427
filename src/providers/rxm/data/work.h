/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RXM_WORK_H
#define RXM_WORK_H

#include "providers/rxm/conn/conn.h"

/*
 * What is sent over a connection: operations, answers, reads that fetch a message. It
 * is sent at once, or waits in conn->waiting, or in remote.pending of a peer that has
 * no connection. ep.lock is held.
 */
struct rxm_work;

struct rxm_work_ops {
	/* Send the next packets, or start the next operations below. 0: all of them
	 * were taken. -FI_EAGAIN: the work goes on later, with what was not taken.
	 * Another negative code: it failed, and what was taken ends by its calls. */
	ssize_t (*send)(struct rxm_conn *conn, struct rxm_work *work);
	/* Nothing more will be sent, because of the positive FI_E code @err. What was
	 * taken below ends by its calls. The lock of the receive context is held if
	 * @receives. */
	void (*fail)(struct rxm_work *work, int err);
	/* Free the work without a report; nothing of it is below. */
	void (*free)(struct rxm_work *work);
	/* Must it be sent before the endpoint is closed? */
	bool (*is_promised)(const struct rxm_work *work);
	/* Is it an operation of the application that @which names, of which nothing was
	 * sent? NULL: never. */
	bool (*is)(const struct rxm_work *work, const struct wf_cancel *which);
	/* The operation of the application, of which nothing was sent; NULL: it is
	 * none. May be NULL: it never is one. */
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

/* Let an operation that waits for others of @conn go on if these have ended. */
void rxm_fence_check(struct rxm_conn *conn);
/* @link was taken out of conn->waiting. */
void rxm_fence_removed(struct rxm_conn *conn, const struct wf_list *link);

/* Send @work over @conn, or queue it there. It is no operation of which nothing was
 * sent.
 */
void rxm_work_go(struct rxm_conn *conn, struct rxm_work *work);

/* Queue the answer of @len bytes at @packet, or send it at once. Without memory the
 * connection fails. */
void rxm_answer(struct rxm_conn *conn, const void *packet, size_t len);
/* The answer RXM_RDV_READ or RXM_RDV_WRITTEN. */
void rxm_answer_end(struct rxm_conn *conn, uint8_t kind, uint64_t msg_id);

#endif
