/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "objects/peer/open.h"
#include "providers/lnx/lnx.h"
#include "sys/compiler.h"

/*
 * A member's endpoint: it is opened from what the application settled for ours, and
 * bound to imports of what the application bound to ours.
 *
 * What it transmits completes only where we ask for that, so its CQ for transmissions
 * is bound with FI_SELECTIVE_COMPLETION and one of its own; both queues are empty,
 * everything goes through them to the application's.
 */

static int failed(
	const struct lnx_ep *ep, unsigned int index, const char *what, int ret)
{
	if (ret)
		lnx_log(FI_LOG_WARN, FI_LOG_EP_CTRL, "%s: %s: %s\n",
			ep->domain->link->member[index].name, what, fi_strerror(-ret));
	return ret;
}

/* ---- opening ---- */

static size_t least(size_t mine, size_t members)
{
	return WF_MIN(mine, members);
}

/* The member's capabilities as far as the application uses them; triggers and
 * multi-receive buffers are ours. */
static uint64_t member_caps(uint64_t ours, uint64_t members)
{
	const uint64_t own = FI_TRIGGER | FI_MULTI_RECV;
	const uint64_t always =
		FI_PEER | FI_AV_USER_ID | FI_LOCAL_COMM | FI_REMOTE_COMM;

	return ((ours & ~own) | always) & members;
}

/* The address that the endpoint is to have. */
static bool set_source(struct fi_info *info, const struct lnx_name_link *source)
{
	/* Text of a peer's name may end without a NUL. */
	void *copy = calloc(1, source->len + 1u);

	if (!copy)
		return false;
	free(info->src_addr);
	info->src_addr = memcpy(copy, source->addr, source->len);
	info->src_addrlen = source->len + (source->format == FI_ADDR_STR ? 1u : 0u);
	return true;
}

static struct fi_info *member_info(const struct lnx_ep *ep, unsigned int index)
{
	const struct fi_info *ours = ep->wf.info;
	struct fi_info *info = fi_dupinfo(ep->domain->member[index].info);

	if (!info)
		return NULL;
	info->caps = member_caps(ours->caps, info->caps);
	info->mode = ours->mode;
	info->tx_attr->caps = info->rx_attr->caps = 0;
	info->tx_attr->op_flags = 0;
	info->rx_attr->op_flags = 0;
	info->tx_attr->msg_order &= ours->tx_attr->msg_order;
	info->rx_attr->msg_order &= ours->rx_attr->msg_order;
	info->tx_attr->inject_size =
		least(ours->tx_attr->inject_size, info->tx_attr->inject_size);
	info->tx_attr->size = least(ours->tx_attr->size, info->tx_attr->size);
	info->tx_attr->iov_limit =
		least(ours->tx_attr->iov_limit, info->tx_attr->iov_limit);
	info->tx_attr->rma_iov_limit =
		least(ours->tx_attr->rma_iov_limit, info->tx_attr->rma_iov_limit);
	info->tx_attr->tclass = 0;
	info->rx_attr->size = least(ours->rx_attr->size, info->rx_attr->size);
	info->rx_attr->iov_limit =
		least(ours->rx_attr->iov_limit, info->rx_attr->iov_limit);
	info->ep_attr->max_msg_size =
		least(ours->ep_attr->max_msg_size, info->ep_attr->max_msg_size);
	return info;
}

int lnx_rail_open(
	struct lnx_ep *ep, unsigned int index, const struct lnx_name_link *source)
{
	struct lnx_rail *rail = &ep->rail[index];
	struct fi_info *info = member_info(ep, index);
	int ret;

	if (!info || (source && !set_source(info, source))) {
		fi_freeinfo(info);
		return -FI_ENOMEM;
	}
	/* Errors of injected operations report the endpoint's context: ours. */
	ret = fi_endpoint(ep->domain->member[index].domain, info, &rail->ep,
		ep->wf.fid.fid.context);
	fi_freeinfo(info);
	if (ret)
		return failed(ep, index, "fi_endpoint", ret);
	rail->fabric = ep->domain->member[index].fabric;
	rail->builtin = wf_ep_from_fid(rail->ep);
	rail->recorded = ep->tracked || !rail->builtin;
	return 0;
}

/* ---- binding ---- */

static int bind_av(struct lnx_ep *ep, unsigned int index)
{
	struct lnx_rail *rail = &ep->rail[index];
	int ret;

	if (rail->av_bound)
		return 0;
	ret = fi_ep_bind(rail->ep, &ep->av->member[index]->fid, 0);
	rail->av_bound = !ret;
	return failed(ep, index, "binding an AV", ret);
}

/* With a descriptor to sleep on, if the member is builtin (in fi_peer(3) peers have
 * none) and can: only if a thread may sleep on it, because otherwise no message has to
 * ask whether one does. */
static int open_cq(struct lnx_ep *ep, unsigned int index, struct lnx_port *port,
	uint64_t flags, struct fid_cq **ret_cq)
{
	struct fid_domain *domain = ep->domain->member[index].domain;
	struct lnx_rail *rail = &ep->rail[index];
	struct fi_cq_attr attr = {
		.size = 1,
		.format = port->cq->ring.format,
	};
	struct fid_cq *cq;
	int ret;

	if (*ret_cq)
		return 0;
	rail->has_fd = ep->may_sleep && rail->builtin;
	attr.wait_obj = rail->has_fd ? FI_WAIT_FD : FI_WAIT_NONE;
	ret = wf_peer_open_cq(domain, &attr, &port->fid, &cq);
	if (ret && rail->has_fd) {
		attr.wait_obj = FI_WAIT_NONE;
		rail->has_fd = false;
		ret = wf_peer_open_cq(domain, &attr, &port->fid, &cq);
	}
	if (ret)
		return failed(ep, index, "importing a CQ", ret);
	ret = fi_ep_bind(rail->ep, &cq->fid, flags);
	if (ret) {
		(void)fi_close(&cq->fid);
		return failed(ep, index, "binding a CQ", ret);
	}
	*ret_cq = cq;
	return 0;
}

static int bind_cqs(struct lnx_ep *ep, unsigned int index)
{
	struct lnx_rail *rail = &ep->rail[index];
	uint64_t rx_flags = FI_RECV;
	int ret = 0;

	/* A receive that is posted to a shared context does not say how our CQ is
	 * bound. */
	if (ep->wf.rx_selective)
		rx_flags |= FI_SELECTIVE_COMPLETION;
	if (!rail->cq)
		lnx_ports_init(ep, index);
	if (ep->wf.tx_cq)
		ret = open_cq(ep, index, &rail->tx,
			FI_TRANSMIT | FI_SELECTIVE_COMPLETION, &rail->tx_cq);
	if (!ret && ep->wf.rx_cq)
		ret = open_cq(ep, index, &rail->rx, rx_flags, &rail->rx_cq);
	rail->cq = rail->rx_cq ? rail->rx_cq : rail->tx_cq;
	return ret;
}

static const uint64_t cntr_flags[WF_CNTR_COUNT] = {
	[WF_CNTR_SEND] = FI_SEND,
	[WF_CNTR_RECV] = FI_RECV,
	[WF_CNTR_READ] = FI_READ,
	[WF_CNTR_WRITE] = FI_WRITE,
	[WF_CNTR_REMOTE_READ] = FI_REMOTE_READ,
	[WF_CNTR_REMOTE_WRITE] = FI_REMOTE_WRITE,
};

/* Transmissions over a recorded rail are counted in completion.c. */
static bool is_counted_by(const struct lnx_rail *rail, enum wf_ep_cntr event)
{
	return !rail->recorded || event == WF_CNTR_RECV ||
	       event == WF_CNTR_REMOTE_READ || event == WF_CNTR_REMOTE_WRITE;
}

static int bind_cntr(struct lnx_ep *ep, unsigned int index, enum wf_ep_cntr event)
{
	struct fid_domain *domain = ep->domain->member[index].domain;
	struct lnx_rail *rail = &ep->rail[index];
	struct wf_cntr *cntr = ep->wf.cntr[event];
	struct fi_cntr_attr attr = { .wait_obj = FI_WAIT_NONE };
	int ret;

	if (!cntr || rail->cntr[event] || !is_counted_by(rail, event))
		return 0;
	attr.events = cntr->events;
	wf_cntr_export(cntr, &rail->cntr_port[event]);
	if (!rail->builtin && event == WF_CNTR_RECV)
		lnx_deferred_export_cntr(rail);
	ret = wf_peer_open_cntr(
		domain, &attr, &rail->cntr_port[event], &rail->cntr[event]);
	if (ret)
		goto err_export;
	ret = fi_ep_bind(rail->ep, &rail->cntr[event]->fid, cntr_flags[event]);
	if (ret)
		goto err_cntr;
	return 0;

err_cntr:
	(void)fi_close(&rail->cntr[event]->fid);
err_export:
	rail->cntr[event] = NULL;
	wf_cntr_unexport(&rail->cntr_port[event]);
	return failed(ep, index, "importing a counter", ret);
}

int lnx_rail_bind_cntrs(struct lnx_ep *ep, unsigned int index)
{
	int ret = 0;

	for (int i = 0; i < WF_CNTR_COUNT && !ret; i++)
		ret = bind_cntr(ep, index, (enum wf_ep_cntr)i);
	lnx_fast_path_link(ep, &ep->rail[index]);
	return ret;
}

static int bind_srx(struct lnx_ep *ep, unsigned int index)
{
	struct lnx_rail *rail = &ep->rail[index];
	struct wf_srx *srx = wf_ep_srx(&ep->wf);
	struct fi_rx_attr attr;
	int ret;

	if (!srx || rail->srx)
		return 0;
	attr = *ep->domain->member[index].info->rx_attr;
	attr.caps = 0;
	attr.op_flags = 0;
	if (!rail->exported)
		wf_ep_srx_export(srx, &rail->srx_port, &ep->wf, NULL);
	rail->exported = true;
	if (!rail->builtin)
		lnx_sources_export(rail);
	ret = wf_peer_open_srx(ep->domain->member[index].domain, &attr,
		&rail->srx_port.fid, &rail->srx);
	if (ret)
		return failed(ep, index, "importing a receive context", ret);
	if (!rail->builtin)
		lnx_deferred_srx_opened(rail);
	ret = fi_ep_bind(rail->ep, &rail->srx->fid, 0);
	if (ret) {
		(void)fi_close(&rail->srx->fid);
		rail->srx = NULL;
	}
	return failed(ep, index, "binding a receive context", ret);
}

static int set_size(struct lnx_rail *rail, int name, size_t size, size_t opened_with)
{
	if (size == opened_with)
		return 0;
	return fi_setopt(&rail->ep->fid, FI_OPT_ENDPOINT, name, &size, sizeof(size));
}

/* Limits that the application lowered since it opened the endpoint. */
static int set_limits(struct lnx_ep *ep, unsigned int index)
{
	const struct fi_info *info = ep->wf.info;
	struct lnx_rail *rail = &ep->rail[index];
	int ret;

	ret = set_size(rail, FI_OPT_INJECT_MSG_SIZE, ep->wf.inject_size,
		info->tx_attr->inject_size);
	if (!ret)
		ret = set_size(rail, FI_OPT_MAX_MSG_SIZE, ep->wf.max_msg_size,
			info->ep_attr->max_msg_size);
	return failed(ep, index, "fi_setopt", ret);
}

int lnx_rail_enable(struct lnx_ep *ep, unsigned int index)
{
	struct lnx_rail *rail = &ep->rail[index];
	int ret;

	if (rail->enabled)
		return 0;
	ret = set_limits(ep, index);
	if (!ret)
		ret = bind_av(ep, index);
	if (!ret)
		ret = bind_cqs(ep, index);
	if (!ret)
		ret = lnx_rail_bind_cntrs(ep, index);
	if (!ret)
		ret = bind_srx(ep, index);
	if (ret)
		return ret;
	ret = fi_enable(rail->ep);
	rail->enabled = !ret;
	return failed(ep, index, "fi_enable", ret);
}

/* ---- closing ---- */

static void close_object(struct lnx_ep *ep, unsigned int index, struct fid *fid)
{
	if (fid)
		(void)failed(ep, index, "closing an object", fi_close(fid));
}

/* Messages that wait go first, while the endpoint can let them go. Those that it is at
 * work on it ends itself. */
void lnx_rail_close(struct lnx_ep *ep, unsigned int index)
{
	struct lnx_rail *rail = &ep->rail[index];

	if (rail->exported) {
		wf_srx_drain(&rail->srx_port);
		wf_srx_detach(&rail->srx_port);
	}
	close_object(ep, index, rail->ep ? &rail->ep->fid : NULL);
	close_object(ep, index, rail->srx ? &rail->srx->fid : NULL);
	close_object(ep, index, rail->tx_cq ? &rail->tx_cq->fid : NULL);
	close_object(ep, index, rail->rx_cq ? &rail->rx_cq->fid : NULL);
	for (int i = 0; i < WF_CNTR_COUNT; i++) {
		if (!rail->cntr[i])
			continue;
		close_object(ep, index, &rail->cntr[i]->fid);
		wf_cntr_unexport(&rail->cntr_port[i]);
	}
}
