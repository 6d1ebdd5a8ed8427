/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>

#include "providers/verbs/data/data.h"
#include "providers/verbs/ud/ud.h"

/* Posting receives to a queue pair. */

static int recv_post(struct verbs_ep *ep, struct ibv_recv_wr *wr)
{
	struct ibv_recv_wr *bad;
	int err = ibv_post_recv(ep->qp, wr, &bad);

	if (wf_likely(!err))
		return 0;
	if (err == ENOMEM)
		return -FI_EAGAIN;
	return verbs_failed(FI_LOG_EP_DATA, "ibv_post_recv", err);
}

static bool recv_has_bare_buffer(const struct wf_op *op)
{
	for (size_t i = 0; i < op->iov_count; i++)
		if (op->iov[i].iov_len && !(op->desc && op->desc[i]))
			return true;
	return false;
}

/*
 * A buffer without descriptor is posted with a key that no region has: messages without
 * payload, which access no buffer, may be all that such a receive is for. Any other
 * message ends it with an error of the device.
 */
int verbs_recv_sges(const struct wf_op *op, struct ibv_sge *sge, bool *ret_bare)
{
	*ret_bare = recv_has_bare_buffer(op);
	if (wf_unlikely(*ret_bare))
		FI_WARN_SPARSE(&verbs_fi, FI_LOG_EP_DATA,
			"a receive has a buffer without memory descriptor, which "
			"FI_MR_LOCAL demands: it can take messages without payload "
			"only\n");
	return verbs_sges(op, false, sge);
}

/* The buffer for the routing header of a datagram. */
static struct ibv_sge recv_header_of(const struct verbs_domain *domain)
{
	return (struct ibv_sge){
		.addr = (uintptr_t)domain->scratch->header,
		.length = VERBS_GRH_SIZE,
		.lkey = domain->scratch_mr->lkey,
	};
}

ssize_t verbs_recv(struct verbs_ep *ep, const struct wf_op *op)
{
	struct verbs_queue *rq = &ep->rq;
	struct ibv_sge sge[1 + VERBS_SGE_MAX];
	struct ibv_recv_wr wr = { .sg_list = sge };
	int headers = ep->ud ? 1 : 0;
	ssize_t ret = -FI_EAGAIN;
	bool bare;

	if (headers)
		sge[0] = recv_header_of(ep->domain);
	wr.num_sge = headers + verbs_recv_sges(op, sge + headers, &bare);
	wf_lock(&ep->ep.lock);
	if (wf_unlikely(!verbs_queue_left(rq) || (ep->ud && verbs_ud_stopped(ep->ud))))
		goto out;
	wr.wr_id = VERBS_WR_RECV | rq->head;
	rq->slots[rq->head & rq->mask] = (struct verbs_wr){
		.context = op->context,
		.flags = op->flags,
		.kind = WF_OP_RECV,
		.bare = bare,
	};
	if (ep->ud)
		verbs_ud_keep(ep->ud, rq->head & rq->mask, &wr);
	ret = recv_post(ep, &wr);
	rq->head += !ret;
out:
	wf_unlock(&ep->ep.lock);
	return ret;
}

size_t verbs_rx_left(struct wf_ep *wf)
{
	return verbs_queue_left(&verbs_ep_of(wf)->rq);
}
