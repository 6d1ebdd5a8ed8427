/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/absent/absent.h"
#include "objects/endpoint/calls/flags.h"
#include "objects/endpoint/life/life.h"
#include "objects/endpoint/log.h"
#include "objects/endpoint/scalable/shared.h"
#include "objects/endpoint/scalable/srx_ctx.h"

/*
 * The objects of fi_srx_context(3): receive contexts that endpoints share, and contexts
 * of another provider that our endpoints receive from (fi_peer(3)).
 */

static const uint64_t rx_caps = FI_MSG | FI_TAGGED | FI_RECV | FI_MULTI_RECV |
				FI_TAGGED_MULTI_RECV | FI_DIRECTED_RECV |
				FI_TAGGED_DIRECTED_RECV | FI_EXACT_DIRECTED_RECV;

static int srx_ctx_refuse(
	const struct wf_domain *domain, int err, const char *what, uint64_t value)
{
	FI_WARN(domain->prov->fi, FI_LOG_EP_CTRL, "fi_srx_context: %s (%#llx)\n", what,
		(unsigned long long)value);
	return err;
}

static struct wf_srx_ctx *ctx_of(struct fid *fid)
{
	return wf_container_of(fid, struct wf_srx_ctx, ep.fid.fid);
}

static void srx_ctx_free_watch(struct wf_srx_watch *watch)
{
	wf_av_watch_wait(&watch->watch);
	free(watch);
}

/* Free the watches that endpoints left behind. A thread that runs one waits for the
 * owner's lock, which the owner does not hold here. */
static void srx_ctx_let_leave(struct wf_srx_ctx *ctx)
{
	wf_list_foreach_safe(link, &ctx->leaving)
		srx_ctx_free_watch(wf_list_entry(link, struct wf_srx_watch, link));
}

void wf_srx_watch_leave(struct wf_srx_ctx *ctx, struct wf_srx_watch *watch)
{
	if (watch->own || !wf_av_watch_is_called(&watch->watch)) {
		srx_ctx_free_watch(watch);
		return;
	}
	(void)pthread_mutex_lock(&ctx->ep.control);
	wf_list_push(&ctx->leaving, &watch->link);
	(void)pthread_mutex_unlock(&ctx->ep.control);
}

static int ctx_close(struct fid *fid)
{
	struct wf_srx_ctx *ctx = ctx_of(fid);
	/* acquire: pairs with the unbinding of the last endpoint. */
	int refs = atomic_load_explicit(&ctx->refs, memory_order_acquire);

	if (refs) {
		wf_ep_log(&ctx->ep, FI_LOG_WARN, FI_LOG_EP_CTRL,
			"cannot close the receive context: %d endpoints use it\n",
			refs);
		return -FI_EBUSY;
	}
	if (ctx->queue)
		ctx->ep.domain->prov->shared_rx->close(ctx);
	else if (!ctx->imported)
		wf_srx_fini(&ctx->srx);
	srx_ctx_let_leave(ctx);
	wf_ep_done(&ctx->ep);
	free(ctx);
	return 0;
}

static int ctx_control(struct fid *fid, int command, void *arg)
{
	return wf_ep_context_control(&ctx_of(fid)->ep, command, arg);
}

static struct fi_ops ctx_fid_ops = WF_FID_OPS(ctx_close, wf_absent_bind, ctx_control);

/* Fill the info that the struct wf_ep of the context is made from. */
static int srx_ctx_fill_info(const struct wf_domain *domain,
	const struct fi_rx_attr *attr, struct fi_info *info)
{
	const struct fi_info *from = domain->info;

	*info->rx_attr = *attr;
	info->rx_attr->op_flags &= ~FI_PEER;
	if (!attr->iov_limit)
		info->rx_attr->iov_limit = from->rx_attr ? from->rx_attr->iov_limit : 1;
	if (from->rx_attr && info->rx_attr->iov_limit > from->rx_attr->iov_limit)
		return srx_ctx_refuse(
			domain, -FI_EINVAL, "iov_limit is too large", attr->iov_limit);
	info->caps = (attr->caps & (FI_MSG | FI_TAGGED) ? attr->caps : from->caps);
	info->caps = (info->caps & rx_caps) | FI_RECV;
	info->ep_attr->type = from->ep_attr ? from->ep_attr->type : FI_EP_RDM;
	info->ep_attr->max_msg_size = SIZE_MAX;
	return 0;
}

static int srx_ctx_init_ep(struct wf_srx_ctx *ctx, struct wf_domain *domain,
	const struct fi_rx_attr *attr, void *context)
{
	struct fi_info *info = fi_allocinfo();
	int ret;

	if (!info)
		return -FI_ENOMEM;
	ret = srx_ctx_fill_info(domain, attr, info);
	if (ret) {
		fi_freeinfo(info);
		return ret;
	}
	ret = wf_ep_init_shared(
		&ctx->ep, domain, info, FI_CLASS_SRX_CTX, &ctx_fid_ops, context);
	if (ret)
		return ret;
	ctx->ep.fid.cm = &wf_absent_cm;
	ctx->ep.fid.msg = &wf_absent_msg;
	ctx->ep.fid.tagged = &wf_absent_tagged;
	return 0;
}

/* A receive writes an entry if it has FI_COMPLETION; an endpoint whose CQ is not
 * selective adds that flag when a message comes. */
static void srx_ctx_enable(
	struct wf_srx_ctx *ctx, ssize_t (*start)(struct wf_ep *ep, struct wf_op *op))
{
	ctx->ep.rx_selective = true;
	wf_ep_settle_flags(&ctx->ep);
	ctx->ep.start_rx = start;
	wf_ep_finish_tables(&ctx->ep);
	ctx->ep.enabled = true;
}

static int srx_ctx_open_queue(
	struct wf_srx_ctx *ctx, const struct wf_shared_rx_ops *ops)
{
	int ret = ops->open(ctx);

	if (!ret)
		srx_ctx_enable(ctx, ops->start);
	return ret;
}

static void srx_ctx_open_own(struct wf_srx_ctx *ctx)
{
	struct wf_srx_attr attr = wf_ep_srx_attr(&ctx->ep);

	wf_srx_init(&ctx->srx, &attr, WF_LOCK_MUTEX);
	wf_lock_set_gate(&ctx->srx.own_lock, ctx->ep.domain->gate);
	ctx->ep.srx_queue = &ctx->srx;
	srx_ctx_enable(ctx, wf_ep_srx_start);
}

/* Put our operations into the owner's table (fi_peer(3): the owner allocates it, the
 * peer fills it). An owner without a table gets that
 * of this library. */
static int srx_ctx_give_ops(const struct wf_domain *domain, struct fid_peer_srx *srx)
{
	struct fi_ops_srx_peer *ours = domain->prov->srx_ops, *ops = srx->peer_ops;

	if (!ops) {
		srx->peer_ops = ours;
		return 0;
	}
	if (ops->size < sizeof(*ops))
		return srx_ctx_refuse(domain, -FI_EINVAL,
			"the owner's table for our operations is too small", ops->size);
	ops->start_msg = ours->start_msg;
	ops->start_tag = ours->start_tag;
	ops->discard_msg = ours->discard_msg;
	ops->discard_tag = ours->discard_tag;
	return 0;
}

static int srx_ctx_import(
	struct wf_srx_ctx *ctx, const struct fi_peer_srx_context *context)
{
	const struct wf_domain *domain = ctx->ep.domain;
	const struct fi_ops_srx_owner *ops;
	int ret;

	if (!context || context->size < sizeof(*context) || !context->srx)
		return srx_ctx_refuse(domain, -FI_EINVAL,
			"FI_PEER needs a struct fi_peer_srx_context",
			context ? context->size : 0);
	ops = context->srx->owner_ops;
	if (!FI_CHECK_OP(ops, struct fi_ops_srx_owner, get_msg) ||
		!FI_CHECK_OP(ops, struct fi_ops_srx_owner, get_tag) ||
		!FI_CHECK_OP(ops, struct fi_ops_srx_owner, queue_msg) ||
		!FI_CHECK_OP(ops, struct fi_ops_srx_owner, queue_tag) ||
		!FI_CHECK_OP(ops, struct fi_ops_srx_owner, foreach_unspec_addr) ||
		!FI_CHECK_OP(ops, struct fi_ops_srx_owner, free_entry))
		return srx_ctx_refuse(domain, -FI_EINVAL,
			"the owner of the peer context lacks operations",
			ops ? ops->size : 0);
	ret = srx_ctx_give_ops(domain, context->srx);
	if (ret)
		return ret;
	ctx->imported = context->srx;
	ctx->ep.fid.fid.context = context->srx;
	ctx->ep.fid.ops = &wf_absent_ep;
	return 0;
}

/* Do endpoints of this domain receive from contexts: of a peer provider if @peer, else
 * shared ones? */
static bool srx_ctx_is_offered(const struct wf_domain *domain, bool peer)
{
	return peer ? domain->prov->srx_ops != NULL
		    : domain->info->domain_attr->max_ep_srx_ctx != 0;
}

int wf_srx_open(struct fid_domain *domain_fid, struct fi_rx_attr *attr,
	struct fid_ep **ret_srx, void *context)
{
	struct wf_domain *domain = wf_domain_of(domain_fid);
	bool peer = attr && attr->op_flags & FI_PEER;
	struct wf_srx_ctx *ctx;
	int ret;

	if (!srx_ctx_is_offered(domain, peer))
		return srx_ctx_refuse(domain, peer ? -FI_EINVAL : -FI_ENOSYS,
			"endpoints of this domain have no shared receive context", 0);
	if (!attr || !ret_srx)
		return srx_ctx_refuse(domain, -FI_EINVAL, "attributes are missing", 0);
	ctx = calloc(1, sizeof(*ctx));
	if (!ctx)
		return -FI_ENOMEM;
	wf_list_init(&ctx->leaving);
	ret = srx_ctx_init_ep(ctx, domain, attr, context);
	if (ret)
		goto err_free;
	if (peer)
		ret = srx_ctx_import(ctx, context);
	else if (domain->prov->shared_rx)
		ret = srx_ctx_open_queue(ctx, domain->prov->shared_rx);
	else
		srx_ctx_open_own(ctx);
	if (ret)
		goto err_ep;
	*ret_srx = &ctx->ep.fid;
	return 0;

err_ep:
	wf_ep_done(&ctx->ep);
err_free:
	free(ctx);
	return ret;
}

int wf_srx_ctx_of(struct fid *fid, struct wf_srx_ctx **ret_ctx)
{
	/* A hook may have replaced the table, not this call. */
	if (fid->fclass != FI_CLASS_SRX_CTX || fid->ops->control != ctx_control)
		return -FI_EINVAL;
	*ret_ctx = ctx_of(fid);
	return 0;
}

int wf_srx_ctx_join(struct wf_srx_ctx *ctx, struct wf_av *av)
{
	int ret = 0;

	if (!av)
		return 0;
	(void)pthread_mutex_lock(&ctx->ep.control);
	if (ctx->av && ctx->av != av) {
		wf_ep_log(&ctx->ep, FI_LOG_WARN, FI_LOG_EP_CTRL,
			"fi_enable: endpoints that share a receive context must share "
			"their AV\n");
		ret = -FI_EINVAL;
	} else {
		ctx->av = av;
		ctx->av_users++;
	}
	(void)pthread_mutex_unlock(&ctx->ep.control);
	return ret;
}

void wf_srx_ctx_leave(struct wf_srx_ctx *ctx, struct wf_av *av)
{
	if (!av)
		return;
	(void)pthread_mutex_lock(&ctx->ep.control);
	if (!--ctx->av_users)
		ctx->av = NULL;
	(void)pthread_mutex_unlock(&ctx->ep.control);
}
