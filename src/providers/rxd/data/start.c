/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "providers/rxd/data/data.h"
#include "providers/rxd/peer.h"
#include "sys/clock.h"
#include "sys/compiler.h"
#include "sys/iov.h"

/* Start the application's operations. */

static const uint8_t types[WF_OP_COUNT] = {
	[WF_OP_SEND] = RXD_MSG,
	[WF_OP_TSEND] = RXD_TAGGED,
	[WF_OP_READ] = RXD_READ,
	[WF_OP_WRITE] = RXD_WRITE,
	[WF_OP_ATOMIC] = RXD_ATOMIC,
	[WF_OP_FETCH] = RXD_FETCH,
	[WF_OP_COMPARE] = RXD_COMPARE,
};

static void start_set_iov(struct rxd_tx *tx, const struct iovec *iov, size_t count)
{
	for (size_t i = 0; i < count; i++)
		tx->iov[i] = iov[i];
	tx->iov_count = count;
}

static void start_set_head(struct rxd_tx *tx, const struct wf_op *op)
{
	struct rxd_op_head *head = &tx->head;

	head->type = types[op->kind];
	head->has_tag = op->kind == WF_OP_TSEND;
	head->tag = op->tag;
	head->has_data = op->flags & FI_REMOTE_CQ_DATA;
	head->data = op->data;
	head->size = tx->len;
	if (op->kind == WF_OP_SEND || op->kind == WF_OP_TSEND)
		return;
	for (size_t i = 0; i < op->rma_count; i++)
		head->rma[i] = op->rma[i];
	head->rma_count = (uint32_t)op->rma_count;
	if (!op->rma_count) {
		head->rma[0] = (struct fi_rma_iov){ .len = 0 };
		head->rma_count = 1;
	}
}

/* Set operands and result buffers. False: no memory. */
static bool start_set_atomic(struct rxd_tx *tx, const struct wf_op *op)
{
	const struct wf_op_atomic *atomic = op->atomic;
	bool compares = op->kind == WF_OP_COMPARE;
	uint8_t *at;

	tx->len = tx->head.size = atomic->size;
	tx->head.datatype = (uint32_t)atomic->datatype;
	tx->head.op = (uint32_t)atomic->op;
	if (!rxd_tx_reserve(tx, 2 * atomic->size))
		return false;
	at = tx->copy;
	if (atomic->op != FI_ATOMIC_READ)
		at += wf_iov_gather(at, op->iov, op->iov_count);
	if (compares)
		at += wf_iov_gather(at, atomic->compare, atomic->compare_count);
	tx->payload = (size_t)(at - tx->copy);
	if (op->kind != WF_OP_ATOMIC)
		start_set_iov(tx, atomic->result, atomic->result_count);
	return true;
}

/*
 * May the message complete at once? A short message to a peer that has answered before
 * belongs to the library once it is copied, as bytes belong to the kernel with TCP: it
 * is complete, and closing the endpoint waits until it is acknowledged. So a sender
 * need not wait for a peer that makes no progress any more.
 */
static bool start_ends_at_once(const struct rxd_tx *tx, const struct wf_op *op)
{
	const uint64_t later = FI_DELIVERY_COMPLETE | FI_TRANSMIT_COMPLETE;

	if (op->atomic || op->kind == WF_OP_READ)
		return false;
	if (!wf_op_is_reported(op->flags))
		return true;
	return op->kind != WF_OP_WRITE && op->len <= RXD_INJECT_SIZE &&
	       !(op->flags & later) && tx->peer->flow.state == RXD_FLOW_OPEN;
}

/* Set the payload. False: no memory. */
static bool start_set_payload(struct rxd_tx *tx, const struct wf_op *op)
{
	if (op->atomic)
		return start_set_atomic(tx, op);
	if (op->kind != WF_OP_READ)
		tx->payload = op->len;
	tx->reported = start_ends_at_once(tx, op);
	if (!(op->flags & FI_INJECT || tx->reported) || op->kind == WF_OP_READ) {
		start_set_iov(tx, op->iov, op->iov_count);
		return true;
	}
	if (!rxd_tx_reserve(tx, op->len))
		return false;
	(void)wf_iov_gather(tx->copy, op->iov, op->iov_count);
	return true;
}

static ssize_t data_rxd_start(
	struct rxd_ep *ep, struct rxd_peer *peer, const struct wf_op *op)
{
	struct rxd_tx *tx = rxd_tx_new(peer, op->kind);

	if (!tx)
		return -FI_EAGAIN;
	tx->flags = op->flags;
	tx->context = op->context;
	tx->len = op->len;
	start_set_head(tx, op);
	if (!start_set_payload(tx, op) ||
		(rxd_tx_is_request(tx) && !rxd_request_add(tx))) {
		rxd_tx_free(tx);
		return -FI_EAGAIN;
	}
	if (tx->reported)
		wf_ep_op_end(&ep->ep, op, 0);
	ep->now_ns = wf_now_ns();
	rxd_tx_send(tx);
	wf_ep_want(&ep->ep);
	return 0;
}

/* A read of no bytes has an empty answer. */
static bool start_is_empty(const struct wf_op *op)
{
	return op->kind == WF_OP_READ && !op->len;
}

ssize_t rxd_start(struct wf_ep *wf, struct wf_op *op)
{
	struct rxd_ep *ep = rxd_ep_of(wf);
	struct rxd_peer *peer;
	ssize_t ret;

	wf_lock(&wf->lock);
	if (wf_unlikely(ep->tx_count >= wf->info->tx_attr->size))
		ret = -FI_EAGAIN;
	else
		ret = rxd_peer_at(ep, op->addr, &peer);
	if (wf_likely(!ret)) {
		if (wf_unlikely(start_is_empty(op)))
			wf_ep_op_end(wf, op, 0);
		else
			ret = data_rxd_start(ep, peer, op);
	}
	wf_unlock(&wf->lock);
	return ret;
}
