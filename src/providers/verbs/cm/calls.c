/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/endpoint/life/flush.h"
#include "objects/endpoint/life/name.h"
#include "providers/verbs/cm/cm.h"

/* The calls of fi_cm(3) on endpoints that connect. */

enum { ADDRESS_MS = 4000 }; /* for the resolution of a neighbour's address */

static struct verbs_ep *ep_of(struct fid *fid)
{
	return verbs_ep_of(wf_ep_resolve(fid));
}

static int refuse(const char *call, int err, const char *why)
{
	verbs_log(FI_LOG_WARN, FI_LOG_EP_CTRL, "%s refused: %s\n", call, why);
	return err;
}

/* Have the readers of @eq and the domain's thread drive the exchange, and report what
 * happens to the device. */
static int start_running(struct verbs_cm *cm, struct wf_eq *eq)
{
	struct wf_progress *async = &cm->ep->domain->async->item;
	struct wf_domain *domain = cm->ep->ep.domain;
	int err = wf_domain_progress_add(domain, &cm->item);

	if (err)
		return err;
	err = wf_eq_progress_add(eq, &cm->item);
	if (err)
		goto err_domain;
	err = wf_eq_progress_add(eq, async);
	if (err)
		goto err_item;
	cm->eq = eq;
	wf_lock(&cm->ep->domain->async->lock);
	wf_list_push(&cm->ep->domain->async->cms, &cm->link);
	wf_unlock(&cm->ep->domain->async->lock);
	return 0;

err_item:
	wf_eq_progress_del(eq, &cm->item);
err_domain:
	wf_domain_progress_del(domain, &cm->item);
	return err;
}

/* Check that an EQ is bound, enable the endpoint, have it run. */
static int get_ready(struct verbs_ep *ep, const char *call)
{
	struct wf_eq *eq = wf_ep_eq(&ep->ep);
	int ret = 0;

	if (!eq)
		return refuse(call, -FI_ENOEQ, "no event queue is bound");
	if (!ep->ep.enabled)
		ret = fi_enable(&ep->ep.fid);
	if (!ret && !ep->cm->eq)
		ret = start_running(ep->cm, eq);
	return ret;
}

static int read_dest(
	const struct verbs_ep *ep, const void *addr, union wf_sockaddr *ret)
{
	const struct fi_info *info = ep->ep.info;
	size_t len = wf_sockaddr_len(&ep->cm->own);

	if (!addr) {
		addr = info->dest_addr;
		len = info->dest_addrlen;
	}
	if (!addr || wf_sockaddr_read(addr, len, ret) ||
		ret->sa.sa_family != ep->cm->own.sa.sa_family)
		return refuse("fi_connect", -FI_EINVAL,
			"not an address in the endpoint's format");
	return 0;
}

/* A failure before anything was sent is an event like any other. */
static void start_connecting(struct verbs_cm *cm, union wf_sockaddr *dest)
{
	union wf_sockaddr *source = wf_sockaddr_is_wildcard(&cm->own) ? NULL : &cm->own;
	int err = 0;

	cm->active = true;
	cm->peer = *dest;
	cm->state = VERBS_CM_CONNECTING;
	if (cm->id)
		source = NULL; /* it is bound */
	else if (verbs_lib.rdma.create_id(cm->channel, &cm->id, NULL, RDMA_PS_TCP))
		err = verbs_cm_errno("rdma_create_id");
	if (!err && verbs_lib.rdma.resolve_addr(
			    cm->id, source ? &source->sa : NULL, &dest->sa, ADDRESS_MS))
		err = verbs_cm_errno("rdma_resolve_addr");
	if (err) {
		cm->state = VERBS_CM_DOWN;
		verbs_cm_tell_error(cm, -err, err, NULL);
	}
}

static int cm_connect(
	struct fid_ep *fid, const void *addr, const void *param, size_t len)
{
	struct verbs_ep *ep = ep_of(&fid->fid);
	struct verbs_cm *cm = ep->cm;
	union wf_sockaddr dest;
	int ret;

	if (len && !param)
		return -FI_EINVAL;
	ret = read_dest(ep, addr, &dest);
	if (!ret)
		ret = get_ready(ep, "fi_connect");
	if (ret)
		return ret;
	wf_lock(&cm->lock);
	if (cm->state == VERBS_CM_NEW) {
		verbs_cm_data_set(&cm->data, param, len);
		start_connecting(cm, &dest);
	} else {
		ret = refuse("fi_connect", -FI_EOPBADSTATE,
			"an endpoint connects once, and not after a request");
	}
	wf_unlock(&cm->lock);
	return ret;
}

/* The peer may send as soon as it has the answer, so the queue pair is ready first. */
static void answer(struct verbs_cm *cm)
{
	struct rdma_conn_param param = verbs_cm_param(cm, &cm->data);
	int err = verbs_cm_qp_connect(cm);

	if (err)
		(void)verbs_lib.rdma.reject(cm->id, NULL, 0);
	else if (verbs_lib.rdma.accept(cm->id, &param))
		err = verbs_cm_errno("rdma_accept");
	cm->state = err ? VERBS_CM_DOWN : VERBS_CM_CONNECTING;
	if (err)
		verbs_cm_tell_error(cm, -err, err, NULL);
}

static int cm_accept(struct fid_ep *fid, const void *param, size_t len)
{
	struct verbs_ep *ep = ep_of(&fid->fid);
	struct verbs_cm *cm = ep->cm;
	int ret;

	if (len && !param)
		return -FI_EINVAL;
	ret = get_ready(ep, "fi_accept");
	if (ret)
		return ret;
	wf_lock(&cm->lock);
	if (cm->state == VERBS_CM_ASKED) {
		verbs_cm_data_set(&cm->data, param, len);
		answer(cm);
	} else {
		ret = refuse("fi_accept", -FI_EOPBADSTATE,
			"the endpoint was not made from a connection request, or "
			"accepted it already");
	}
	wf_unlock(&cm->lock);
	return ret;
}

static int cm_shutdown(struct fid_ep *fid, uint64_t flags)
{
	struct verbs_ep *ep = ep_of(&fid->fid);
	struct verbs_cm *cm = ep->cm;
	int ret = 0;

	if (flags)
		return refuse("fi_shutdown", -FI_EINVAL, "flags are reserved");
	wf_ep_flush(&ep->ep);
	wf_lock(&cm->lock);
	if (cm->state == VERBS_CM_CONNECTED)
		verbs_cm_down(cm);
	else
		ret = -FI_ENOTCONN;
	wf_unlock(&cm->lock);
	return ret;
}

static int cm_getpeer(struct fid_ep *fid, void *addr, size_t *len)
{
	struct verbs_cm *cm = ep_of(&fid->fid)->cm;
	int ret = -FI_ENOTCONN;

	if (!len || (*len && !addr))
		return -FI_EINVAL;
	wf_lock(&cm->lock);
	if (wf_sockaddr_len(&cm->peer))
		ret = wf_name_give(&cm->peer, wf_sockaddr_len(&cm->peer), addr, len);
	wf_unlock(&cm->lock);
	return ret;
}

int verbs_cm_setname(struct verbs_ep *ep, const void *addr, size_t len)
{
	struct verbs_cm *cm = ep->cm;
	struct rdma_cm_id *id;
	union wf_sockaddr name;
	int ret = wf_name_read(&verbs_prov, addr, len, cm->own.sa.sa_family, &name);

	if (ret)
		return ret;
	wf_lock(&cm->lock);
	if (cm->state != VERBS_CM_NEW)
		ret = refuse("fi_setname", -FI_EOPBADSTATE,
			"the endpoint has the address of its request");
	else
		ret = verbs_channel_bind(cm->channel, &name, &id);
	if (!ret) {
		if (cm->id)
			(void)verbs_lib.rdma.destroy_id(cm->id);
		cm->id = id;
		verbs_id_own(id, &cm->own);
	}
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
	if (name != FI_OPT_CM_DATA_SIZE || ep->type != FI_EP_MSG)
		return -FI_ENOPROTOOPT;
	if (*len < sizeof(size_t)) {
		*len = sizeof(size_t);
		return -FI_ETOOSMALL;
	}
	*len = sizeof(size_t);
	*(size_t *)val = VERBS_CM_DATA_SIZE;
	return 0;
}

void verbs_cm_set_calls(struct verbs_ep *ep)
{
	struct fi_ops_cm *ops = &ep->cm->ops;

	*ops = *ep->ep.fid.cm;
	ops->connect = cm_connect;
	ops->accept = cm_accept;
	ops->shutdown = cm_shutdown;
	ops->getpeer = cm_getpeer;
	ep->ep.fid.cm = ops;
}
