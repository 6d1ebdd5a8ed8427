/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "objects/absent/absent.h"
#include "objects/cm/internal.h"
#include "objects/cm/pep.h"
#include "objects/endpoint/life/name.h"
#include "objects/info/info.h"

/* The application's calls on a passive endpoint. */

static struct wf_pep *pep_of(struct fid *fid)
{
	return wf_container_of(fid, struct wf_pep, fid.fid);
}

static int pep_refuse(
	const struct wf_pep *pep, const char *call, int err, const char *why)
{
	return wf_cm_refuse(pep->ops->prov, call, err, why);
}

static int pep_start_listening(struct wf_pep *pep)
{
	int ret;

	if (pep->taken || pep->listening)
		return pep_refuse(pep, "fi_listen", -FI_EOPBADSTATE,
			"it listens already, or its address was taken over");
	ret = pep->ops->bind(pep);
	if (!ret)
		ret = pep->ops->listen(pep);
	if (!ret)
		pep->listening = true;
	return ret;
}

static int cm_pep_listen(struct fid_pep *fid)
{
	struct wf_pep *pep = pep_of(&fid->fid);
	int ret;

	if (!pep->eq)
		return pep_refuse(
			pep, "fi_listen", -FI_ENOEQ, "no event queue is bound");
	wf_lock(&pep->lock);
	ret = pep_start_listening(pep);
	wf_unlock(&pep->lock);
	if (ret)
		return ret;
	ret = wf_eq_progress_add(pep->eq, &pep->item);
	if (ret) {
		wf_lock(&pep->lock);
		pep->listening = false;
		pep->ops->unbind(pep);
		wf_unlock(&pep->lock);
	}
	return ret;
}

static int pep_reject(struct fid_pep *fid, fid_t handle, const void *param, size_t len)
{
	const struct wf_pep *pep = pep_of(&fid->fid);
	struct wf_cm_request *req;
	int ret = wf_cm_check_data(
		pep->ops->prov, "fi_reject", param, len, pep->ops->data_size);

	if (ret)
		return ret;
	req = wf_cm_request_take(handle, pep->ops->reject);
	if (!req)
		return pep_refuse(pep, "fi_reject", -FI_EINVAL,
			"handle is not a connection request that is open");
	req->reject(req, WF_CM_REFUSED, param, len);
	return 0;
}

static int pep_setname(fid_t fid, void *addr, size_t len)
{
	struct wf_pep *pep = pep_of(fid);
	union wf_sockaddr name;
	int ret =
		wf_name_read(pep->ops->prov, addr, len, pep->name.sa.sa_family, &name);

	if (ret)
		return ret;
	wf_lock(&pep->lock);
	if (pep->listening || pep->taken) {
		ret = pep_refuse(
			pep, "fi_setname", -FI_EOPBADSTATE, "it listens already");
	} else {
		pep->ops->unbind(pep);
		pep->name = name;
		ret = pep->ops->bind(pep);
	}
	wf_unlock(&pep->lock);
	return ret;
}

static int pep_getname(fid_t fid, void *addr, size_t *len)
{
	struct wf_pep *pep = pep_of(fid);
	int ret;

	if (!len || (*len && !addr))
		return -FI_EINVAL;
	wf_lock(&pep->lock);
	ret = wf_name_give(&pep->name, wf_sockaddr_len(&pep->name), addr, len);
	wf_unlock(&pep->lock);
	return ret;
}

static struct fi_ops_cm pep_cm_ops = {
	.size = sizeof(pep_cm_ops),
	.setname = pep_setname,
	.getname = pep_getname,
	.getpeer = wf_absent_cm_getpeer,
	.connect = wf_absent_cm_connect,
	.listen = cm_pep_listen,
	.accept = wf_absent_cm_accept,
	.reject = pep_reject,
	.shutdown = wf_absent_cm_shutdown,
	.join = wf_absent_cm_join,
};

static int pep_getopt(fid_t fid, int level, int name, void *val, size_t *len)
{
	if (level != FI_OPT_ENDPOINT)
		return -FI_ENOPROTOOPT;
	if (!val || !len)
		return -FI_EINVAL;
	return wf_cm_getopt(pep_of(fid)->ops->data_size, name, val, len);
}

static struct fi_ops_ep pep_ep_ops = {
	.size = sizeof(pep_ep_ops),
	.cancel = wf_absent_ep_cancel,
	.getopt = pep_getopt,
	.setopt = wf_absent_ep_setopt,
	.tx_ctx = wf_absent_ep_tx_ctx,
	.rx_ctx = wf_absent_ep_rx_ctx,
	.rx_size_left = wf_absent_ep_rx_size_left,
	.tx_size_left = wf_absent_ep_tx_size_left,
	.export_xpu = wf_absent_ep_export_xpu,
};

static int cm_pep_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct wf_pep *pep = pep_of(fid);
	struct wf_eq *eq;

	if (!bfid || bfid->fclass != FI_CLASS_EQ)
		return pep_refuse(
			pep, "fi_pep_bind", -FI_EINVAL, "only an EQ can be bound");
	if (flags)
		return pep_refuse(
			pep, "fi_pep_bind", -FI_EBADFLAGS, "an EQ takes no flags");
	eq = wf_container_of(bfid, struct wf_eq, fid.fid);
	if (eq->fabric != pep->fabric || pep->eq)
		return pep_refuse(pep, "fi_pep_bind", -FI_EINVAL,
			"one EQ of the same fabric can be bound");
	pep->eq = eq;
	wf_eq_ref(eq);
	return 0;
}

static int pep_control(struct fid *fid, int command, void *arg)
{
	struct wf_pep *pep = pep_of(fid);
	int ret = 0;

	if (command != FI_BACKLOG)
		return -FI_ENOSYS;
	if (!arg || *(int *)arg < 0)
		return pep_refuse(
			pep, "FI_BACKLOG", -FI_EINVAL, "not a number of requests");
	wf_lock(&pep->lock);
	if (pep->listening && !pep->ops->backlog_changed) {
		ret = pep_refuse(
			pep, "FI_BACKLOG", -FI_EOPBADSTATE, "it listens already");
	} else {
		pep->backlog = *(int *)arg;
		if (pep->listening)
			pep->ops->backlog_changed(pep);
	}
	wf_unlock(&pep->lock);
	return ret;
}

/* Unanswered requests are rejected: no call can answer them any more. */
static int pep_close(struct fid *fid)
{
	struct wf_pep *pep = pep_of(fid);
	struct wf_cm_request *req;

	if (pep->listening)
		wf_eq_progress_del(pep->eq, &pep->item);
	while ((req = wf_cm_request_take_any(pep)))
		req->reject(req, WF_CM_REFUSED, NULL, 0);
	pep->ops->destroy(pep);
	return 0;
}

static struct fi_ops pep_fid_ops = WF_FID_OPS(pep_close, cm_pep_bind, pep_control);

static int pep_check(const struct wf_prov *prov, struct fid_fabric *fabric,
	const struct fi_info *info)
{
	int ret = wf_info_check(prov, fabric->api_version, info);

	if (!ret && info->ep_attr && info->ep_attr->type != FI_EP_MSG)
		ret = wf_cm_refuse(prov, "fi_passive_ep", -FI_EINVAL,
			"only FI_EP_MSG endpoints are connected");
	return ret;
}

int wf_pep_init(struct wf_pep *pep, const struct wf_pep_ops *ops,
	struct fid_fabric *fabric, struct fi_info *info, void *context)
{
	int ret = pep_check(ops->prov, fabric, info);

	*pep = (struct wf_pep){
		.fid = { { FI_CLASS_PEP, context, &pep_fid_ops }, &pep_ep_ops,
			&pep_cm_ops },
		.ops = ops,
		.fabric = wf_fabric_of(fabric),
	};
	if (!ret)
		ret = wf_name_first(ops->prov, info, "fi_passive_ep", &pep->name);
	if (ret)
		return ret;
	pep->info = fi_dupinfo(info);
	if (!pep->info)
		return -FI_ENOMEM;
	wf_lock_init(&pep->lock, WF_LOCK_MUTEX);
	atomic_fetch_add_explicit(&pep->fabric->refs, 1, memory_order_relaxed);
	return 0;
}

void wf_pep_done(struct wf_pep *pep)
{
	if (pep->eq)
		wf_eq_unref(pep->eq);
	/* release: the accesses happen before fi_close frees the fabric. */
	atomic_fetch_sub_explicit(&pep->fabric->refs, 1, memory_order_release);
	wf_lock_done(&pep->lock);
	fi_freeinfo(pep->info);
}

static const char *pep_why_not_taken(
	const struct wf_pep *pep, const struct wf_pep_ops *ops, int family)
{
	if (pep->ops != ops)
		return "info->handle is another provider's passive endpoint";
	if (pep->name.sa.sa_family != family)
		return "the passive endpoint's address is of another family";
	if (pep->listening || pep->taken)
		return "the passive endpoint listens, or was taken over before";
	return NULL;
}

int wf_pep_take(struct fid *handle, const struct wf_pep_ops *ops, int family,
	struct wf_pep **ret_pep)
{
	struct wf_pep *pep = pep_of(handle);
	const char *why;

	if (handle->ops != &pep_fid_ops)
		return wf_cm_refuse(ops->prov, "fi_endpoint", -FI_EINVAL,
			"info->handle is another library's passive endpoint");
	wf_lock(&pep->lock);
	why = pep_why_not_taken(pep, ops, family);
	if (!why)
		pep->taken = true;
	wf_unlock(&pep->lock);
	if (why)
		return wf_cm_refuse(ops->prov, "fi_endpoint", -FI_EINVAL, why);
	*ret_pep = pep;
	return 0;
}

void wf_pep_give_back(struct wf_pep *pep)
{
	wf_lock(&pep->lock);
	pep->taken = false;
	wf_unlock(&pep->lock);
}
