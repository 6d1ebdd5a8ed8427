/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/lower/endpoint.h"

#include <string.h>

#include "objects/endpoint/life/bind.h"
#include "objects/peer/open.h"

static int endpoint_result(const struct wf_lower_ep *below, const char *call, int ret)
{
	return wf_lower_result(below->domain, FI_LOG_EP_CTRL, call, ret);
}

int wf_lower_ep_open(struct wf_lower_ep *below, const struct wf_lower_domain *domain,
	struct fi_info *info, void *context)
{
	struct fid_ep *fid;
	int ret = fi_endpoint(domain->domain, info, &fid, context);

	fi_freeinfo(info);
	memset(below, 0, sizeof(*below));
	if (ret)
		return wf_lower_result(domain, FI_LOG_EP_CTRL, "fi_endpoint", ret);
	below->domain = domain;
	below->fid = fid;
	below->builtin = wf_ep_from_fid(fid);
	return 0;
}

static bool endpoint_is_bound(
	const struct wf_lower_ep *below, const struct fid *object, uint64_t flags)
{
	for (unsigned int i = 0; i < below->plain_count; i++)
		if (below->plain[i].object == object && below->plain[i].flags == flags)
			return true;
	return false;
}

int wf_lower_ep_bind(struct wf_lower_ep *below, struct fid *object, uint64_t flags)
{
	int ret;

	if (endpoint_is_bound(below, object, flags))
		return 0;
	ret = below->plain_count == WF_LOWER_PLAIN_MAX
		      ? -FI_ENOSPC
		      : fi_ep_bind(below->fid, object, flags);
	if (!ret)
		below->plain[below->plain_count++] =
			(struct wf_lower_binding){ object, flags };
	return endpoint_result(below, "fi_ep_bind", ret);
}

/* Open the imported queue with a descriptor if *@fd. Without one if the provider below
 * cannot make it; then *@fd becomes false. */
static int lower_endpoint_open_cq(const struct wf_lower_ep *below,
	struct fid_peer_cq *port, enum fi_cq_format format, bool *fd,
	struct fid_cq **ret_cq)
{
	struct fi_cq_attr attr = { .size = 1, .format = format };
	int ret;

	attr.wait_obj = *fd ? FI_WAIT_FD : FI_WAIT_NONE;
	ret = wf_peer_open_cq(below->domain->domain, &attr, port, ret_cq);
	if (!ret || !*fd)
		return ret;
	*fd = false;
	attr.wait_obj = FI_WAIT_NONE;
	return wf_peer_open_cq(below->domain->domain, &attr, port, ret_cq);
}

int wf_lower_ep_import_cq(struct wf_lower_ep *below, struct fid_peer_cq *port,
	enum fi_cq_format format, uint64_t flags, bool sleeps)
{
	struct fid_cq **slot = flags & FI_RECV ? &below->rx_cq : &below->tx_cq;
	bool fd = sleeps && below->builtin;
	struct fid_cq *cq;
	int ret;

	if (*slot)
		return 0;
	ret = lower_endpoint_open_cq(below, port, format, &fd, &cq);
	if (ret)
		return endpoint_result(below, "importing a CQ", ret);
	ret = fi_ep_bind(below->fid, &cq->fid, flags);
	if (ret) {
		wf_lower_close(below->domain, &cq->fid);
		return endpoint_result(below, "binding a CQ", ret);
	}
	*slot = cq;
	if (slot == &below->rx_cq || !below->rx_cq) {
		below->cq = cq;
		below->has_fd = fd;
	}
	return 0;
}

int wf_lower_ep_import_cntr(struct wf_lower_ep *below, enum wf_ep_cntr event,
	struct wf_cntr *cntr, struct fi_ops_cntr_owner *ops)
{
	struct wf_lower_cntr *imported = &below->cntr[event];
	int ret;

	if (imported->fid)
		return 0;
	ret = wf_lower_cntr_import(imported, below->domain, cntr, ops);
	if (ret)
		return ret;
	ret = fi_ep_bind(below->fid, &imported->fid->fid, wf_ep_cntr_flags[event]);
	if (ret)
		wf_lower_cntr_close(imported, below->domain);
	return endpoint_result(below, "binding a counter", ret);
}

int wf_lower_ep_import_srx(
	struct wf_lower_ep *below, struct wf_ep *above, struct fi_ops_srx_owner *ops)
{
	struct wf_srx *srx = wf_ep_srx(above);
	struct fi_rx_attr attr = *below->domain->info->rx_attr;
	int ret;

	if (!srx || below->srx)
		return 0;
	attr.caps = 0;
	attr.op_flags = 0;
	if (!below->srx_exported)
		wf_ep_srx_export(srx, &below->srx_port, above, NULL);
	below->srx_exported = true;
	if (ops)
		below->srx_port.fid.owner_ops = ops;
	ret = wf_peer_open_srx(
		below->domain->domain, &attr, &below->srx_port.fid, &below->srx);
	if (ret)
		return endpoint_result(below, "importing a receive context", ret);
	ret = fi_ep_bind(below->fid, &below->srx->fid, 0);
	if (ret) {
		wf_lower_close(below->domain, &below->srx->fid);
		below->srx = NULL;
	}
	return endpoint_result(below, "binding a receive context", ret);
}

bool wf_lower_ep_use_inbox(struct wf_lower_ep *below, struct wf_inbox_feed *feed)
{
	struct wf_ep *builtin = below->builtin;

	if (!builtin || !builtin->xfer->inbox)
		return false;
	builtin->inbox = feed;
	return true;
}

static int endpoint_set_size(
	const struct wf_lower_ep *below, int name, size_t size, size_t opened_with)
{
	if (size == opened_with)
		return 0;
	return endpoint_result(below, "fi_setopt",
		fi_setopt(
			&below->fid->fid, FI_OPT_ENDPOINT, name, &size, sizeof(size)));
}

int wf_lower_ep_set_limits(struct wf_lower_ep *below, const struct wf_ep *above)
{
	int ret = endpoint_set_size(below, FI_OPT_INJECT_MSG_SIZE, above->inject_size,
		above->info->tx_attr->inject_size);

	if (!ret)
		ret = endpoint_set_size(below, FI_OPT_MAX_MSG_SIZE, above->max_msg_size,
			above->info->ep_attr->max_msg_size);
	return ret;
}

int wf_lower_ep_enable(struct wf_lower_ep *below)
{
	int ret = below->enabled ? 0 : fi_enable(below->fid);

	below->enabled = !ret;
	return endpoint_result(below, "fi_enable", ret);
}

void wf_lower_ep_close(struct wf_lower_ep *below)
{
	const struct wf_lower_domain *domain = below->domain;

	if (!below->fid)
		return;
	if (below->srx_exported) {
		wf_srx_drain(&below->srx_port);
		wf_srx_detach(&below->srx_port);
	}
	wf_lower_wait_del(&below->wait);
	wf_lower_close(domain, &below->fid->fid);
	wf_lower_close(domain, below->srx ? &below->srx->fid : NULL);
	wf_lower_close(domain, below->tx_cq ? &below->tx_cq->fid : NULL);
	wf_lower_close(domain, below->rx_cq ? &below->rx_cq->fid : NULL);
	for (int i = 0; i < WF_CNTR_COUNT; i++)
		wf_lower_cntr_close(&below->cntr[i], domain);
	memset(below, 0, sizeof(*below));
}
