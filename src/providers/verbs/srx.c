/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/verbs/srx.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "providers/verbs/data/data.h"
#include "providers/verbs/device/device.h"
#include "providers/verbs/param.h"

static int srx_create(struct verbs_srx *srx, const struct verbs_domain *domain)
{
	const struct fi_rx_attr *attr = srx->ctx->ep.info->rx_attr;
	size_t size = attr->size ? attr->size : verbs_params.rx_size;
	struct ibv_srq_init_attr init = {
		.attr.max_wr = (uint32_t)size,
		.attr.max_sge = (uint32_t)attr->iov_limit,
	};

	if (size > (size_t)domain->device->attr.max_srq_wr) {
		verbs_log(FI_LOG_WARN, FI_LOG_EP_CTRL,
			"fi_srx_context: size %zu asked for, possible %d\n", size,
			domain->device->attr.max_srq_wr);
		return -FI_EINVAL;
	}
	srx->srq = VERBS_IBV(create_srq(domain->pd, &init));
	if (!srx->srq)
		return verbs_failed(FI_LOG_EP_CTRL, "ibv_create_srq", errno);
	srx->size = (uint32_t)size;
	return 0;
}

static void srx_free(struct verbs_srx *srx)
{
	if (srx->srq)
		(void)VERBS_IBV(destroy_srq(srx->srq));
	free(srx->next);
	free(srx->slots);
	free(srx);
}

static int srx_open_slots(struct verbs_srx *srx)
{
	assert(srx->size);
	srx->slots = calloc(srx->size, sizeof(*srx->slots));
	srx->next = calloc(srx->size, sizeof(*srx->next));
	if (!srx->slots || !srx->next)
		return -FI_ENOMEM;
	for (uint32_t i = 0; i < srx->size; i++)
		srx->next[i] = i + 1;
	return 0;
}

static int srx_open_queue(struct wf_srx_ctx *ctx)
{
	struct verbs_srx *srx = calloc(1, sizeof(*srx));
	int err;

	if (!srx)
		return -FI_ENOMEM;
	srx->ctx = ctx;
	err = srx_create(srx, verbs_domain_of(ctx->ep.domain));
	if (!err)
		err = srx_open_slots(srx);
	if (err) {
		srx_free(srx);
		return err;
	}
	ctx->queue = srx;
	return 0;
}

static void srx_close_queue(struct wf_srx_ctx *ctx)
{
	srx_free(ctx->queue);
}

static int verbs_srx_post(struct verbs_srx *srx, struct ibv_recv_wr *wr)
{
	struct ibv_recv_wr *bad;
	int err = ibv_post_srq_recv(srx->srq, wr, &bad);

	if (wf_likely(!err))
		return 0;
	if (err == ENOMEM)
		return -FI_EAGAIN;
	return verbs_failed(FI_LOG_EP_DATA, "ibv_post_srq_recv", err);
}

/* Post @wr from the first free slot, if there is one. */
static ssize_t srx_put(struct verbs_srx *srx, const struct wf_op *op, bool bare,
	struct ibv_recv_wr *wr)
{
	uint32_t slot = srx->free;
	ssize_t ret;

	if (wf_unlikely(slot == srx->size))
		return -FI_EAGAIN;
	wr->wr_id = VERBS_WR_RECV | slot;
	srx->slots[slot] = (struct verbs_wr){
		.context = op->context,
		.flags = op->flags,
		.kind = WF_OP_RECV,
		.bare = bare,
	};
	ret = verbs_srx_post(srx, wr);
	if (!ret)
		srx->free = srx->next[slot];
	return ret;
}

static ssize_t srx_start(struct wf_ep *ep, struct wf_op *op)
{
	struct wf_srx_ctx *ctx = wf_container_of(ep, struct wf_srx_ctx, ep);
	struct verbs_srx *srx = ctx->queue;
	struct ibv_sge sge[VERBS_SGE_MAX];
	struct ibv_recv_wr wr = { .sg_list = sge };
	ssize_t ret;
	bool bare;

	if (wf_unlikely(op->kind != WF_OP_RECV))
		return -FI_ENOSYS;
	wr.num_sge = verbs_recv_sges(op, sge, &bare);
	wf_lock(&ep->lock);
	ret = srx_put(srx, op, bare, &wr);
	wf_unlock(&ep->lock);
	return ret;
}

struct verbs_wr verbs_srx_take(struct verbs_srx *srx, uint32_t number)
{
	struct verbs_wr wr;

	wf_lock(&srx->ctx->ep.lock);
	wr = srx->slots[number];
	srx->next[number] = srx->free;
	srx->free = number;
	wf_unlock(&srx->ctx->ep.lock);
	return wr;
}

const struct wf_shared_rx_ops verbs_shared_rx = {
	.open = srx_open_queue,
	.close = srx_close_queue,
	.start = srx_start,
};
