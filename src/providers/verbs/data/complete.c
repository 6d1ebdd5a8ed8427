/* SPDX-License-Identifier: BSD-2-Clause */
#include <arpa/inet.h>

#include "providers/verbs/cm/cm.h"
#include "providers/verbs/data/data.h"
#include "providers/verbs/device/device.h"
#include "providers/verbs/srx.h"
#include "providers/verbs/ud/ud.h"

/*
 * Completions of the device become completions of operations. Requests of one direction
 * of a queue pair end in order, so a completion also means that all earlier requests
 * without a completion have succeeded.
 */

enum { SOFT_ROCE = 0xffffff }; /* vendor id of the kernel's rdma_rxe */

/* The positive fi_errno of a failure. */
static int complete_error_of(enum ibv_wc_status status)
{
	switch (status) {
	case IBV_WC_WR_FLUSH_ERR:
		return FI_ECANCELED;
	case IBV_WC_LOC_PROT_ERR:
	case IBV_WC_LOC_ACCESS_ERR:
	case IBV_WC_MW_BIND_ERR:
		return FI_EINVAL;
	case IBV_WC_REM_ACCESS_ERR:
		return FI_EACCES;
	case IBV_WC_RNR_RETRY_EXC_ERR:
		return FI_ENORX;
	case IBV_WC_RETRY_EXC_ERR:
	case IBV_WC_RESP_TIMEOUT_ERR:
		return FI_ETIMEDOUT;
	case IBV_WC_REM_ABORT_ERR:
		return FI_ECONNABORTED;
	default:
		return FI_EIO;
	}
}

/* Requests that a disconnection flushes are not logged. */
static void complete_log_failure(const char *what, const struct ibv_wc *wc)
{
	if (wc->status != IBV_WC_WR_FLUSH_ERR)
		verbs_log(FI_LOG_INFO, FI_LOG_EP_DATA,
			"%s of queue pair %u failed: %s (%d, vendor %u)\n", what,
			wc->qp_num, VERBS_IBV(wc_status_str(wc->status)), wc->status,
			wc->vendor_err);
}

static __attribute__((noinline)) void complete_send_failed(
	struct verbs_ep *ep, const struct verbs_wr *wr, const struct ibv_wc *wc)
{
	const struct wf_op_report *report = &wf_op_reports[wr->kind];
	struct fi_cq_err_entry entry = {
		.op_context = wr->context,
		.flags = report->comp_flags,
		.err = complete_error_of(wc->status),
		.prov_errno = (int)wc->status,
		.src_addr = FI_ADDR_NOTAVAIL,
	};

	complete_log_failure("a request", wc);
	if (!ep->closing)
		wf_ep_tx_fail(&ep->ep, report->cntr, wr->flags, &entry);
}

static inline void complete_sent(struct verbs_ep *ep, const struct verbs_wr *wr)
{
	const struct wf_op_report *report = &wf_op_reports[wr->kind];

	wf_ep_tx_done(&ep->ep, report->cntr, wr->context, wr->flags, report->comp_flags,
		wr->len);
}

/* The requests without a completion before request @number, which has one, succeeded.
 * Returns the slot of that request. */
static inline const struct verbs_wr *complete_sent_before(
	struct verbs_ep *ep, uint32_t number)
{
	const struct verbs_queue *sq = &ep->sq;
	uint32_t tail = atomic_load_explicit(&sq->tail, memory_order_relaxed);

	/* Complete the earlier requests without a completion; marks always have one. */
	for (; wf_unlikely(tail != number); tail++)
		complete_sent(ep, &sq->slots[tail & sq->mask]);
	return &sq->slots[number & sq->mask];
}

/* The slots up to request @number are free again. */
static inline void complete_give_back(struct verbs_queue *queue, uint32_t number)
{
	/* release: pairs with verbs_queue_left. */
	atomic_store_explicit(&queue->tail, number + 1, memory_order_release);
}

/*
 * Was the message longer than the receive? Some devices report the answer that they
 * gave to the sender. Soft-RoCE has one status for that and for a buffer that is not
 * registered.
 */
static bool complete_is_too_long(
	const struct verbs_ep *ep, const struct verbs_wr *wr, enum ibv_wc_status status)
{
	return status == IBV_WC_LOC_LEN_ERR || status == IBV_WC_REM_INV_REQ_ERR ||
	       (status == IBV_WC_LOC_QP_OP_ERR && !wr->bare &&
		       ep->domain->device->attr.vendor_id == SOFT_ROCE);
}

/* The positive fi_errno of a receive that failed. */
static int complete_receive_error(
	const struct verbs_ep *ep, const struct verbs_wr *wr, enum ibv_wc_status status)
{
	if (complete_is_too_long(ep, wr, status))
		return FI_ETRUNC;
	if (wr->bare && status == IBV_WC_LOC_QP_OP_ERR)
		return FI_EINVAL;
	return complete_error_of(status);
}

static __attribute__((noinline)) void complete_receive_failed(
	struct verbs_ep *ep, const struct verbs_wr *wr, const struct ibv_wc *wc)
{
	struct fi_cq_err_entry entry = {
		.op_context = wr->context,
		.flags = FI_RECV | FI_MSG,
		.err = complete_receive_error(ep, wr, wc->status),
		.prov_errno = (int)wc->status,
		.src_addr = FI_ADDR_NOTAVAIL,
	};

	complete_log_failure("a receive", wc);
	if (!ep->closing)
		wf_ep_rx_err(&ep->ep, wr->flags, &entry);
}

/* A write with remote CQ data consumed a receive: the completion has its context, but
 * no message is counted. */
static __attribute__((noinline)) void complete_written(
	struct verbs_ep *ep, const struct verbs_wr *wr, const struct ibv_wc *wc)
{
	ssize_t ret = wf_cq_write(ep->ep.rx_cq, wr->context,
		FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA, wc->byte_len, NULL,
		ntohl(wc->imm_data), 0, FI_ADDR_NOTAVAIL);

	if (wf_unlikely(ret < 0))
		wf_ep_lost(&ep->ep, ret);
}

static inline void complete_received(
	struct verbs_ep *ep, const struct verbs_wr *wr, const struct ibv_wc *wc)
{
	uint64_t comp_flags = FI_RECV | FI_MSG, flags = wr->flags, data = 0;
	size_t len = wc->byte_len;

	if (wf_unlikely(wc->opcode == IBV_WC_RECV_RDMA_WITH_IMM)) {
		complete_written(ep, wr, wc);
		return;
	}
	if (wc->wc_flags & IBV_WC_WITH_IMM) {
		comp_flags |= FI_REMOTE_CQ_DATA;
		data = ntohl(wc->imm_data);
	}
	/* A receive of a shared context has no information on the endpoint's CQ. */
	if (ep->srx)
		flags |= ep->ep.rx.forced;
	if (ep->ud)
		len = len > VERBS_GRH_SIZE ? len - VERBS_GRH_SIZE : 0;
	wf_ep_rx_done(&ep->ep, wr->context, flags, comp_flags, len, NULL, data, 0,
		FI_ADDR_NOTAVAIL);
}

/* The contents of the request that @wc ends. Those of a shared context are free for
 * the next one at once. */
static inline struct verbs_wr complete_take_receive(
	struct verbs_ep *ep, uint32_t number)
{
	if (ep->srx)
		return verbs_srx_take(ep->srx, number);
	return ep->rq.slots[number & ep->rq.mask];
}

static inline void complete_end_receive(struct verbs_ep *ep, uint32_t number)
{
	if (!ep->srx)
		complete_give_back(&ep->rq, number);
}

static inline void complete_succeeded(
	struct verbs_ep *ep, int direction, const struct ibv_wc *wc)
{
	uint32_t number = (uint32_t)wc->wr_id;
	const struct verbs_wr *request;
	struct verbs_wr wr;

	if (direction == VERBS_RECEIVES) {
		wr = complete_take_receive(ep, number);
		complete_received(ep, &wr, wc);
		complete_end_receive(ep, number);
		return;
	}
	request = complete_sent_before(ep, number);
	if (wf_likely(request->kind != VERBS_MARK))
		complete_sent(ep, request);
	complete_give_back(&ep->sq, number);
}

/* A failed request ends a connection, and stops a datagram endpoint. */
static void complete_stop(struct verbs_ep *ep)
{
	if (ep->ud)
		verbs_ud_stop(ep);
	else
		verbs_cm_lost(ep);
}

/* Is it a receive that was returned because a datagram endpoint was stopped? It is
 * posted again. */
static bool complete_is_returned(const struct verbs_ep *ep, const struct ibv_wc *wc)
{
	return ep->ud && wc->status == IBV_WC_WR_FLUSH_ERR && !ep->closing &&
	       !atomic_load_explicit(&ep->failed, memory_order_relaxed);
}

static __attribute__((noinline)) void complete_failed(
	struct verbs_ep *ep, int direction, const struct ibv_wc *wc)
{
	uint32_t number = (uint32_t)wc->wr_id;
	const struct verbs_wr *request;
	struct verbs_wr wr;

	if (!ep->closing)
		complete_stop(ep);
	if (direction == VERBS_RECEIVES && complete_is_returned(ep, wc)) {
		ep->ud->restart.flushed++;
	} else if (direction == VERBS_RECEIVES) {
		wr = complete_take_receive(ep, number);
		complete_receive_failed(ep, &wr, wc);
		complete_end_receive(ep, number);
	} else {
		request = complete_sent_before(ep, number);
		if (request->kind != VERBS_MARK)
			complete_send_failed(ep, request, wc);
		complete_give_back(&ep->sq, number);
	}
}

void verbs_complete(struct verbs_cq *cq, const struct ibv_wc *wc)
{
	int direction = wc->wr_id & VERBS_WR_RECV ? VERBS_RECEIVES : VERBS_SENDS;
	struct verbs_ep *ep = verbs_finder_get(&cq->finders[direction], wc->qp_num);

	if (wf_unlikely(!ep))
		/* The completion of a queue pair that was destroyed. */
		return;
	if (wf_likely(wc->status == IBV_WC_SUCCESS))
		complete_succeeded(ep, direction, wc);
	else
		complete_failed(ep, direction, wc);
}
