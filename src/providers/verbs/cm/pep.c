/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "objects/absent/absent.h"
#include "objects/endpoint/life/name.h"
#include "objects/info/info.h"
#include "providers/verbs/cm/pep.h"

/* The application's calls on a passive endpoint. */

static struct verbs_pep *pep_of(struct fid *fid)
{
	return wf_container_of(fid, struct verbs_pep, fid.fid);
}

static int refuse(const char *call, int err, const char *why)
{
	verbs_log(FI_LOG_WARN, FI_LOG_EP_CTRL, "%s refused: %s\n", call, why);
	return err;
}

/* Bind to the address, unless that was done: the port is known then. @lock held. */
static int bind_id(struct verbs_pep *pep)
{
	int ret;

	if (pep->id)
		return 0;
	ret = verbs_channel_bind(pep->channel, &pep->name, &pep->id);
	if (!ret)
		verbs_id_own(pep->id, &pep->name);
	return ret;
}

static int start_listening(struct verbs_pep *pep)
{
	int ret;

	if (pep->taken || pep->listening)
		return refuse("fi_listen", -FI_EOPBADSTATE,
			"it listens already, or its address was taken over");
	ret = bind_id(pep);
	if (ret)
		return ret;
	if (verbs_lib.rdma.listen(pep->id, pep->backlog))
		return verbs_cm_errno("rdma_listen");
	verbs_id_own(pep->id, &pep->name);
	pep->listening = true;
	return 0;
}

static int pep_listen(struct fid_pep *fid)
{
	struct verbs_pep *pep = pep_of(&fid->fid);
	int ret;

	if (!pep->eq)
		return refuse("fi_listen", -FI_ENOEQ, "no event queue is bound");
	wf_lock(&pep->lock);
	ret = start_listening(pep);
	wf_unlock(&pep->lock);
	if (ret)
		return ret;
	ret = wf_eq_progress_add(pep->eq, &pep->item);
	if (ret)
		pep->listening = false;
	return ret;
}

static int pep_reject(struct fid_pep *fid, fid_t handle, const void *param, size_t len)
{
	struct verbs_connreq *req;
	struct verbs_cm_data data;

	(void)fid;
	if (len && !param)
		return -FI_EINVAL;
	req = verbs_connreq_take(handle);
	if (!req)
		return refuse("fi_reject", -FI_EINVAL,
			"handle is not a connection request that is open");
	verbs_cm_data_set(&data, param, len);
	verbs_connreq_reject(req, &data);
	return 0;
}

static int pep_setname(fid_t fid, void *addr, size_t len)
{
	struct verbs_pep *pep = pep_of(fid);
	union wf_sockaddr name;
	int ret = wf_name_read(&verbs_prov, addr, len, pep->name.sa.sa_family, &name);

	if (ret)
		return ret;
	wf_lock(&pep->lock);
	if (pep->listening || pep->taken) {
		ret = refuse("fi_setname", -FI_EOPBADSTATE, "it listens already");
	} else {
		if (pep->id)
			(void)verbs_lib.rdma.destroy_id(pep->id);
		pep->id = NULL;
		pep->name = name;
		ret = bind_id(pep);
	}
	wf_unlock(&pep->lock);
	return ret;
}

static int pep_getname(fid_t fid, void *addr, size_t *len)
{
	struct verbs_pep *pep = pep_of(fid);
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
	.listen = pep_listen,
	.accept = wf_absent_cm_accept,
	.reject = pep_reject,
	.shutdown = wf_absent_cm_shutdown,
	.join = wf_absent_cm_join,
};

static int pep_getopt(fid_t fid, int level, int name, void *val, size_t *len)
{
	(void)fid;
	if (level != FI_OPT_ENDPOINT || name != FI_OPT_CM_DATA_SIZE)
		return -FI_ENOPROTOOPT;
	if (!val || !len)
		return -FI_EINVAL;
	if (*len < sizeof(size_t)) {
		*len = sizeof(size_t);
		return -FI_ETOOSMALL;
	}
	*len = sizeof(size_t);
	*(size_t *)val = VERBS_CM_DATA_SIZE;
	return 0;
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

static int pep_bind(struct fid *fid, struct fid *bfid, uint64_t flags)
{
	struct verbs_pep *pep = pep_of(fid);
	struct wf_eq *eq;

	if (!bfid || bfid->fclass != FI_CLASS_EQ)
		return refuse("fi_pep_bind", -FI_EINVAL, "only an EQ can be bound");
	if (flags)
		return refuse("fi_pep_bind", -FI_EBADFLAGS, "an EQ takes no flags");
	eq = wf_container_of(bfid, struct wf_eq, fid.fid);
	if (eq->fabric != pep->fabric || pep->eq)
		return refuse("fi_pep_bind", -FI_EINVAL,
			"one EQ of the same fabric can be bound");
	pep->eq = eq;
	wf_eq_ref(eq);
	return 0;
}

static int pep_control(struct fid *fid, int command, void *arg)
{
	struct verbs_pep *pep = pep_of(fid);
	int ret = 0;

	if (command != FI_BACKLOG)
		return -FI_ENOSYS;
	if (!arg || *(int *)arg < 0)
		return refuse("FI_BACKLOG", -FI_EINVAL, "not a number of requests");
	wf_lock(&pep->lock);
	if (pep->listening)
		ret = refuse("FI_BACKLOG", -FI_EOPBADSTATE, "it listens already");
	else
		pep->backlog = *(int *)arg;
	wf_unlock(&pep->lock);
	return ret;
}

/* Reject unanswered requests: no call can answer them any more. */
static int pep_close(struct fid *fid)
{
	struct verbs_pep *pep = pep_of(fid);
	struct verbs_connreq *req;

	if (pep->listening)
		wf_eq_progress_del(pep->eq, &pep->item);
	while ((req = verbs_connreq_take_any(&pep->fid)))
		verbs_connreq_reject(req, NULL);
	if (pep->id)
		(void)verbs_lib.rdma.destroy_id(pep->id);
	verbs_channel_close(pep->channel);
	if (pep->eq)
		wf_eq_unref(pep->eq);
	atomic_fetch_sub_explicit(&pep->fabric->refs, 1, memory_order_release);
	wf_lock_done(&pep->lock);
	fi_freeinfo(pep->info);
	free(pep);
	return 0;
}

static struct fi_ops pep_fid_ops = WF_FID_OPS(pep_close, pep_bind, pep_control);

int verbs_pep_take(struct fid *handle, int family, union wf_sockaddr *ret_name,
	struct rdma_cm_id **ret_id)
{
	struct verbs_pep *pep = pep_of(handle);
	int ret = 0;

	if (handle->ops != &pep_fid_ops)
		return refuse("fi_endpoint", -FI_EINVAL,
			"info->handle is another provider's passive endpoint");
	wf_lock(&pep->lock);
	if (pep->name.sa.sa_family != family) {
		ret = refuse("fi_endpoint", -FI_EINVAL,
			"the passive endpoint's address is of another family");
	} else if (pep->listening || pep->taken) {
		ret = refuse("fi_endpoint", -FI_EINVAL,
			"the passive endpoint listens, or was taken over before");
	} else {
		pep->taken = true;
		*ret_name = pep->name;
		*ret_id = pep->id;
		pep->id = NULL;
	}
	wf_unlock(&pep->lock);
	return ret;
}

static int check(struct fid_fabric *fabric, const struct fi_info *info)
{
	int ret = wf_info_check(&verbs_prov, fabric->api_version, info);

	if (!ret && info->ep_attr && info->ep_attr->type != FI_EP_MSG)
		ret = refuse("fi_passive_ep", -FI_EINVAL,
			"only FI_EP_MSG endpoints are connected");
	return ret;
}

static int init(struct verbs_pep *pep, struct fi_info *info)
{
	int ret = wf_name_first(&verbs_prov, info, "fi_passive_ep", &pep->name);

	if (ret)
		return ret;
	pep->info = fi_dupinfo(info);
	if (!pep->info)
		return -FI_ENOMEM;
	ret = wf_lock_init(&pep->lock, WF_LOCK_MUTEX);
	if (ret)
		goto err_info;
	ret = verbs_channel_open(&pep->channel);
	if (ret)
		goto err_lock;
	return 0;

err_lock:
	wf_lock_done(&pep->lock);
err_info:
	fi_freeinfo(pep->info);
	return ret;
}

int verbs_passive_ep(struct fid_fabric *fabric, struct fi_info *info,
	struct fid_pep **ret_pep, void *context)
{
	struct verbs_pep *pep;
	int ret = check(fabric, info);

	if (ret)
		return ret;
	pep = calloc(1, sizeof(*pep));
	if (!pep)
		return -FI_ENOMEM;
	ret = init(pep, info);
	if (ret) {
		free(pep);
		return ret;
	}
	pep->fid = (struct fid_pep){
		.fid = { FI_CLASS_PEP, context, &pep_fid_ops },
		.ops = &pep_ep_ops,
		.cm = &pep_cm_ops,
	};
	pep->item = (struct wf_progress){
		.run = verbs_pep_run,
		.wait_fd = verbs_pep_wait_fd,
		.arm = verbs_pep_arm,
	};
	pep->fabric = wf_fabric_of(fabric);
	atomic_fetch_add_explicit(&pep->fabric->refs, 1, memory_order_relaxed);
	*ret_pep = &pep->fid;
	return 0;
}
