/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/verbs/data/data.h"
#include "providers/verbs/ud/ud.h"

static void restart_mark(const struct verbs_ep *ep, int direction)
{
	/* release: a thread that loads it also loads that of the endpoint. */
	atomic_store_explicit(
		&verbs_ep_cq(ep, direction)->stopped, true, memory_order_release);
}

void verbs_ud_stop(struct verbs_ep *ep)
{
	atomic_store_explicit(&ep->ud->restart.stopped, true, memory_order_relaxed);
	restart_mark(ep, VERBS_SENDS);
	restart_mark(ep, VERBS_RECEIVES);
}

static uint32_t restart_posted(const struct verbs_queue *queue)
{
	return queue->head - atomic_load_explicit(&queue->tail, memory_order_relaxed);
}

static int restart_reset(struct verbs_ep *ep)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };
	int err = verbs_qp_modify(ep, &attr, IBV_QP_STATE);

	if (!err)
		err = verbs_qp_init(ep);
	return err ? err : verbs_ud_to_rts(ep);
}

static int restart_post_again(struct verbs_ep *ep, uint32_t number)
{
	struct verbs_kept *kept = &ep->ud->restart.kept[number & ep->rq.mask];
	struct ibv_recv_wr *bad, wr = {
		.wr_id = VERBS_WR_RECV | number,
		.sg_list = kept->sge,
		.num_sge = kept->count,
	};
	int err = ibv_post_recv(ep->qp, &wr, &bad);

	return err ? verbs_failed(FI_LOG_EP_DATA, "ibv_post_recv", err) : 0;
}

/* The receive @number will not get a message: fail it. */
static void restart_give_up(struct verbs_ep *ep, uint32_t number)
{
	const struct verbs_wr *wr = &ep->rq.slots[number & ep->rq.mask];
	struct fi_cq_err_entry entry = {
		.op_context = wr->context,
		.flags = FI_RECV | FI_MSG,
		.err = FI_ECANCELED,
		.prov_errno = IBV_WC_WR_FLUSH_ERR,
		.src_addr = FI_ADDR_NOTAVAIL,
	};

	wf_ep_rx_err(&ep->ep, wr->flags, &entry);
}

/* All requests have ended: restart the queue pair. The locks of the endpoint and of its
 * CQs are held. */
static void restart_start(struct verbs_ep *ep)
{
	struct verbs_restart *restart = &ep->ud->restart;
	uint32_t tail = atomic_load_explicit(&ep->rq.tail, memory_order_relaxed);
	int err = restart_reset(ep);

	for (uint32_t i = tail; i != ep->rq.head; i++) {
		if (!err)
			err = restart_post_again(ep, i);
		if (err)
			restart_give_up(ep, i);
	}
	/* If that fails, receives that were posted before the failure fail, too. */
	if (err) {
		atomic_store_explicit(&ep->failed, true, memory_order_relaxed);
		atomic_store_explicit(&ep->rq.tail, ep->rq.head, memory_order_release);
	} else {
		verbs_log(FI_LOG_INFO, FI_LOG_EP_DATA,
			"queue pair %u was stopped by a failed request and is started "
			"again\n",
			ep->qp->qp_num);
	}
	restart->flushed = 0;
	restart->ending = false;
	atomic_store_explicit(&restart->stopped, false, memory_order_relaxed);
}

/* Restart the endpoint if all its requests have ended; false: not yet. The locks of
 * both CQs and of the endpoint are held. */
static bool restart_locked(struct verbs_ep *ep)
{
	struct verbs_restart *restart = &ep->ud->restart;

	if (!restart->ending) {
		/* Some failures stop only one direction; and requests that were posted
		 * after the stop would never end. */
		restart->ending = true;
		verbs_qp_set_error(ep);
	}
	if (restart_posted(&ep->sq) || restart_posted(&ep->rq) != restart->flushed)
		return false;
	restart_start(ep);
	return true;
}

/* Restart the endpoint; false: not yet. cq->lock is held, so that the endpoint is not
 * closed. */
static bool restart_ep(struct verbs_cq *cq, struct verbs_ep *ep)
{
	struct verbs_cq *other = verbs_ep_cq(ep, VERBS_SENDS);
	bool ret = false;

	if (other == cq)
		other = verbs_ep_cq(ep, VERBS_RECEIVES);
	if (other != cq && !wf_trylock(&other->lock))
		return false;
	if (wf_trylock(&ep->ep.lock)) {
		ret = restart_locked(ep);
		wf_unlock(&ep->ep.lock);
	}
	if (other != cq)
		wf_unlock(&other->lock);
	return ret;
}

/* Not inline: it would make the frame of each poll larger. */
__attribute__((noinline)) void verbs_ud_restart(struct verbs_cq *cq)
{
	bool left = false;

	/* The flag is cleared first, so that it stays set if it is set meanwhile.
	 * acquire: pairs with mark. */
	(void)atomic_exchange_explicit(&cq->stopped, false, memory_order_acquire);
	for (int d = VERBS_SENDS; d <= VERBS_RECEIVES; d++) {
		const struct verbs_finder *finder = &cq->finders[d];

		for (uint32_t i = 0; finder->count && i <= finder->mask; i++) {
			struct verbs_ep *ep = finder->slots[i].ep;

			if (ep && ep->ud && verbs_ud_stopped(ep->ud))
				left |= !restart_ep(cq, ep);
		}
	}
	if (left)
		atomic_store_explicit(&cq->stopped, true, memory_order_relaxed);
}
