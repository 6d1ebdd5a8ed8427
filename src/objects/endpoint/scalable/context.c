/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "objects/absent/absent.h"
#include "objects/endpoint/caps.h"
#include "objects/endpoint/log.h"
#include "objects/endpoint/scalable/context.h"

/* Contexts of scalable endpoints; see scalable.h. */

/* Capabilities that apply to a receive context; see fi_endpoint(3). */
static const uint64_t rx_caps = FI_MSG | FI_RMA | FI_TAGGED | FI_ATOMIC |
				FI_REMOTE_READ | FI_REMOTE_WRITE | FI_RECV | FI_HMEM |
				FI_TRIGGER | FI_RMA_PMEM | FI_DIRECTED_RECV |
				FI_TAGGED_DIRECTED_RECV | FI_EXACT_DIRECTED_RECV |
				FI_TAGGED_MULTI_RECV | FI_MULTI_RECV | FI_SOURCE |
				FI_RMA_EVENT | FI_SOURCE_ERR | FI_COLLECTIVE | FI_XPU;

static int context_refuse(
	const struct wf_ep *core, int err, const char *what, int index)
{
	wf_ep_log(core, FI_LOG_WARN, FI_LOG_EP_CTRL,
		"context %d of a scalable endpoint refused: %s\n", index, what);
	return err;
}

/* Remove FI_MSG and FI_TAGGED, or FI_RMA and FI_ATOMIC, if @caps has none of their
 * directions: wf_ep_init would add all directions. */
static uint64_t context_without_idle_kinds(uint64_t caps)
{
	if (!(caps & (FI_SEND | FI_RECV)))
		caps &= ~(FI_MSG | FI_TAGGED);
	if (!(caps & (FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE)))
		caps &= ~(FI_RMA | FI_ATOMIC);
	return caps;
}

/* The capabilities of a context that asks for @asked (0: all of the endpoint's), within
 * @mask. 0: none are left, or some exceed the endpoint's. */
static uint64_t context_caps_of(const struct wf_ep *core, uint64_t asked, uint64_t mask)
{
	uint64_t own = core->caps & mask;

	asked = asked ? wf_ep_with_directions(asked) & mask : own;
	return asked & ~own ? 0 : context_without_idle_kinds(asked);
}

/* Lower *@own to @asked; 0: keep the endpoint's value. False: @asked is above it. */
static bool context_take_size(size_t *own, size_t asked)
{
	if (asked > *own)
		return false;
	if (asked)
		*own = asked;
	return true;
}

static bool context_take_order(uint64_t *own, uint64_t asked)
{
	if (asked & ~*own)
		return false;
	if (asked)
		*own = asked;
	return true;
}

/* Restrict @info to the attributes of a transmit context. False: it would have no
 * direction, or exceed the endpoint. */
static bool context_narrow_tx(
	const struct wf_ep *core, struct fi_info *info, const struct fi_tx_attr *attr)
{
	struct fi_tx_attr *own = info->tx_attr;

	info->caps = context_caps_of(core, attr ? attr->caps : 0, WF_EP_TX_CAPS);
	own->caps = info->caps;
	if (!(info->caps & WF_EP_TX_DIRS))
		return false;
	if (!attr)
		return true;
	own->op_flags = attr->op_flags;
	return context_take_order(&own->msg_order, attr->msg_order) &&
	       context_take_size(&own->inject_size, attr->inject_size) &&
	       context_take_size(&own->size, attr->size) &&
	       context_take_size(&own->iov_limit, attr->iov_limit) &&
	       context_take_size(&own->rma_iov_limit, attr->rma_iov_limit);
}

static bool context_narrow_rx(
	const struct wf_ep *core, struct fi_info *info, const struct fi_rx_attr *attr)
{
	struct fi_rx_attr *own = info->rx_attr;

	info->caps = context_caps_of(core, attr ? attr->caps : 0, rx_caps);
	own->caps = info->caps;
	if (!(info->caps & WF_EP_RX_DIRS))
		return false;
	if (!attr)
		return true;
	own->op_flags = attr->op_flags;
	return context_take_order(&own->msg_order, attr->msg_order) &&
	       context_take_size(&own->size, attr->size) &&
	       context_take_size(&own->iov_limit, attr->iov_limit);
}

/* A context has the address of its scalable endpoint. */
static int context_getname(fid_t fid, void *addr, size_t *len)
{
	return fi_getname(&wf_ep_resolve(fid)->sep->core->fid.fid, addr, len);
}

static struct fi_ops_cm ctx_cm_ops =
	WF_CM_OPS(wf_absent_cm_setname, context_getname, wf_absent_cm_join);

/* A context starts with the options set on the scalable endpoint. */
static void context_inherit(struct wf_ep *ctx, struct wf_ep *core)
{
	size_t min = atomic_load_explicit(&core->min_multi_recv, memory_order_relaxed);

	atomic_init(&ctx->min_multi_recv, min);
	ctx->max_msg_size = core->max_msg_size;
	ctx->inject_size = WF_MIN(ctx->inject_size, core->inject_size);
}

/* Open a context of @core. core->control is held. */
static int context_open(struct wf_ep *core, int index, size_t class,
	struct fi_info *info, void *context, struct wf_ep **ret_ctx)
{
	struct wf_ep *ctx = calloc(1, sizeof(*ctx));
	int ret;

	if (!ctx)
		return -FI_ENOMEM;
	ret = wf_ep_init(ctx, core->domain, info, core->sep->ctx_xfer, context);
	if (ret) {
		free(ctx);
		return ret;
	}
	ctx->fid.fid.fclass = class;
	ctx->fid.cm = &ctx_cm_ops;
	ctx->sep = core->sep;
	ctx->ctx_index = (unsigned int)index;
	context_inherit(ctx, core);
	atomic_fetch_add_explicit(&core->refs, 1, memory_order_relaxed);
	*ret_ctx = ctx;
	return 0;
}

static int context_open_at(struct wf_ep *core, int index, size_t class,
	const void *attr, void *context, struct wf_ep **ret_ctx)
{
	struct wf_sep *sep = core->sep;
	bool rx = class == FI_CLASS_RX_CTX;
	struct fi_info *info = fi_dupinfo(core->info);
	int ret;

	if (!info)
		return -FI_ENOMEM;
	(void)pthread_mutex_lock(&core->control);
	if (!(rx ? context_narrow_rx(core, info, attr)
		 : context_narrow_tx(core, info, attr)))
		ret = context_refuse(
			core, -FI_EINVAL, "attributes beyond the endpoint's", index);
	else if (rx ? sep->rx[index].open : sep->tx[index] != NULL)
		ret = context_refuse(core, -FI_EBUSY, "it is open already", index);
	else
		ret = context_open(core, index, class, info, context, ret_ctx);
	if (!ret && rx)
		sep->rx[index].open = true;
	else if (!ret)
		sep->tx[index] = *ret_ctx;
	(void)pthread_mutex_unlock(&core->control);
	fi_freeinfo(info);
	return ret;
}

int wf_sep_tx_context(struct fid_ep *fid, int index, struct fi_tx_attr *attr,
	struct fid_ep **ret_ctx, void *context)
{
	struct wf_ep *core = wf_ep_of(fid), *ctx;
	int ret;

	if (!ret_ctx || index < 0 || (size_t)index >= core->sep->tx_count)
		return context_refuse(
			core, -FI_EINVAL, "no transmit context has it", index);
	ret = context_open_at(core, index, FI_CLASS_TX_CTX, attr, context, &ctx);
	if (ret)
		return ret;
	if (attr)
		*attr = *ctx->info->tx_attr;
	*ret_ctx = &ctx->fid;
	return 0;
}

int wf_sep_rx_context(struct fid_ep *fid, int index, struct fi_rx_attr *attr,
	struct fid_ep **ret_ctx, void *context)
{
	struct wf_ep *core = wf_ep_of(fid), *ctx;
	int ret;

	if (!ret_ctx || index < 0 || (size_t)index >= core->sep->rx_count)
		return context_refuse(
			core, -FI_EINVAL, "no receive context has it", index);
	ret = context_open_at(core, index, FI_CLASS_RX_CTX, attr, context, &ctx);
	if (ret)
		return ret;
	if (attr)
		*attr = *ctx->info->rx_attr;
	*ret_ctx = &ctx->fid;
	return 0;
}

static bool context_receives(const struct wf_ep *ctx)
{
	return ctx->fid.fid.fclass == FI_CLASS_RX_CTX;
}

void wf_sep_free_context(struct wf_ep *ctx)
{
	struct wf_sep *sep = ctx->sep;
	struct wf_ep *core = sep->core;
	unsigned int index = ctx->ctx_index;
	bool rx = context_receives(ctx);

	wf_ep_done(ctx);
	(void)pthread_mutex_lock(&core->control);
	if (rx)
		sep->rx[index].open = false;
	else
		sep->tx[index] = NULL;
	(void)pthread_mutex_unlock(&core->control);
	free(ctx);
	/* release: pairs with wf_ep_put. */
	atomic_fetch_sub_explicit(&core->refs, 1, memory_order_release);
}

int wf_sep_join(struct wf_ep *ctx)
{
	struct wf_ep *core = ctx->sep->core;
	int ret;

	(void)pthread_mutex_lock(&core->control);
	ret = wf_sep_enable_core(core);
	if (!ret && !ctx->av) {
		ctx->av = core->av;
		wf_av_ref(ctx->av);
	}
	(void)pthread_mutex_unlock(&core->control);
	return ret;
}

const char *wf_sep_refuses(
	const struct wf_ep *ep, const struct fid *bfid, uint64_t flags)
{
	const uint64_t rx = FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE;
	const uint64_t tx = FI_TRANSMIT | FI_READ | FI_WRITE;

	if (bfid->fclass == FI_CLASS_EQ)
		return NULL;
	if (wf_ep_is_sep(ep))
		return bfid->fclass == FI_CLASS_AV
			       ? NULL
			       : "a scalable endpoint takes an AV and an EQ, its "
				 "contexts take the rest";
	switch (bfid->fclass) {
	case FI_CLASS_CQ:
	case FI_CLASS_CNTR:
		if (flags & (context_receives(ep) ? tx : rx))
			return context_receives(ep) ? "it is a receive context"
						    : "it is a transmit context";
		return NULL;
	case FI_CLASS_AV:
		return "the AV is bound to the scalable endpoint";
	default:
		return "a context takes CQs and counters";
	}
}

static struct wf_sep_rx *context_rx_of(const struct wf_ep *ctx)
{
	return &ctx->sep->rx[ctx->ctx_index];
}

static void context_set_rx(
	struct wf_ep *core, struct wf_sep_rx *rx, struct wf_ep *ep, bool gone)
{
	wf_lock(&core->sep->rx_lock);
	wf_lock(&core->lock);
	rx->ep = ep;
	rx->gone = gone;
	wf_unlock(&core->lock);
	wf_unlock(&core->sep->rx_lock);
}

void wf_sep_rx_attach(struct wf_ep *ctx)
{
	const uint64_t any = FI_DIRECTED_RECV | FI_EXACT_DIRECTED_RECV;
	struct wf_ep *core = ctx->sep->core;
	struct wf_sep_rx *rx = context_rx_of(ctx);
	struct wf_srx *srx = &rx->srx;

	wf_lock(&core->sep->rx_lock);
	if (ctx->info->rx_attr->size)
		srx->size = ctx->info->rx_attr->size;
	srx->msg_directed = ctx->caps & any;
	srx->tag_directed = ctx->caps & (any | FI_TAGGED_DIRECTED_RECV);
	srx->min_multi_recv = &ctx->min_multi_recv;
	srx->addr_mask = ctx->av->index_mask;
	rx->port.sink = &ctx->srx_sink;
	rx->port.forced = ctx->rx_selective ? 0 : FI_COMPLETION;
	wf_unlock(&core->sep->rx_lock);
	context_set_rx(core, rx, ctx, false);
	ctx->srx_queue = srx;
	ctx->srx_lock = srx->lock;
	ctx->srx = &rx->port.fid;
	ctx->start_rx = wf_ep_srx_start;
}

void wf_sep_stop(struct wf_ep *ctx)
{
	context_set_rx(ctx->sep->core, context_rx_of(ctx), ctx->sep->core, true);
	wf_srx_drain(&context_rx_of(ctx)->port);
}

void wf_sep_rx_detach(struct wf_ep *ctx)
{
	wf_srx_fini(&context_rx_of(ctx)->srx);
	wf_sep_rx_init(ctx->sep, context_rx_of(ctx));
}
