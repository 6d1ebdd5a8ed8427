/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/endpoint/life/name.h"
#include "providers/verbs/cm/cm.h"

/* What the calls of fi_cm(3) start, and the names of endpoints that connect. */

/* Time limit for resolving a neighbour's address, in milliseconds. */
enum { ADDRESS_MS = 4000 };

/* Let the readers of @eq and the domain's thread drive the exchange, and report events
 * of the device. */
static int calls_run(struct wf_cm *base, struct wf_eq *eq)
{
	struct verbs_cm *cm = verbs_cm_of(base);
	struct verbs_async *async = cm->ep->domain->async;
	struct wf_domain *domain = base->ep->domain;
	int err = wf_domain_progress_add(domain, &cm->item);

	if (err)
		return err;
	err = wf_eq_progress_add(eq, &cm->item);
	if (err)
		goto err_domain;
	err = wf_eq_progress_add(eq, &async->item);
	if (err)
		goto err_item;
	wf_lock(&async->lock);
	wf_list_push(&async->cms, &cm->link);
	wf_unlock(&async->lock);
	return 0;

err_item:
	wf_eq_progress_del(eq, &cm->item);
err_domain:
	wf_domain_progress_del(domain, &cm->item);
	return err;
}

static int calls_start_connecting(struct wf_cm *base, const void *data, size_t len)
{
	struct verbs_cm *cm = verbs_cm_of(base);
	bool any = wf_sockaddr_is_wildcard(&cm->own);
	struct sockaddr *source = cm->id || any ? NULL : &cm->own.sa;

	verbs_cm_data_set(&cm->data, data, len);
	if (!cm->id && VERBS_RDMA(create_id(cm->channel, &cm->id, NULL, RDMA_PS_TCP)))
		return verbs_cm_errno("rdma_create_id");
	if (VERBS_RDMA(resolve_addr(cm->id, source, &base->peer.sa, ADDRESS_MS)))
		return verbs_cm_errno("rdma_resolve_addr");
	return 0;
}

/* The peer may send as soon as it has the answer, so the queue pair must be ready
 * before. */
static int calls_answer(struct wf_cm *base, const void *data, size_t len)
{
	struct verbs_cm *cm = verbs_cm_of(base);
	struct rdma_conn_param param;
	int err = verbs_cm_qp_connect(cm);

	if (err) {
		(void)VERBS_RDMA(reject(cm->id, NULL, 0));
		return err;
	}
	verbs_cm_data_set(&cm->data, data, len);
	param = verbs_cm_param(cm, &cm->data);
	return VERBS_RDMA(accept(cm->id, &param)) ? verbs_cm_errno("rdma_accept") : 0;
}

static int calls_shut_down(struct wf_cm *base)
{
	int ret = 0;

	wf_lock(base->lock);
	if (base->state == WF_CM_CONNECTED)
		verbs_cm_down(verbs_cm_of(base));
	else
		ret = -FI_ENOTCONN;
	wf_unlock(base->lock);
	return ret;
}

const struct wf_cm_ops verbs_cm_ops = {
	.data_size = VERBS_CM_DATA_SIZE,
	.run = calls_run,
	.connect = calls_start_connecting,
	.accept = calls_answer,
	.shutdown = calls_shut_down,
};

/* Bind to @name instead of the endpoint's address. @cm->lock is held. */
static int calls_rebind(struct verbs_cm *cm, const union wf_sockaddr *name)
{
	struct rdma_cm_id *id;
	int err = verbs_channel_bind(cm->channel, name, &id);

	if (err)
		return err;
	if (cm->id)
		(void)VERBS_RDMA(destroy_id(cm->id));
	cm->id = id;
	verbs_id_own(id, &cm->own);
	return 0;
}

int verbs_cm_setname(struct verbs_ep *ep, const void *addr, size_t len)
{
	struct verbs_cm *cm = ep->cm;
	union wf_sockaddr name;
	int ret = wf_name_read(&verbs_prov, addr, len, cm->base.family, &name);

	if (ret)
		return ret;
	wf_lock(&cm->lock);
	if (cm->base.state == WF_CM_NEW)
		ret = calls_rebind(cm, &name);
	else
		ret = wf_cm_refuse(&verbs_prov, "fi_setname", -FI_EOPBADSTATE,
			"the endpoint has the address of its request");
	wf_unlock(&cm->lock);
	return ret;
}

int verbs_cm_getname(struct verbs_ep *ep, void *addr, size_t *len)
{
	struct verbs_cm *cm = ep->cm;
	int ret;

	wf_lock(&cm->lock);
	ret = wf_name_give(&cm->own, wf_sockaddr_len(&cm->own), addr, len);
	wf_unlock(&cm->lock);
	return ret;
}

int verbs_cm_getopt(struct wf_ep *ep, int name, void *val, size_t *len)
{
	return ep->type == FI_EP_MSG ? wf_cm_getopt(VERBS_CM_DATA_SIZE, name, val, len)
				     : -FI_ENOPROTOOPT;
}
