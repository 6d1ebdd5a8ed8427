/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "providers/tcp/context.h"
#include "providers/tcp/conn/peer.h"

/* Contexts of scalable endpoints; see the header. */

static struct tcp_ep *context_core_of(struct wf_ep *ctx)
{
	return tcp_ep_of(wf_ep_core(ctx));
}

static bool context_transmits(const struct wf_ep *ctx)
{
	return ctx->fid.fid.fclass == FI_CLASS_TX_CTX;
}

static struct tcp_source *context_source_of(struct wf_ep *ctx)
{
	return &context_core_of(ctx)->contexts[ctx->ctx_index];
}

static ssize_t context_start(struct wf_ep *ctx, struct wf_op *op)
{
	return tcp_post(context_core_of(ctx), context_source_of(ctx), op);
}

/* Progress of a context is progress of the core; a thread that finds the core's lock
 * held does nothing. */
static void context_progress(struct wf_ep *ctx)
{
	struct wf_ep *core = wf_ep_core(ctx);

	if (!wf_trylock(&core->lock))
		return;
	tcp_progress(core);
	wf_unlock(&core->lock);
}

static int context_enable(struct wf_ep *ctx)
{
	struct tcp_source *from;

	if (!context_transmits(ctx))
		return 0;
	from = context_source_of(ctx);
	wf_lock(&wf_ep_core(ctx)->lock);
	*from = (struct tcp_source){ ctx, 0, ctx->info->tx_attr->size };
	wf_unlock(&wf_ep_core(ctx)->lock);
	return 0;
}

static bool context_cancel(struct wf_ep *ctx, const struct wf_cancel *which)
{
	struct wf_ep *core = wf_ep_core(ctx);
	bool found;

	if (!context_transmits(ctx))
		return false;
	wf_lock(&core->lock);
	found = tcp_cancel_from(tcp_ep_of(core), context_source_of(ctx), which);
	wf_unlock(&core->lock);
	return found;
}

static size_t context_tx_left(struct wf_ep *ctx)
{
	struct wf_ep *core = wf_ep_core(ctx);
	size_t left;

	if (!context_transmits(ctx))
		return 0;
	wf_lock(&core->lock);
	left = tcp_source_left(context_source_of(ctx));
	wf_unlock(&core->lock);
	return left;
}

static void context_destroy(struct wf_ep *ctx)
{
	struct tcp_ep *ep = context_core_of(ctx);

	if (ctx->enabled) {
		wf_ep_srx_lock(&ep->ep);
		wf_lock(&ep->ep.lock);
		if (context_transmits(ctx))
			tcp_context_close_tx(ep, context_source_of(ctx));
		else
			tcp_context_close_rx(ep, ctx);
		wf_unlock(&ep->ep.lock);
		wf_ep_srx_unlock(&ep->ep);
	}
	wf_sep_free_context(ctx);
}

static const struct wf_xfer_ops ctx_xfer_ops = {
	.lock_kind = WF_LOCK_MUTEX,
	.start = context_start,
	.progress = context_progress,
	.srx_ops = &wf_unexp_srx_ops,
	.srx_addr = wf_unexp_srx_addr,
	.enable = context_enable,
	.cancel_tx = context_cancel,
	.destroy = context_destroy,
	.tx_left = context_tx_left,
};

static int contexts_new(struct tcp_ep *ep)
{
	int ret = wf_sep_init(&ep->ep, &ctx_xfer_ops);

	if (ret)
		return ret;
	ep->contexts =
		calloc(WF_MAX(wf_sep_tx_count(&ep->ep), 1), sizeof(*ep->contexts));
	if (!ep->contexts)
		return -FI_ENOMEM;
	ep->rx_contexts = (unsigned int)WF_MAX(wf_sep_rx_count(&ep->ep), 1);
	return 0;
}

void tcp_contexts_free(struct tcp_ep *ep)
{
	free(ep->contexts);
	ep->contexts = NULL;
}

int tcp_scalable_ep(struct wf_domain *domain, struct fi_info *info,
	struct fid_ep **ret_sep, void *context)
{
	struct tcp_ep *ep;
	int ret;

	if (info->ep_attr->type != FI_EP_RDM) {
		tcp_log(FI_LOG_WARN, FI_LOG_EP_CTRL,
			"fi_scalable_ep: only FI_EP_RDM endpoints are scalable\n");
		return -FI_ENOSYS;
	}
	ret = tcp_ep_new(domain, info, context, &ep);
	if (ret)
		return ret;
	ret = contexts_new(ep);
	if (ret) {
		(void)fi_close(&ep->ep.fid.fid);
		return ret;
	}
	*ret_sep = &ep->ep.fid;
	return 0;
}
