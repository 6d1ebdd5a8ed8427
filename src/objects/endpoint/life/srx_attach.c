/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/endpoint/caps.h"
#include "objects/endpoint/life/srx_attach.h"
#include "objects/endpoint/log.h"
#include "objects/endpoint/scalable/context.h"
#include "objects/endpoint/scalable/srx_ctx.h"

/*
 * Choosing the receive context that an endpoint's transport uses: a bound one, an
 * imported one or the endpoint's own; see srx.h.
 */

static void srx_attach_watch_inserted(struct wf_av_watch *watch)
{
	struct wf_srx_watch *w = wf_container_of(watch, struct wf_srx_watch, watch);

	w->srx->owner_ops->foreach_unspec_addr(w->srx, w->addr);
}

/* The AV indices that were removed. The source of each unexpected message is searched
 * in them; @maybe rejects most sources without a search. */
struct removed {
	const uint64_t *index;
	size_t count;
	uint64_t maybe; /* Bit n: some removed index has n in its lowest six bits. */
};

static uint64_t srx_attach_bit_of(uint64_t index)
{
	return UINT64_C(1) << (index & 63);
}

static bool srx_attach_is_removed(fi_addr_t addr, const void *arg)
{
	const struct removed *r = arg;

	if (wf_likely(!(r->maybe & srx_attach_bit_of(addr))))
		return false;
	for (size_t i = 0; i < r->count; i++)
		if (r->index[i] == addr)
			return true;
	return false;
}

/* An imported context has sources in the owner's numbering, so our indices do not tell
 * which messages are affected: the source of every message is looked up again. An owner
 * of another library is not told, because the public operations have no call for that;
 * it knows which addresses it removed. */
static void srx_attach_watch_removed(
	struct wf_av_watch *watch, const uint64_t *index, size_t count)
{
	struct wf_srx_watch *w = wf_container_of(watch, struct wf_srx_watch, watch);
	struct removed r = { index, count, 0 };

	if (!w->own) {
		if (wf_srx_is_own(w->srx))
			wf_srx_recheck_sources(w->srx, w->addr, NULL, NULL);
		return;
	}
	for (size_t i = 0; i < count; i++)
		r.maybe |= srx_attach_bit_of(index[i]);
	wf_srx_recheck_sources(w->srx, w->addr, srx_attach_is_removed, &r);
}

static int srx_attach_use_imported(struct wf_ep *ep)
{
	if (ep->xfer->srx_ops != ep->domain->prov->srx_ops) {
		wf_ep_log(ep, FI_LOG_WARN, FI_LOG_EP_CTRL,
			"fi_enable: such endpoints do not receive from the context of "
			"a peer\n");
		return -FI_EINVAL;
	}
	ep->srx = ep->srx_ctx->imported;
	ep->start_rx = wf_ep_srx_refuse;
	return 0;
}

static void srx_attach_use(struct wf_ep *ep, struct wf_srx *srx)
{
	wf_ep_srx_export(srx, &ep->srx_port, ep, ep->xfer->srx_ops);
	ep->srx_lock = srx->lock;
	ep->srx = &ep->srx_port.fid;
}

static int srx_attach_use_shared(struct wf_ep *ep)
{
	int ret = wf_srx_ctx_join(ep->srx_ctx, ep->av);

	if (ret)
		return ret;
	ep->start_rx = wf_ep_srx_refuse;
	srx_attach_use(ep, &ep->srx_ctx->srx);
	return 0;
}

static int srx_attach_check_private(const struct wf_ep *ep)
{
	if (ep->info->ep_attr->rx_ctx_cnt != FI_SHARED_CONTEXT)
		return 0;
	wf_ep_log(ep, FI_LOG_WARN, FI_LOG_EP_CTRL,
		"fi_enable: opened with FI_SHARED_CONTEXT, so a shared receive context "
		"must be bound first\n");
	return -FI_EINVAL;
}

/* Receives of an endpoint whose provider matches them. */
static int srx_attach_use_queue(struct wf_ep *ep)
{
	ep->start_rx = ep->srx_ctx ? wf_ep_srx_refuse : ep->xfer->start;
	return ep->srx_ctx ? 0 : srx_attach_check_private(ep);
}

static int srx_attach_use_private(struct wf_ep *ep)
{
	struct wf_srx_attr attr;
	struct wf_srx *srx;
	int ret = srx_attach_check_private(ep);

	if (ret)
		return ret;
	srx = calloc(1, sizeof(*srx));
	if (!srx)
		return -FI_ENOMEM;
	attr = wf_ep_srx_attr(ep);
	wf_srx_init(srx, &attr, ep->lock.kind);
	wf_lock_set_gate(&srx->own_lock, ep->domain->gate);
	ep->srx_queue = srx;
	ep->start_rx = wf_ep_srx_start;
	srx_attach_use(ep, srx);
	return 0;
}

static bool srx_attach_is_rx_context(const struct wf_ep *ep)
{
	return ep->fid.fid.fclass == FI_CLASS_RX_CTX;
}

static int srx_attach_watch_av(struct wf_ep *ep)
{
	struct wf_srx_watch *w = calloc(1, sizeof(*w));

	if (!w)
		return -FI_ENOMEM;
	w->watch.inserted = srx_attach_watch_inserted;
	w->watch.removed = srx_attach_watch_removed;
	w->srx = ep->srx;
	w->own = ep->srx_lock != NULL;
	w->addr = ep->xfer->srx_addr;
	ep->srx_watch = w;
	wf_av_watch_add(ep->av, &w->watch);
	/* Messages may have come before this watch was added. */
	if (srx_attach_is_rx_context(ep))
		srx_attach_watch_inserted(&w->watch);
	return 0;
}

static int srx_attach_choose(struct wf_ep *ep)
{
	if (srx_attach_is_rx_context(ep)) {
		wf_sep_rx_attach(ep);
		return 0;
	}
	if (!ep->srx_ctx)
		return srx_attach_use_private(ep);
	return ep->srx_ctx->imported ? srx_attach_use_imported(ep)
				     : srx_attach_use_shared(ep);
}

int wf_ep_srx_attach(struct wf_ep *ep)
{
	int ret = 0;

	if (!ep->xfer->srx_ops && wf_ep_receives(ep))
		return srx_attach_use_queue(ep);
	/* Members may be set by an earlier fi_enable that failed later on. */
	if (!ep->start_rx)
		ep->start_rx = ep->xfer->start;
	if (!ep->xfer->srx_ops || !(wf_ep_receives(ep) || srx_attach_is_rx_context(ep)))
		return 0;
	if (!ep->srx)
		ret = srx_attach_choose(ep);
	if (!ret && ep->av && ep->xfer->srx_addr && !ep->srx_watch)
		ret = srx_attach_watch_av(ep);
	return ret;
}

void wf_ep_srx_drain(struct wf_ep *ep)
{
	if (wf_ep_is_sep(ep))
		wf_sep_drain(ep->sep);
	if (!ep->srx)
		return;
	if (ep->srx_watch) {
		wf_av_watch_del(ep->av, &ep->srx_watch->watch);
		wf_srx_watch_leave(ep->srx_ctx, ep->srx_watch);
	}
	if (srx_attach_is_rx_context(ep))
		wf_sep_stop(ep);
	else if (ep->srx_lock)
		wf_srx_drain(&ep->srx_port);
}

void wf_ep_srx_detach(struct wf_ep *ep)
{
	struct wf_srx_ctx *ctx = ep->srx_ctx;

	if (ep->srx && srx_attach_is_rx_context(ep)) {
		wf_sep_rx_detach(ep);
	} else if (ep->srx && !ctx) {
		wf_srx_fini(ep->srx_queue);
		free(ep->srx_queue);
	}
	if (ep->srx && ctx && !ctx->imported)
		wf_srx_ctx_leave(ctx, ep->av);
	/* release: pairs with the close of the context. */
	if (ctx)
		atomic_fetch_sub_explicit(&ctx->refs, 1, memory_order_release);
	ep->srx = NULL;
}

int wf_ep_srx_bind(struct wf_ep *ep, struct fid *fid, const char **why)
{
	struct wf_srx_ctx *ctx;

	*why = "the receive context is of another provider";
	if (wf_srx_ctx_of(fid, &ctx))
		return -FI_EINVAL;
	*why = "the receive context is of another domain";
	if (ctx->ep.domain != ep->domain)
		return -FI_EDOMAIN;
	*why = "the endpoint does not receive from a receive context";
	if (!(ctx->queue ? !ep->xfer->srx_ops : ep->xfer->srx_ops != NULL) ||
		!wf_ep_receives(ep))
		return -FI_EINVAL;
	*why = "a receive context is bound already";
	if (ep->srx_ctx)
		return -FI_EINVAL;
	atomic_fetch_add_explicit(&ctx->refs, 1, memory_order_relaxed);
	ep->srx_ctx = ctx;
	return 0;
}
