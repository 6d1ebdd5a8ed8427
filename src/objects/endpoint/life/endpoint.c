/* SPDX-License-Identifier: BSD-2-Clause */
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "objects/absent/absent.h"
#include "objects/endpoint/alias/alias.h"
#include "objects/endpoint/calls/flags.h"
#include "objects/endpoint/calls/peer_tag.h"
#include "objects/endpoint/calls/tables.h"
#include "objects/endpoint/calls/transfer.h"
#include "objects/endpoint/calls/transfer_report.h"
#include "objects/endpoint/calls/trigger.h"
#include "objects/endpoint/caps.h"
#include "objects/endpoint/life/async.h"
#include "objects/endpoint/life/bind.h"
#include "objects/endpoint/life/cleanup.h"
#include "objects/endpoint/life/flush.h"
#include "objects/endpoint/life/life.h"
#include "objects/endpoint/life/opt.h"
#include "objects/endpoint/life/progress.h"
#include "objects/endpoint/life/srx_attach.h"
#include "objects/endpoint/log.h"
#include "objects/endpoint/scalable/context.h"

/*
 * The life of an endpoint: opened by its transport, bound, enabled, closed.
 *
 * The application may hold several handles: the endpoint and its aliases. The endpoint
 * is closed with the last of them, which may be an alias. While groups are joined the
 * last handle cannot be closed.
 */

uint64_t wf_ep_with_directions(uint64_t caps)
{
	const uint64_t msg = FI_SEND | FI_RECV;
	const uint64_t rma = FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE;

	if (caps & (FI_MSG | FI_TAGGED) && !(caps & msg))
		caps |= msg;
	if (caps & (FI_RMA | FI_ATOMIC) && !(caps & rma))
		caps |= rma;
	return caps;
}

/* Compute small_limit and fast_post: which calls may take the fast path. */
static void endpoint_settle_fast_path(struct wf_ep *ep)
{
	size_t small = WF_MIN(ep->xfer->small_size, ep->inject_size);

	small = WF_MIN(small, ep->max_msg_size);
	ep->small_limit = ep->xfer->send_small ? small + 1 : 0;
	ep->fast_post = ep->srx_queue && ep->start_rx == wf_ep_srx_start;
}

void wf_ep_finish_tables(struct wf_ep *ep)
{
	endpoint_settle_fast_path(ep);
	if (ep->caps & FI_MSG)
		wf_ep_msg_finish(ep);
	if (ep->caps & FI_TAGGED)
		wf_ep_tagged_finish(ep);
	if (ep->caps & FI_RMA)
		wf_ep_rma_finish(ep);
	if (ep->caps & FI_ATOMIC)
		wf_ep_atomic_finish(ep);
	if (ep->xfer->tables_finished)
		ep->xfer->tables_finished(ep);
	if (ep->caps & FI_COLLECTIVE && wf_transfer_owned(ep))
		wf_ep_peer_tag_finish(ep);
	if (ep->caps & FI_MSG)
		ep->fid.msg = &ep->msg_ops;
	if (ep->caps & FI_TAGGED)
		ep->fid.tagged = &ep->tagged_ops;
	if (ep->caps & FI_RMA)
		ep->fid.rma = &ep->rma_ops;
	if (ep->caps & FI_ATOMIC)
		ep->fid.atomic = &ep->atomic_ops;
	if (ep->caps & FI_COLLECTIVE && ep->xfer->collective)
		ep->fid.collective = ep->xfer->collective;
}

static int endpoint_enable(struct wf_ep *ep)
{
	int ret;

	if (ep->inherited)
		return -FI_EOPBADSTATE;
	pthread_mutex_lock(&ep->control);
	if (ep->enabled) {
		wf_ep_log(ep, FI_LOG_WARN, FI_LOG_EP_CTRL,
			"fi_enable: the endpoint is enabled already\n");
		ret = -FI_EBUSY;
		goto out;
	}
	if (wf_ep_is_context(ep)) {
		ret = wf_sep_join(ep);
		if (ret)
			goto out;
	}
	ret = wf_ep_check_bindings(ep);
	if (ret)
		goto out;
	wf_ep_settle_flags(ep);
	ret = wf_ep_srx_attach(ep);
	if (ret)
		goto out;
	ret = ep->xfer->enable(ep);
	if (ret)
		goto out;
	ret = wf_ep_cleanup_start(ep);
	if (ret)
		goto out;
	if (ep->coll_ops)
		ret = ep->coll_ops->enable(ep);
	if (ret)
		goto out;
	ret = wf_ep_progress_attach(ep);
	if (ret)
		goto out;
	wf_ep_async_enable(ep);
	wf_ep_finish_tables(ep);
	wf_ep_flush_add(ep);
	ep->enabled = true;
out:
	pthread_mutex_unlock(&ep->control);
	return ret;
}

int wf_ep_put(struct wf_ep *ep)
{
	int refs = atomic_load_explicit(&ep->refs, memory_order_acquire);
	bool last;
	int ret;

	pthread_mutex_lock(&ep->control);
	last = ep->handles == 1;
	if (last && refs) {
		pthread_mutex_unlock(&ep->control);
		wf_ep_log(ep, FI_LOG_WARN, FI_LOG_EP_CTRL,
			"cannot close the endpoint: %d groups or contexts use it\n",
			refs);
		return -FI_EBUSY;
	}
	ep->handles--;
	pthread_mutex_unlock(&ep->control);
	if (last) {
		wf_ep_flush(ep);
		/* Before what it runs is closed. */
		wf_ep_async_close(ep);
		ret = ep->coll_ops ? ep->coll_ops->closing(ep) : wf_transfer_close(ep);
		if (ret) {
			wf_ep_async_enable(ep);
			ep->handles++;
			return ret;
		}
		wf_ep_flush_remove(ep);
		wf_ep_cleanup_stop(ep);
		wf_ep_progress_detach(ep);
		if (ep->coll_ops)
			ep->coll_ops->closed(ep);
		wf_trigger_purge(ep);
		wf_ep_srx_drain(ep);
		ep->xfer->destroy(ep);
	}
	return 0;
}

static int endpoint_close(struct fid *fid)
{
	return wf_ep_put(wf_container_of(fid, struct wf_ep, fid.fid));
}

static int endpoint_get_fd(struct wf_ep *ep, int *ret_fd)
{
	int ret;

	if (!ret_fd)
		return -FI_EINVAL;
	if (!ep->xfer->get_fd) {
		wf_ep_log(ep, FI_LOG_INFO, FI_LOG_EP_CTRL,
			"FI_GET_FD: no one descriptor carries the data of such an "
			"endpoint\n");
		return -FI_ENOSYS;
	}
	wf_lock(&ep->lock);
	ret = ep->xfer->get_fd(ep, ret_fd);
	wf_unlock(&ep->lock);
	return ret;
}

static int endpoint_control(struct fid *fid, int command, void *arg)
{
	struct wf_ep *ep = wf_container_of(fid, struct wf_ep, fid.fid);

	switch (command) {
	case FI_ENABLE:
		return endpoint_enable(ep);
	case FI_GETOPSFLAG:
		return wf_ep_get_op_flags(ep, arg);
	case FI_SETOPSFLAG:
		return wf_ep_set_op_flags(ep, arg ? *(uint64_t *)arg : 0);
	case FI_ALIAS:
		return wf_ep_alias_open(ep, arg);
	case FI_GET_FD:
		return endpoint_get_fd(ep, arg);
	default:
		wf_ep_log(ep, FI_LOG_INFO, FI_LOG_EP_CTRL,
			"endpoints know no control command %d\n", command);
		return -FI_ENOSYS;
	}
}

static struct fi_ops ep_fid_ops =
	WF_EP_FID_OPS(endpoint_close, wf_ep_bind, endpoint_control);

struct wf_ep *wf_ep_resolve(struct fid *fid)
{
	return wf_ep_is_alias(fid) ? wf_ep_alias_target(fid)
				   : wf_container_of(fid, struct wf_ep, fid.fid);
}

static ssize_t endpoint_cancel(fid_t fid, void *context)
{
	struct wf_ep *ep = wf_ep_resolve(fid);
	struct wf_cancel which = { .context = context };
	bool found = false;

	if (ep->inherited)
		return -FI_EOPBADSTATE;
	if (ep->caps & FI_TRIGGER && wf_trigger_cancel(ep, context))
		return 0;
	if (ep->srx_queue) {
		wf_lock(ep->srx_queue->lock);
		found = wf_srx_cancel(ep->srx_queue, context);
		wf_unlock(ep->srx_queue->lock);
	} else if (!ep->xfer->cancel && !ep->xfer->cancel_tx) {
		return -FI_ENOSYS;
	}
	if (found || !context)
		return 0;
	wf_lock(&ep->lock);
	if (ep->xfer->cancel)
		found = ep->xfer->cancel(ep, context);
	if (!found && ep->xfer->cancel_tx)
		(void)ep->xfer->cancel_tx(ep, &which);
	wf_unlock(&ep->lock);
	return 0;
}

static ssize_t endpoint_size_left(struct wf_ep *ep, size_t (*left)(struct wf_ep *))
{
	ssize_t ret;

	if (!left)
		return -FI_ENOSYS;
	if (!ep->enabled || ep->inherited)
		return -FI_EOPBADSTATE;
	wf_lock(&ep->lock);
	ret = (ssize_t)left(ep);
	wf_unlock(&ep->lock);
	return ret;
}

static ssize_t endpoint_rx_size_left(struct fid_ep *fid)
{
	struct wf_ep *ep = wf_ep_resolve(&fid->fid);
	ssize_t ret;

	if (!ep->srx_queue)
		return endpoint_size_left(ep, ep->xfer->rx_left);
	wf_lock(ep->srx_queue->lock);
	ret = (ssize_t)WF_MIN(wf_srx_left(ep->srx_queue), (size_t)SSIZE_MAX);
	wf_unlock(ep->srx_queue->lock);
	return ret;
}

static ssize_t endpoint_tx_size_left(struct fid_ep *fid)
{
	struct wf_ep *ep = wf_ep_resolve(&fid->fid);

	return endpoint_size_left(ep, ep->xfer->tx_left);
}

static struct fi_ops_ep ep_ep_ops = {
	.size = sizeof(ep_ep_ops),
	.cancel = endpoint_cancel,
	.getopt = wf_ep_getopt,
	.setopt = wf_ep_setopt,
	.tx_ctx = wf_absent_ep_tx_ctx,
	.rx_ctx = wf_absent_ep_rx_ctx,
	.rx_size_left = endpoint_rx_size_left,
	.tx_size_left = endpoint_tx_size_left,
	.export_xpu = wf_absent_ep_export_xpu,
};

struct wf_ep *wf_ep_from_fid(struct fid_ep *fid)
{
	if (fid->fid.fclass != FI_CLASS_EP || fid->ops != &ep_ep_ops ||
		wf_ep_is_alias(&fid->fid))
		return NULL;
	return wf_ep_of(fid);
}

struct wf_eq *wf_ep_eq(struct wf_ep *ep)
{
	/* acquire: pairs with bind_eq. */
	struct wf_eq *eq = atomic_load_explicit(&ep->eq, memory_order_acquire);

	if (eq)
		return eq;
	pthread_mutex_lock(&ep->domain->control);
	eq = ep->domain->eq;
	pthread_mutex_unlock(&ep->domain->control);
	return eq;
}

static void endpoint_init_tables(struct wf_ep *ep, void *context)
{
	ep->fid = (struct fid_ep){
		.fid = { FI_CLASS_EP, context, &ep_fid_ops },
		.ops = &ep_ep_ops,
		.cm = &wf_ep_cm_ops,
		.msg = ep->caps & FI_MSG ? &wf_disabled_msg : &wf_absent_msg,
		.rma = ep->caps & FI_RMA ? &wf_disabled_rma : &wf_absent_rma,
		.tagged =
			ep->caps & FI_TAGGED ? &wf_disabled_tagged : &wf_absent_tagged,
		.atomic =
			ep->caps & FI_ATOMIC ? &wf_disabled_atomic : &wf_absent_atomic,
		.collective = &wf_absent_collective,
	};
}

static size_t endpoint_with_prefix(size_t size, size_t prefix)
{
	return size > SIZE_MAX - prefix ? SIZE_MAX : size + prefix;
}

static void endpoint_init_limits(struct wf_ep *ep)
{
	const struct fi_info *info = ep->info;
	size_t prefix = info->ep_attr->msg_prefix_size;

	ep->type = info->ep_attr->type;
	ep->caps = wf_ep_with_directions(info->caps);
	/* The lengths that the application passes include the prefix
	 * (FI_MSG_PREFIX). */
	ep->max_msg_size = endpoint_with_prefix(
		WF_MIN(info->ep_attr->max_msg_size, WF_MAX_MSG), prefix);
	ep->inject_size = endpoint_with_prefix(info->tx_attr->inject_size, prefix);
	ep->tx_iov_limit = info->tx_attr->iov_limit;
	ep->rx_iov_limit = info->rx_attr->iov_limit;
	ep->rma_iov_limit = info->tx_attr->rma_iov_limit;
	ep->tx_op_flags = info->tx_attr->op_flags;
	ep->rx_op_flags = info->rx_attr->op_flags;
	atomic_init(&ep->min_multi_recv, 64);
	atomic_init(&ep->triggers, false);
}

int wf_ep_init(struct wf_ep *ep, struct wf_domain *domain, struct fi_info *info,
	const struct wf_xfer_ops *xfer, void *context)
{
	int ret;

	*ep = (struct wf_ep){ .domain = domain, .xfer = xfer, .handles = 1 };
	ep->info = fi_dupinfo(info);
	if (!ep->info)
		return -FI_ENOMEM;
	/* By the sources of its messages an engine of collectives knows members from
	 * others, and tells groups apart that are joined at the same time. */
	if (ep->info->caps & FI_COLLECTIVE)
		ep->info->caps |= FI_SOURCE;
	wf_lock_init(&ep->lock, xfer->lock_kind);
	wf_lock_set_gate(&ep->lock, domain->gate);
	(void)pthread_mutex_init(&ep->control, NULL);
	endpoint_init_limits(ep);
	endpoint_init_tables(ep, context);
	wf_list_init(&ep->flush_link);
	wf_ep_settle_flags(ep);
	ep->srx_sink.ops = &wf_ep_sink_ops;
	wf_ep_progress_init(ep);
	wf_ep_async_init(ep);
	ret = wf_ep_watch_forks(ep);
	if (ret) {
		(void)pthread_mutex_destroy(&ep->control);
		wf_lock_done(&ep->lock);
		fi_freeinfo(ep->info);
		return ret;
	}
	wf_domain_ref(domain);
	return 0;
}

void wf_ep_done(struct wf_ep *ep)
{
	wf_fork_hook_remove(&ep->fork_hook);
	wf_ep_srx_detach(ep);
	wf_transfer_free(ep);
	wf_ep_unbind_all(ep);
	if (wf_ep_is_sep(ep))
		wf_sep_done(ep);
	(void)pthread_mutex_destroy(&ep->control);
	wf_lock_done(&ep->lock);
	fi_freeinfo(ep->info);
	wf_domain_unref(ep->domain);
}

int wf_ep_new(size_t size, struct wf_domain *domain, struct fi_info *info,
	const struct wf_xfer_ops *xfer, void *context, struct wf_ep **ret_ep)
{
	size_t padded = (size + WF_CACHELINE - 1) / WF_CACHELINE * WF_CACHELINE;
	struct wf_ep *ep = aligned_alloc(WF_CACHELINE, padded);
	int ret;

	if (!ep)
		return -FI_ENOMEM;
	memset(ep, 0, padded);
	ret = wf_ep_init(ep, domain, info, xfer, context);
	if (ret) {
		free(ep);
		return ret;
	}
	*ret_ep = ep;
	return 0;
}

void wf_ep_free(struct wf_ep *ep)
{
	wf_ep_done(ep);
	free(ep);
}

int wf_no_address(const struct fi_provider *prov, fi_addr_t addr)
{
	FI_WARN(prov, FI_LOG_EP_DATA,
		"operation refused: nothing is at fi_addr_t %#llx\n",
		(unsigned long long)addr);
	return -FI_EINVAL;
}
