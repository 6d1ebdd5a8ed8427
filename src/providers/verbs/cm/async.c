/* SPDX-License-Identifier: BSD-2-Clause */
#include <fcntl.h>
#include <stdlib.h>

#include "providers/verbs/cm/cm.h"

enum { EVENTS_PER_RUN = 16 };

static struct verbs_async *async_of(struct wf_progress *item)
{
	return wf_container_of(item, struct verbs_async, item);
}

static void async_report(struct wf_eq *eq, struct fid *fid, int err)
{
	struct fi_eq_err_entry entry = {
		.fid = fid,
		.context = fid->context,
		.err = err,
		.prov_errno = err,
	};

	if (eq)
		(void)wf_eq_write_err(eq, &entry);
}

static struct wf_eq *async_eq_of_domain(struct wf_domain *domain)
{
	struct wf_eq *eq;

	(void)pthread_mutex_lock(&domain->control);
	eq = domain->eq;
	(void)pthread_mutex_unlock(&domain->control);
	return eq;
}

/* The device does not destroy a queue pair before its events are acknowledged, so the
 * endpoint exists. */
static void async_queue_pair_failed(const struct ibv_async_event *event)
{
	struct verbs_ep *ep = event->element.qp->qp_context;

	async_report(wf_ep_eq(&ep->ep), &ep->ep.fid.fid, FI_EIO);
	verbs_cm_broken(ep);
}

static enum fi_log_level async_level_of(enum ibv_event_type type)
{
	switch (type) {
	case IBV_EVENT_COMM_EST:
	case IBV_EVENT_SQ_DRAINED:
	case IBV_EVENT_QP_LAST_WQE_REACHED:
	case IBV_EVENT_SRQ_LIMIT_REACHED:
		return FI_LOG_DEBUG;
	case IBV_EVENT_PORT_ACTIVE:
	case IBV_EVENT_LID_CHANGE:
	case IBV_EVENT_PKEY_CHANGE:
	case IBV_EVENT_SM_CHANGE:
	case IBV_EVENT_CLIENT_REREGISTER:
	case IBV_EVENT_GID_CHANGE:
		return FI_LOG_INFO;
	default:
		return FI_LOG_WARN;
	}
}

static void async_handle(struct verbs_async *async, const struct ibv_async_event *event)
{
	struct wf_domain *domain = async->domain->wf;

	verbs_log(async_level_of(event->event_type), FI_LOG_DOMAIN,
		"device of %s: %s\n", domain->name,
		VERBS_IBV(event_type_str(event->event_type)));
	switch (event->event_type) {
	case IBV_EVENT_QP_FATAL:
	case IBV_EVENT_QP_REQ_ERR:
	case IBV_EVENT_QP_ACCESS_ERR:
		async_queue_pair_failed(event);
		break;
	case IBV_EVENT_DEVICE_FATAL:
		async_report(async_eq_of_domain(domain), &domain->fid.fid, FI_ENODEV);
		break;
	case IBV_EVENT_PORT_ERR:
		async_report(async_eq_of_domain(domain), &domain->fid.fid, FI_ENETDOWN);
		break;
	case IBV_EVENT_CQ_ERR:
	case IBV_EVENT_SRQ_ERR:
		async_report(async_eq_of_domain(domain), &domain->fid.fid, FI_EIO);
		break;
	default:
		break;
	}
}

/*
 * The thread that polled the failure of a queue pair must not take the locks of
 * connections, so it only wakes the item of verbs_async.
 */
void verbs_cm_lost(struct verbs_ep *ep)
{
	struct verbs_async *async = ep->domain->async;
	struct wf_eq *eq;

	if (ep->ep.type != FI_EP_MSG ||
		atomic_exchange_explicit(&ep->lost, true, memory_order_relaxed))
		return;
	/* release: a thread that loads the flag also loads that of the endpoint. Full
	 * fence: either this thread finds the item parked, or arm finds the flag
	 * set. */
	atomic_store_explicit(&async->lost, true, memory_order_release);
	atomic_thread_fence(memory_order_seq_cst);
	wf_progress_wake(&async->item);
	eq = wf_ep_eq(&ep->ep);
	if (eq)
		wf_wait_signal(&eq->wait);
}

static bool async_end_lost(struct verbs_async *async)
{
	if (!atomic_exchange_explicit(&async->lost, false, memory_order_acquire))
		return false;
	wf_list_foreach(link, &async->cms)
	{
		struct verbs_cm *cm = wf_list_entry(link, struct verbs_cm, link);

		if (atomic_load_explicit(&cm->ep->lost, memory_order_relaxed))
			verbs_cm_broken(cm->ep);
	}
	return true;
}

static bool async_arm(struct wf_progress *item)
{
	atomic_thread_fence(memory_order_seq_cst);
	return !atomic_load_explicit(&async_of(item)->lost, memory_order_relaxed);
}

static void verbs_async_run(struct wf_progress *item)
{
	struct verbs_async *async = async_of(item);
	struct ibv_async_event event;
	bool any;
	int i;

	if (!wf_trylock(&async->lock))
		return;
	any = async_end_lost(async);
	for (i = 0; i < EVENTS_PER_RUN; i++) {
		if (VERBS_IBV(get_async_event(async->domain->context, &event)))
			break;
		async_handle(async, &event);
		VERBS_IBV(ack_async_event(&event));
	}
	wf_progress_found(item, any || i > 0);
	wf_unlock(&async->lock);
}

static int async_wait_fd(struct wf_progress *item)
{
	return async_of(item)->domain->context->async_fd;
}

int verbs_async_open(struct verbs_domain *domain)
{
	struct verbs_async *async = calloc(1, sizeof(*async));
	int fd = domain->context->async_fd, flags = fcntl(fd, F_GETFL), err;

	if (!async)
		return -FI_ENOMEM;
	if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK)) {
		err = verbs_cm_errno("fcntl of the device's events");
		free(async);
		return err;
	}
	wf_lock_init(&async->lock, WF_LOCK_MUTEX);
	async->domain = domain;
	wf_list_init(&async->cms);
	async->item = (struct wf_progress){
		.run = verbs_async_run, .wait_fd = async_wait_fd, .arm = async_arm
	};
	err = wf_domain_progress_add(domain->wf, &async->item);
	if (err) {
		wf_lock_done(&async->lock);
		free(async);
		return err;
	}
	domain->async = async;
	return 0;
}

void verbs_async_close(struct verbs_domain *domain)
{
	struct verbs_async *async = domain->async;

	if (!async)
		return;
	wf_domain_progress_del(domain->wf, &async->item);
	wf_lock_done(&async->lock);
	free(async);
	domain->async = NULL;
}
