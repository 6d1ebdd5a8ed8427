/* SPDX-License-Identifier: BSD-2-Clause */
#include <stddef.h>
#include <stdlib.h>

#include "objects/absent/absent.h"
#include "objects/endpoint/calls/flags.h"
#include "objects/endpoint/caps.h"
#include "objects/endpoint/life/opt.h"
#include "objects/endpoint/scalable/shared.h"
#include "objects/endpoint/scalable/stx.h"
#include "objects/info/info.h"

/* Shared transmit contexts; see stx.h. */

/* The application's struct fid_stx is the beginning of our struct fid_ep. */
static_assert(offsetof(struct fid_stx, fid) == offsetof(struct fid_ep, fid) &&
		      offsetof(struct fid_stx, ops) == offsetof(struct fid_ep, ops),
	"a transmit context is the head of an endpoint");

static struct wf_stx *stx_of(struct fid *fid)
{
	return wf_container_of(fid, struct wf_stx, ep.fid.fid);
}

static void stx_unref(struct wf_stx *stx)
{
	/* acq_rel: all uses of the context come before it is freed. */
	if (atomic_fetch_sub_explicit(&stx->refs, 1, memory_order_acq_rel) > 1)
		return;
	wf_ep_done(&stx->ep);
	free(stx);
}

static int stx_close(struct fid *fid)
{
	stx_unref(stx_of(fid));
	return 0;
}

static int stx_control(struct fid *fid, int command, void *arg)
{
	return wf_ep_context_control(&stx_of(fid)->ep, command, arg);
}

static struct fi_ops stx_fid_ops = WF_FID_OPS(stx_close, wf_absent_bind, stx_control);

static struct fi_ops_ep stx_ep_ops = {
	.size = sizeof(stx_ep_ops),
	.cancel = wf_absent_ep_cancel,
	.getopt = wf_ep_getopt,
	.setopt = wf_ep_setopt,
	.tx_ctx = wf_absent_ep_tx_ctx,
	.rx_ctx = wf_absent_ep_rx_ctx,
	.rx_size_left = wf_absent_ep_rx_size_left,
	.tx_size_left = wf_absent_ep_tx_size_left,
	.export_xpu = wf_absent_ep_export_xpu,
};

static void stx_inherit_size(size_t *own, size_t from)
{
	if (!*own)
		*own = from;
}

/* Attributes that are 0 get the domain's values. */
static void stx_fill_attr(struct fi_tx_attr *attr, const struct fi_tx_attr *from)
{
	stx_inherit_size(&attr->inject_size, from->inject_size);
	stx_inherit_size(&attr->size, from->size);
	stx_inherit_size(&attr->iov_limit, from->iov_limit);
	stx_inherit_size(&attr->rma_iov_limit, from->rma_iov_limit);
	if (!attr->caps)
		attr->caps = from->caps;
	if (!attr->msg_order)
		attr->msg_order = from->msg_order;
}

/* The domain's info with the attributes of the context, for the caller to free. NULL:
 * no memory. */
static struct fi_info *stx_info_of(
	const struct wf_domain *domain, const struct fi_tx_attr *attr)
{
	struct fi_info *info = fi_dupinfo(domain->info);

	if (!info)
		return NULL;
	if (attr && info->tx_attr) {
		*info->tx_attr = *attr;
		stx_fill_attr(info->tx_attr, domain->info->tx_attr);
	}
	return info;
}

static int stx_init_ep(struct wf_stx *stx, struct wf_domain *domain,
	const struct fi_tx_attr *attr, void *context)
{
	struct fi_info *info = stx_info_of(domain, attr);
	int ret;

	if (!info)
		return -FI_ENOMEM;
	ret = wf_info_check(domain->prov, domain->api_version, info);
	if (ret) {
		fi_freeinfo(info);
		return ret;
	}
	ret = wf_ep_init_shared(
		&stx->ep, domain, info, FI_CLASS_STX_CTX, &stx_fid_ops, context);
	if (!ret)
		stx->ep.fid.ops = &stx_ep_ops;
	return ret;
}

int wf_stx_open(struct fid_domain *domain_fid, struct fi_tx_attr *attr,
	struct fid_stx **ret_stx, void *context)
{
	struct wf_domain *domain = wf_domain_of(domain_fid);
	struct wf_stx *stx;
	int ret;

	if (!domain->info->domain_attr->max_ep_stx_ctx) {
		FI_WARN(domain->prov->fi, FI_LOG_EP_CTRL,
			"fi_stx_context: endpoints of this domain have no shared "
			"transmit context\n");
		return -FI_ENOSYS;
	}
	if (!ret_stx)
		return -FI_EINVAL;
	stx = calloc(1, sizeof(*stx));
	if (!stx)
		return -FI_ENOMEM;
	ret = stx_init_ep(stx, domain, attr, context);
	if (ret) {
		free(stx);
		return ret;
	}
	atomic_init(&stx->refs, 1);
	*ret_stx = (struct fid_stx *)&stx->ep.fid;
	return 0;
}

/* The transmit capabilities of @attr in an info with @caps: an endpoint's info may have
 * receive capabilities as well. */
static uint64_t stx_tx_caps(const struct fi_tx_attr *attr, uint64_t caps)
{
	caps = wf_ep_with_directions(attr->caps ? attr->caps : caps);
	return caps & WF_EP_TX_CAPS;
}

/* The log message for the first attribute of @ep that exceeds the context's; NULL: none
 * does. */
static const char *stx_beyond(const struct wf_ep *ep, const struct wf_ep *stx)
{
	const struct fi_tx_attr *asked = ep->info->tx_attr, *most = stx->info->tx_attr;

	if (stx_tx_caps(asked, ep->caps) & ~stx_tx_caps(most, stx->caps))
		return "the endpoint's tx_attr.caps are more than the context's";
	if (asked->msg_order & ~most->msg_order)
		return "the endpoint's tx_attr.msg_order is more than the context's";
	if (asked->inject_size > most->inject_size)
		return "the endpoint's tx_attr.inject_size is above the context's";
	if (asked->size > most->size)
		return "the endpoint's tx_attr.size is above the context's";
	if (asked->iov_limit > most->iov_limit)
		return "the endpoint's tx_attr.iov_limit is above the context's";
	if (asked->rma_iov_limit > most->rma_iov_limit)
		return "the endpoint's tx_attr.rma_iov_limit is above the context's";
	return NULL;
}

/* Add a reference for an endpoint. False: max_ep_stx_ctx endpoints are bound. The
 * application's reference, which still exists, does not count. */
static bool stx_take_ref(struct wf_stx *stx)
{
	size_t most = stx->ep.domain->info->domain_attr->max_ep_stx_ctx;
	size_t refs = atomic_load_explicit(&stx->refs, memory_order_relaxed);

	do {
		if (refs > most)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(&stx->refs, &refs, refs + 1,
		memory_order_relaxed, memory_order_relaxed));
	return true;
}

/* Take over options and default flags. from->control is held. */
static void stx_inherit(struct wf_ep *ep, const struct wf_ep *from)
{
	ep->inject_size = WF_MIN(ep->inject_size, from->inject_size);
	ep->max_msg_size = WF_MIN(ep->max_msg_size, from->max_msg_size);
	if (ep->tx_op_flags || !from->tx_op_flags)
		return;
	ep->tx_op_flags = from->tx_op_flags;
	if (ep->enabled)
		wf_ep_settle_tx_flags(ep);
}

/* The limits of an enabled endpoint are settled and cannot shrink. */
static bool stx_fits(const struct wf_ep *ep, const struct wf_ep *from)
{
	return !ep->enabled || (ep->inject_size <= from->inject_size &&
				       ep->max_msg_size <= from->max_msg_size);
}

int wf_stx_bind(struct wf_ep *ep, struct fid *fid, const char **why)
{
	struct wf_stx *stx = stx_of(fid);
	int ret = 0;

	*why = "the transmit context is of another provider";
	if (fid->ops != &stx_fid_ops)
		return -FI_EINVAL;
	*why = "the transmit context is of another domain";
	if (stx->ep.domain != ep->domain)
		return -FI_EDOMAIN;
	*why = "the endpoint does not transmit";
	if (!(ep->caps & WF_EP_TX_DIRS))
		return -FI_EINVAL;
	*why = "a transmit context is bound already";
	if (ep->stx)
		return -FI_EINVAL;
	*why = stx_beyond(ep, &stx->ep);
	if (*why)
		return -FI_EINVAL;
	(void)pthread_mutex_lock(&stx->ep.control);
	*why = "the endpoint is enabled already, with higher limits than the context's";
	if (!stx_fits(ep, &stx->ep)) {
		ret = -FI_EOPBADSTATE;
		goto out;
	}
	*why = "as many endpoints as max_ep_stx_ctx use the transmit context";
	if (!stx_take_ref(stx)) {
		ret = -FI_ENOSPC;
		goto out;
	}
	stx_inherit(ep, &stx->ep);
	ep->stx = stx;
out:
	(void)pthread_mutex_unlock(&stx->ep.control);
	return ret;
}

void wf_stx_unbind(struct wf_ep *ep)
{
	if (ep->stx)
		stx_unref(ep->stx);
	ep->stx = NULL;
}
