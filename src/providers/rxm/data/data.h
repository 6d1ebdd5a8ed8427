/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef RXM_DATA_H
#define RXM_DATA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "objects/conn/unexp.h"
#include "objects/endpoint/xfer.h"
#include "objects/op/op.h"

/*
 * What the rest of the provider calls in data/: operations, and the packets that come.
 */
struct rxm_ep;
struct rxm_conn;

/* State of one endpoint. */
struct rxm_data {
	char none;
};

/* State of one connection; zeroed with the connection. */
struct rxm_conn_data {
	char none;
};

/* Life of the state of an endpoint and of a connection. init: after struct wf_ep is
 * initialised; 0 or a negative FI_E code. done: nothing uses the endpoint any more. */
int rxm_data_init(struct rxm_ep *ep);
void rxm_data_done(struct rxm_ep *ep);
void rxm_data_conn_init(struct rxm_conn *conn);

/* struct wf_xfer_ops.start, .send_small, .cancel_tx and .tx_left. */
ssize_t rxm_start(struct wf_ep *ep, struct wf_op *op);
ssize_t rxm_send_small(struct wf_ep *ep, enum wf_op_kind kind, const void *buf,
	size_t len, fi_addr_t addr, uint64_t tag);
bool rxm_cancel(struct wf_ep *ep, const struct wf_cancel *which);
size_t rxm_tx_left(struct wf_ep *ep);

extern const struct wf_unexp_ops rxm_unexp_ops;

/*
 * The lock of the receive context and ep.lock are held for all that follow.
 */

/* A message of @len bytes came over @conn: the packet at @packet, which is valid during
 * the call only. @len is not more than RXM_HEADER + ep->buffer_size. @entry: the
 * completion below. The connection may be in state ACCEPTING or CONNECTING. */
void rxm_data_received(struct rxm_conn *conn, const void *packet, size_t len,
	const struct fi_cq_tagged_entry *entry);

/* A message came that names no connection of the endpoint (a shared receive context),
 * or a completion below that belongs to no call, for example of a write with remote CQ
 * data. @conn is NULL where it is not known. */
void rxm_data_event(struct rxm_ep *ep, const struct fi_cq_tagged_entry *entry);

/* The connection is up, or calls have ended: send what waits in conn->waiting, in
 * order, until -FI_EAGAIN. */
void rxm_data_resume(struct rxm_conn *conn);

/* The connection ended with @err, a positive FI_E code, and all its calls have: end the
 * operations that wait for the peer, those in conn->waiting as well, and break its
 * unexpected messages (wf_unexp_break). */
void rxm_data_lost(struct rxm_conn *conn, int err);

/* For the members of remote.pending and conn->waiting, by their link: the operation
 * fails with the positive FI_E code @err; is freed without a report; must be sent
 * before the endpoint is closed, because it was injected or is complete for the
 * application. */
void rxm_data_op_fail(struct wf_list *link, int err);
void rxm_data_op_free(struct wf_list *link);
bool rxm_data_op_is_promised(const struct wf_list *link, const void *arg);

/* Has everything left that was promised and that was started on the connection? */
bool rxm_data_flushed(const struct rxm_conn *conn);

#endif
