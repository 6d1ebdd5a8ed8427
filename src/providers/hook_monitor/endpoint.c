/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/hook_monitor/endpoint.h"

#include <stdlib.h>
#include <rdma/providers/fi_log.h>

#include "providers/hook_monitor/monitor.h"
#include "providers/hook_monitor/tables.h"

/* The life of monitored endpoints. */

static struct mon_ep *endpoint_of(struct fid *fid)
{
	return wf_container_of(fid->ops, struct mon_ep, fid_ops);
}

static struct mon_ep *endpoint_of_ops(struct fid_ep *fid)
{
	return wf_container_of(fid->ops, struct mon_ep, ops);
}

/* Replace the tables that are not the hook's. */
static void endpoint_put_tables(struct mon_ep *ep)
{
	struct fid_ep *fid = ep->fid;

	if (fid->msg && fid->msg != &ep->msg) {
		ep->below_msg = fid->msg;
		wf_copy_ops(&ep->msg, fid->msg, sizeof(ep->msg));
		mon_msg_replace(&ep->msg);
		fid->msg = &ep->msg;
	}
	if (fid->tagged && fid->tagged != &ep->tagged) {
		ep->below_tagged = fid->tagged;
		wf_copy_ops(&ep->tagged, fid->tagged, sizeof(ep->tagged));
		mon_tagged_replace(&ep->tagged);
		fid->tagged = &ep->tagged;
	}
	if (fid->rma && fid->rma != &ep->rma) {
		ep->below_rma = fid->rma;
		wf_copy_ops(&ep->rma, fid->rma, sizeof(ep->rma));
		mon_rma_replace(&ep->rma);
		fid->rma = &ep->rma;
	}
}

/* An alias may have copies of the endpoint's tables. */
static void endpoint_note_alias(struct mon_ep *ep)
{
	(void)pthread_mutex_lock(&ep->domain->lock);
	ep->has_aliases = true;
	(void)pthread_mutex_unlock(&ep->domain->lock);
}

static int mon_endpoint_control(struct fid *fid, int command, void *arg)
{
	struct mon_ep *ep = endpoint_of(fid);
	int ret;

	mon_inside_begin();
	ret = ep->below_fid->control(fid, command, arg);
	mon_inside_end();
	if (command == FI_ENABLE && fid == &ep->fid->fid)
		endpoint_put_tables(ep);
	if (command == FI_ALIAS && !ret)
		endpoint_note_alias(ep);
	return ret;
}

static void endpoint_drop(struct mon_ep *ep)
{
	struct mon_domain *domain = ep->domain;

	(void)pthread_mutex_lock(&domain->lock);
	if (ep->has_aliases) {
		wf_list_push(&domain->kept, &ep->link);
		ep = NULL;
	}
	(void)pthread_mutex_unlock(&domain->lock);
	free(ep);
}

static int mon_endpoint_close(struct fid *fid)
{
	struct mon_ep *ep = endpoint_of(fid);
	int ret;

	/* An alias with a copy of the endpoint's table. */
	if (fid != &ep->fid->fid)
		return ep->below_fid->close(fid);
	mon_file_remove_peers(ep->file, &ep->peers);
	ret = ep->below_fid->close(fid);
	if (ret)
		mon_file_add_peers(ep->file, &ep->peers);
	else
		endpoint_drop(ep);
	return ret;
}

static int endpoint_tx_ctx(struct fid_ep *fid, int index, struct fi_tx_attr *attr,
	struct fid_ep **ctx, void *context)
{
	struct mon_ep *ep = endpoint_of_ops(fid);
	int ret = ep->below_ops->tx_ctx(fid, index, attr, ctx, context);

	if (!ret)
		mon_ep_put(*ctx, ep->domain);
	return ret;
}

static int endpoint_rx_ctx(struct fid_ep *fid, int index, struct fi_rx_attr *attr,
	struct fid_ep **ctx, void *context)
{
	struct mon_ep *ep = endpoint_of_ops(fid);
	int ret = ep->below_ops->rx_ctx(fid, index, attr, ctx, context);

	if (!ret)
		mon_ep_put(*ctx, ep->domain);
	return ret;
}

/* Ordinary endpoints keep their table: providers recognise them by it. */
static void endpoint_put_scalable(struct mon_ep *ep, struct fid_ep *fid)
{
	ep->below_ops = fid->ops;
	wf_copy_ops(&ep->ops, fid->ops, sizeof(ep->ops));
	MON_REPLACE(&ep->ops, tx_ctx, endpoint_tx_ctx);
	MON_REPLACE(&ep->ops, rx_ctx, endpoint_rx_ctx);
	fid->ops = &ep->ops;
}

static const struct wf_peer_counts_ops *endpoint_peer_counts_of(struct fid *fid)
{
	struct wf_peer_counts_ops *ops = NULL;

	if (!FI_CHECK_OP(fid->ops, struct fi_ops, ops_open) ||
		fi_open_ops(fid, WF_PEER_COUNTS, 0, (void **)&ops, NULL))
		return NULL;
	return FI_CHECK_OP(ops, struct wf_peer_counts_ops, get) ? ops : NULL;
}

static void endpoint_put_fid(struct mon_ep *ep, struct fid *fid)
{
	ep->peers.fid = fid;
	ep->peers.ops = endpoint_peer_counts_of(fid);
	mon_file_add_peers(ep->file, &ep->peers);
	ep->below_fid = fid->ops;
	wf_copy_ops(&ep->fid_ops, fid->ops, sizeof(ep->fid_ops));
	ep->fid_ops.close = mon_endpoint_close;
	/* A receive context is recognised by this call, and has its tables already. */
	if (fid->fclass != FI_CLASS_SRX_CTX)
		MON_REPLACE(&ep->fid_ops, control, mon_endpoint_control);
	fid->ops = &ep->fid_ops;
}

void mon_ep_put(struct fid_ep *fid, struct mon_domain *domain)
{
	struct mon_ep *ep = calloc(1, sizeof(*ep));

	if (!ep) {
		FI_WARN(&mon_fi, FI_LOG_EP_CTRL,
			"an endpoint is not monitored: out of memory\n");
		return;
	}
	ep->file = domain->file;
	ep->domain = domain;
	ep->fid = fid;
	wf_list_init(&ep->link);
	wf_list_init(&ep->peers.link);
	if (fid->fid.fclass == FI_CLASS_SEP)
		endpoint_put_scalable(ep, fid);
	endpoint_put_tables(ep);
	endpoint_put_fid(ep, &fid->fid);
}
