/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "objects/endpoint/life/name.h"
#include "providers/verbs/cm/device.h"
#include "providers/verbs/cm/pep.h"

/* Opening and closing the connection management of an endpoint, which may be opened for
 * a connection request or for a passive endpoint; and the progress item that drives
 * it. */

static struct verbs_cm *cm_of_item(struct wf_progress *item)
{
	return wf_container_of(item, struct verbs_cm, item);
}

static void new_run(struct wf_progress *item)
{
	struct verbs_cm *cm = cm_of_item(item);

	if (!wf_trylock(&cm->lock))
		return;
	wf_progress_found(item, verbs_cm_events(cm));
	wf_unlock(&cm->lock);
}

static int new_wait_fd(struct wf_progress *item)
{
	return cm_of_item(item)->channel->fd;
}

/* The descriptor is readable while there are events. */
static bool new_arm(struct wf_progress *item)
{
	(void)item;
	return true;
}

/* Move @id to the endpoint's own channel; blocks until the reader of the old channel
 * has acknowledged its events. */
static int new_adopt(struct verbs_cm *cm, struct rdma_cm_id *id)
{
	if (VERBS_RDMA(migrate_id(id, cm->channel)))
		return verbs_cm_errno("rdma_migrate_id");
	cm->id = id;
	return 0;
}

static int new_take_request(struct verbs_cm *cm, const struct fid *handle)
{
	struct wf_cm_request *base = wf_cm_request_take(handle, verbs_connreq_reject);
	struct verbs_connreq *req;
	int err;

	if (!base)
		return wf_cm_refuse(&verbs_prov, "fi_endpoint", -FI_EINVAL,
			"info->handle is not a connection request that is open");
	req = verbs_connreq_of(base);
	err = verbs_cm_same_device(cm->ep->domain, req->id);
	if (!err)
		err = new_adopt(cm, req->id);
	if (err) {
		verbs_connreq_reject(base, WF_CM_REFUSED, NULL, 0);
		return err;
	}
	free(req);
	cm->base.state = WF_CM_ASKED;
	verbs_id_own(cm->id, &cm->own);
	verbs_id_peer(cm->id, &cm->base.peer);
	return 0;
}

static int new_take_name(struct verbs_cm *cm, struct fid *handle)
{
	struct wf_pep *base;
	struct verbs_pep *pep;
	int err = wf_pep_take(handle, &verbs_pep_ops, cm->own.sa.sa_family, &base);

	if (err)
		return err;
	pep = verbs_pep_of(base);
	cm->own = base->name;
	err = pep->id ? new_adopt(cm, pep->id) : 0;
	if (err)
		wf_pep_give_back(base);
	else
		pep->id = NULL;
	return err;
}

static int new_init(struct verbs_cm *cm, struct fid *handle)
{
	const struct fi_info *info = cm->ep->ep.info;
	int err = wf_name_first(&verbs_prov, info, "fi_endpoint", &cm->own);

	if (!err)
		err = verbs_channel_open(&cm->channel);
	if (!err && handle)
		err = handle->fclass == FI_CLASS_PEP ? new_take_name(cm, handle)
						     : new_take_request(cm, handle);
	return err;
}

int verbs_cm_new(struct verbs_ep *ep, struct fid *handle)
{
	struct verbs_cm *cm = calloc(1, sizeof(*cm));
	int err;

	if (!cm)
		return -FI_ENOMEM;
	cm->ep = ep;
	cm->item = (struct wf_progress){
		.run = new_run, .wait_fd = new_wait_fd, .arm = new_arm
	};
	wf_lock_init(&cm->lock, WF_LOCK_MUTEX);
	ep->cm = cm;
	err = new_init(cm, handle);
	if (err)
		verbs_cm_free(ep);
	else
		wf_cm_init(&cm->base, &verbs_cm_ops, &ep->ep, &cm->lock,
			cm->own.sa.sa_family);
	return err;
}

static void new_stop(struct verbs_cm *cm)
{
	struct wf_progress *async = &cm->ep->domain->async->item;

	wf_eq_progress_del(cm->base.eq, async);
	wf_eq_progress_del(cm->base.eq, &cm->item);
	wf_domain_progress_del(cm->ep->ep.domain, &cm->item);
}

void verbs_cm_free(struct verbs_ep *ep)
{
	struct verbs_async *async = ep->domain->async;
	struct verbs_cm *cm = ep->cm;

	if (!cm)
		return;
	if (cm->base.eq)
		new_stop(cm);
	/* From now on no event of the queue pair finds the connection management. */
	wf_lock(&async->lock);
	ep->cm = NULL;
	if (cm->base.eq)
		wf_list_remove(&cm->link);
	wf_unlock(&async->lock);
	/* The kernel notifies a connected peer. */
	if (cm->id)
		(void)VERBS_RDMA(destroy_id(cm->id));
	verbs_channel_close(cm->channel);
	wf_lock_done(&cm->lock);
	free(cm);
}

int verbs_cm_not_ready(struct verbs_ep *ep)
{
	struct verbs_cm *cm = ep->cm;
	int ret;

	wf_lock(&cm->lock);
	if (cm->base.state == WF_CM_CONNECTING)
		(void)verbs_cm_events(cm);
	if (cm->base.state == WF_CM_CONNECTED)
		ret = 0;
	else
		ret = cm->base.state == WF_CM_CONNECTING ? -FI_EAGAIN : -FI_ENOTCONN;
	wf_unlock(&cm->lock);
	return ret;
}

void verbs_cm_check(struct verbs_ep *ep)
{
	struct verbs_cm *cm = ep->cm;

	if (!cm || !wf_trylock(&cm->lock))
		return;
	if (cm->base.state == WF_CM_CONNECTED)
		(void)verbs_cm_events(cm);
	wf_unlock(&cm->lock);
}

void verbs_cm_broken(struct verbs_ep *ep)
{
	struct verbs_cm *cm = ep->cm;

	if (!cm)
		return;
	wf_lock(&cm->lock);
	if (cm->base.state == WF_CM_CONNECTED)
		verbs_cm_down(cm);
	wf_unlock(&cm->lock);
}
