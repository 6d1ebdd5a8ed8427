/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>
#include <errno.h>

#include "providers/verbs/cm/cm.h"
#include "providers/verbs/data/data.h"
#include "providers/verbs/ud/ud.h"

/*
 * Starting operations: sends, and the posting of all kinds of requests.
 *
 * A request asks the device for a completion if its end has to be reported or counted;
 * of the others one for each half of the queue does, so that the queue empties. Small
 * payloads are in the request itself (inline), and need no memory descriptor.
 */

int verbs_sges(const struct wf_op *op, bool need_desc, struct ibv_sge *sge)
{
	for (size_t i = 0; i < op->iov_count; i++) {
		const void *desc = op->desc ? op->desc[i] : NULL;

		if (wf_unlikely(need_desc && !desc && op->iov[i].iov_len)) {
			verbs_log(FI_LOG_WARN, FI_LOG_EP_DATA,
				"operation refused: a buffer without memory "
				"descriptor, which FI_MR_LOCAL demands\n");
			return -FI_EINVAL;
		}
		sge[i] = (struct ibv_sge){
			.addr = (uintptr_t)op->iov[i].iov_base,
			.length = (uint32_t)op->iov[i].iov_len,
			.lkey = verbs_lkey(desc),
		};
	}
	return (int)op->iov_count;
}

int verbs_fill_send(
	const struct verbs_ep *ep, const struct wf_op *op, struct verbs_send *send)
{
	bool is_inline = op->len <= ep->inline_size;
	int count = verbs_sges(op, !is_inline, send->sge);

	if (wf_unlikely(count < 0))
		return count;
	send->wr = (struct ibv_send_wr){
		.sg_list = send->sge,
		.num_sge = count,
		.opcode = IBV_WR_SEND,
		.send_flags = is_inline ? IBV_SEND_INLINE : 0,
	};
	if (op->flags & FI_REMOTE_CQ_DATA) {
		send->wr.opcode = IBV_WR_SEND_WITH_IMM;
		send->wr.imm_data = htonl((uint32_t)op->data);
	}
	return 0;
}

/* Do the application, a counter or deferred work wait for the end of @op? */
static bool send_is_awaited(const struct verbs_ep *ep, const struct wf_op *op)
{
	return op->flags & (FI_COMPLETION | WF_OP_WORK | FI_PEER_TRANSFER) ||
	       wf_ep_counts(&ep->ep, wf_op_reports[op->kind].cntr);
}

static int send_post_failed(int err)
{
	if (err == ENOMEM)
		return -FI_EAGAIN;
	return verbs_failed(FI_LOG_EP_DATA, "ibv_post_send", err);
}

/* Post @wr as the next request of the queue. ep->lock is held. */
static ssize_t send_put(struct verbs_ep *ep, const struct verbs_wr *slot, bool awaited,
	struct ibv_send_wr *wr)
{
	struct verbs_queue *sq = &ep->sq;
	struct ibv_send_wr *bad;
	int err;

	/* A datagram has no address to mark a flush with: all of them tell their
	 * end. */
	if (awaited || ep->ud || verbs_queue_is_due(sq)) {
		wr->send_flags |= IBV_SEND_SIGNALED;
		awaited = true;
	}
	wr->wr_id = sq->head;
	sq->slots[sq->head & sq->mask] = *slot;
	err = ibv_post_send(ep->qp, wr, &bad);
	if (wf_unlikely(err))
		return send_post_failed(err);
	verbs_queue_posted(sq, awaited);
	return 0;
}

static ssize_t send_post_once(
	struct verbs_ep *ep, const struct wf_op *op, struct verbs_send *send)
{
	const struct verbs_wr slot = {
		.context = op->context,
		.flags = op->flags,
		.len = (uint32_t)op->len,
		.kind = (uint8_t)op->kind,
	};
	ssize_t ret = -FI_EAGAIN;

	wf_lock(&ep->ep.lock);
	/* One slot is reserved for the mark of a flush. */
	if (wf_likely(verbs_queue_left(&ep->sq) > 1))
		ret = send_put(ep, &slot, send_is_awaited(ep, op), &send->wr);
	wf_unlock(&ep->ep.lock);
	return ret;
}

/* Operations without an entry do not fill the CQ, so an application that posts no
 * others need not read it: poll it now. */
static ssize_t send_post_again(
	struct verbs_ep *ep, const struct wf_op *op, struct verbs_send *send)
{
	struct wf_progress *source = ep->ep.tx_cq->source;

	if (op->flags & FI_COMPLETION)
		return -FI_EAGAIN;
	source->run(source);
	return send_post_once(ep, op, send);
}

ssize_t verbs_post(struct verbs_ep *ep, const struct wf_op *op, struct verbs_send *send)
{
	ssize_t ret;

	if (wf_unlikely(op->flags & FI_FENCE))
		send->wr.send_flags |= IBV_SEND_FENCE;
	ret = send_post_once(ep, op, send);
	return wf_unlikely(ret == -FI_EAGAIN) ? send_post_again(ep, op, send) : ret;
}

static int send_fill(
	const struct verbs_ep *ep, const struct wf_op *op, struct verbs_send *send)
{
	switch (op->kind) {
	case WF_OP_SEND:
		return verbs_fill_send(ep, op, send);
	case WF_OP_READ:
	case WF_OP_WRITE:
		return verbs_fill_rma(ep, op, send);
	default:
		return verbs_fill_atomic(ep, op, send);
	}
}

/* Log that the endpoint is not connected, unless it is connected or will be. 0 or a
 * negative fi_errno. */
static int send_not_connected(struct verbs_ep *ep)
{
	int err = verbs_cm_not_ready(ep);

	if (err != -FI_ENOTCONN)
		return err;
	verbs_log(FI_LOG_WARN, FI_LOG_EP_DATA,
		"operation refused: the endpoint is not connected\n");
	return err;
}

ssize_t verbs_start(struct wf_ep *wf, struct wf_op *op)
{
	struct verbs_ep *ep = verbs_ep_of(wf);
	struct verbs_send send;
	int err = 0;

	if (op->kind == WF_OP_RECV)
		return verbs_recv(ep, op);
	/* acquire: pairs with the release of the connection manager. */
	if (wf_unlikely(!atomic_load_explicit(&ep->ready, memory_order_acquire)))
		err = send_not_connected(ep);
	if (wf_likely(!err))
		err = send_fill(ep, op, &send);
	if (ep->ud && wf_likely(!err))
		err = verbs_ud_fill(ep, op, &send.wr);
	return wf_unlikely(err) ? err : verbs_post(ep, op, &send);
}

size_t verbs_tx_left(struct wf_ep *wf)
{
	return verbs_queue_left(&verbs_ep_of(wf)->sq) - 1;
}

/* Post a write of no bytes, for which no key is needed. */
static void send_put_mark(struct verbs_ep *ep)
{
	const struct verbs_wr slot = { .kind = VERBS_MARK };
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE };

	(void)send_put(ep, &slot, true, &wr);
}

bool verbs_flushed(struct wf_ep *wf)
{
	struct verbs_ep *ep = verbs_ep_of(wf);

	if (!ep->qp || verbs_queue_left(&ep->sq) == ep->sq.capacity ||
		!verbs_qp_works(ep))
		return true;
	/* A peer that died acknowledges nothing. */
	verbs_cm_check(ep);
	if (ep->sq.unsignalled)
		send_put_mark(ep);
	return false;
}
