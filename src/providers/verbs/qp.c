/* SPDX-License-Identifier: BSD-2-Clause */
#include <assert.h>
#include <errno.h>

#include "providers/verbs/data/data.h"
#include "providers/verbs/device/device.h"
#include "providers/verbs/param.h"
#include "providers/verbs/srx.h"
#include "providers/verbs/ud/ud.h"

/* Queue pairs of endpoints: their creation, their states and their end. */

static uint32_t qp_sends_of(const struct verbs_ep *ep)
{
	/* One more, for the mark of a flush. */
	return (uint32_t)ep->ep.info->tx_attr->size + 1;
}

static uint32_t qp_receives_of(const struct verbs_ep *ep)
{
	return ep->srx ? ep->srx->size : (uint32_t)ep->ep.info->rx_attr->size;
}

/* An endpoint that only sends or only receives may have one CQ. */
struct verbs_cq *verbs_ep_cq(const struct verbs_ep *ep, int direction)
{
	const struct wf_ep *wf = &ep->ep;
	const struct wf_cq *tx = wf->tx_cq ? wf->tx_cq : wf->rx_cq;
	const struct wf_cq *rx = wf->rx_cq ? wf->rx_cq : wf->tx_cq;

	/* fi_enable requires at least one. */
	assert(tx && rx);
	return verbs_cq_of(direction == VERBS_SENDS ? tx : rx);
}

/* A datagram endpoint has one entry more, for the routing header. */
static uint32_t qp_receive_sges(const struct verbs_ep *ep)
{
	size_t limit = WF_MAX(ep->ep.info->rx_attr->iov_limit, (size_t)1);

	return (uint32_t)limit + (ep->ud ? 1 : 0);
}

static int qp_create(struct verbs_ep *ep)
{
	const struct fi_info *info = ep->ep.info;
	struct ibv_qp_init_attr attr = {
		.qp_context = ep,
		.send_cq = verbs_ep_cq(ep, VERBS_SENDS)->cq,
		.recv_cq = verbs_ep_cq(ep, VERBS_RECEIVES)->cq,
		.srq = ep->srx ? ep->srx->srq : NULL,
		.cap = {
			.max_send_wr = qp_sends_of(ep),
			.max_recv_wr = ep->srx ? 0 : qp_receives_of(ep),
			.max_send_sge = (uint32_t)WF_MAX(info->tx_attr->iov_limit, (size_t)1),
			.max_recv_sge = ep->srx ? 0 : qp_receive_sges(ep),
			.max_inline_data = (uint32_t)info->tx_attr->inject_size,
		},
		.qp_type = ep->ep.type == FI_EP_MSG ? IBV_QPT_RC : IBV_QPT_UD,
	};
	uint32_t inline_size = attr.cap.max_inline_data;

	ep->qp = VERBS_IBV(create_qp(ep->domain->pd, &attr));
	if (!ep->qp)
		return verbs_failed(FI_LOG_EP_CTRL, "ibv_create_qp", errno);
	ep->inline_size = WF_MAX(inline_size, attr.cap.max_inline_data);
	return 0;
}

int verbs_qp_init(struct verbs_ep *ep)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.pkey_index = 0,
		.port_num = ep->domain->device->port,
		.qkey = VERBS_UD_QKEY,
		.qp_access_flags = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
				   IBV_ACCESS_REMOTE_WRITE,
	};

	if (ep->domain->device->attr.atomic_cap != IBV_ATOMIC_NONE)
		attr.qp_access_flags |= IBV_ACCESS_REMOTE_ATOMIC;
	return verbs_qp_modify(ep, &attr,
		IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
			(ep->ud ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS));
}

static int qp_add(struct verbs_ep *ep, int direction)
{
	struct verbs_cq *cq = verbs_ep_cq(ep, direction);
	int err;

	wf_lock(&cq->lock);
	err = verbs_finder_add(&cq->finders[direction], ep->qp->qp_num, ep);
	wf_unlock(&cq->lock);
	return err;
}

static int qp_open_queues(struct verbs_ep *ep)
{
	int err = verbs_queue_init(&ep->sq, qp_sends_of(ep));

	if (!err && !ep->srx)
		err = verbs_queue_init(&ep->rq, qp_receives_of(ep));
	return err;
}

static int qp_open(struct verbs_ep *ep)
{
	int err = qp_create(ep);

	if (!err)
		err = qp_open_queues(ep);
	if (!err)
		err = verbs_qp_init(ep);
	if (!err)
		err = qp_add(ep, VERBS_SENDS);
	if (!err)
		err = qp_add(ep, VERBS_RECEIVES);
	return err;
}

int verbs_qp_create(struct verbs_ep *ep)
{
	int err;

	if (ep->ep.srx_ctx)
		ep->srx = ep->ep.srx_ctx->queue;
	err = verbs_cq_reserve(verbs_ep_cq(ep, VERBS_SENDS), qp_sends_of(ep));
	if (err)
		return err;
	err = verbs_cq_reserve(verbs_ep_cq(ep, VERBS_RECEIVES), qp_receives_of(ep));
	if (err)
		goto err_sends;
	err = qp_open(ep);
	if (err && ep->qp)
		/* Releases both reservations. */
		verbs_qp_destroy(ep);
	else if (err)
		goto err_receives;
	return err;

err_receives:
	verbs_cq_release(verbs_ep_cq(ep, VERBS_RECEIVES), qp_receives_of(ep));
err_sends:
	verbs_cq_release(verbs_ep_cq(ep, VERBS_SENDS), qp_sends_of(ep));
	return err;
}

int verbs_qp_modify(struct verbs_ep *ep, struct ibv_qp_attr *attr, int mask)
{
	int err = VERBS_IBV(modify_qp(ep->qp, attr, mask));

	return err ? verbs_failed(FI_LOG_EP_CTRL, "ibv_modify_qp", err) : 0;
}

void verbs_qp_set_error(struct verbs_ep *ep)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	(void)VERBS_IBV(modify_qp(ep->qp, &attr, IBV_QP_STATE));
}

void verbs_qp_fail(struct verbs_ep *ep)
{
	if (!ep->qp)
		return;
	atomic_store_explicit(&ep->failed, true, memory_order_relaxed);
	verbs_qp_set_error(ep);
}

bool verbs_qp_works(const struct verbs_ep *ep)
{
	return atomic_load_explicit(&ep->ready, memory_order_relaxed) &&
	       !atomic_load_explicit(&ep->failed, memory_order_relaxed);
}

/*
 * The number of a destroyed queue pair may be reused for the next one. So no thread may
 * poll between the removal of the endpoint from the finders and the end of its
 * completions: both CQs are locked, in the order of their addresses.
 */
static void qp_lock_both(struct verbs_cq *a, struct verbs_cq *b)
{
	struct verbs_cq *first = a < b ? a : b, *second = a < b ? b : a;

	wf_lock(&first->lock);
	if (first != second)
		wf_lock(&second->lock);
}

static void qp_unlock_both(struct verbs_cq *a, struct verbs_cq *b)
{
	wf_unlock(&a->lock);
	if (a != b)
		wf_unlock(&b->lock);
}

static void qp_destroy_locked(
	struct verbs_ep *ep, struct verbs_cq *tx, struct verbs_cq *rx)
{
	uint32_t number = ep->qp->qp_num;
	int err;

	/* Operations that ended before are reported; those that the end of the queue
	 * pair cancels are not. */
	verbs_cq_drain(tx);
	if (rx != tx)
		verbs_cq_drain(rx);
	ep->closing = true;
	verbs_qp_set_error(ep);
	err = VERBS_IBV(destroy_qp(ep->qp));
	if (err)
		(void)verbs_failed(FI_LOG_EP_CTRL, "ibv_destroy_qp", err);
	verbs_cq_drain(tx);
	if (rx != tx)
		verbs_cq_drain(rx);
	verbs_finder_remove(&tx->finders[VERBS_SENDS], number);
	verbs_finder_remove(&rx->finders[VERBS_RECEIVES], number);
}

void verbs_qp_destroy(struct verbs_ep *ep)
{
	struct verbs_cq *tx, *rx;

	if (!ep->qp)
		return;
	tx = verbs_ep_cq(ep, VERBS_SENDS);
	rx = verbs_ep_cq(ep, VERBS_RECEIVES);
	qp_lock_both(tx, rx);
	qp_destroy_locked(ep, tx, rx);
	qp_unlock_both(tx, rx);
	verbs_cq_release(tx, qp_sends_of(ep));
	verbs_cq_release(rx, qp_receives_of(ep));
	verbs_queue_done(&ep->sq);
	verbs_queue_done(&ep->rq);
	ep->qp = NULL;
	ep->closing = false;
}
