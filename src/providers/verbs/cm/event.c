/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/verbs/cm/cm.h"
#include "providers/verbs/cm/device.h"

/*
 * The exchange of one connection, driven by the events of librdmacm. The active side
 * resolves address and route, sends the request, and gets a response; it then makes its
 * queue pair ready before the passive side gets the event that the connection is
 * established.
 */

enum {
	EVENTS_PER_RUN = 16,
	/* Time limit for an answer of the subnet administrator, in milliseconds. */
	ROUTE_MS = 4000,
};

void verbs_cm_up(struct verbs_cm *cm, const struct verbs_cm_data *data)
{
	cm->base.state = WF_CM_CONNECTED;
	verbs_id_own(cm->id, &cm->own);
	verbs_id_peer(cm->id, &cm->base.peer);
	/* release: a thread that loads it posts to the queue pair in its new state. */
	atomic_store_explicit(&cm->ep->ready, true, memory_order_release);
	wf_cm_tell(&cm->base, FI_CONNECTED, data ? data->bytes : NULL,
		data ? data->len : 0);
}

void verbs_cm_down(struct verbs_cm *cm)
{
	cm->base.state = WF_CM_DOWN;
	atomic_store_explicit(&cm->ep->ready, false, memory_order_relaxed);
	/* This also answers a peer that ended the connection. */
	(void)VERBS_RDMA(disconnect(cm->id));
	verbs_qp_fail(cm->ep);
	wf_cm_tell(&cm->base, FI_SHUTDOWN, NULL, 0);
}

static void event_fail(
	struct verbs_cm *cm, int err, int status, const struct verbs_cm_data *data)
{
	verbs_log(FI_LOG_INFO, FI_LOG_EP_CTRL, "not connected: %s (status %d)\n",
		fi_strerror(err), status);
	wf_cm_failed(&cm->base, err, status < 0 ? -status : err,
		data ? data->bytes : NULL, data ? data->len : 0);
}

static void event_fail_errno(struct verbs_cm *cm, int err)
{
	event_fail(cm, -err, err, NULL);
}

static void event_resolve_route(struct verbs_cm *cm)
{
	int err = verbs_cm_same_device(cm->ep->domain, cm->id);

	if (!err && VERBS_RDMA(resolve_route(cm->id, ROUTE_MS)))
		err = verbs_cm_errno("rdma_resolve_route");
	if (err)
		event_fail_errno(cm, err);
}

static void event_ask(struct verbs_cm *cm)
{
	struct rdma_conn_param param = verbs_cm_param(cm, &cm->data);

	if (VERBS_RDMA(connect(cm->id, &param)))
		event_fail_errno(cm, verbs_cm_errno("rdma_connect"));
}

static void event_answered(struct verbs_cm *cm, const struct verbs_cm_data *data)
{
	int err = verbs_cm_qp_connect(cm);

	if (!err && VERBS_RDMA(establish(cm->id)))
		err = verbs_cm_errno("rdma_establish");
	if (!err) {
		verbs_cm_up(cm, data);
		return;
	}
	(void)VERBS_RDMA(reject(cm->id, NULL, 0));
	event_fail_errno(cm, err);
}

/* Both ends may notice the end of a connection; its second event is ignored. */
static void event_ended(struct verbs_cm *cm, const struct rdma_cm_event *event)
{
	if (cm->base.state == WF_CM_CONNECTED)
		verbs_cm_down(cm);
	else if (cm->base.state == WF_CM_CONNECTING)
		event_fail(cm, verbs_cm_error(event->event, event->status),
			event->status, NULL);
}

static void event_handle_connecting(
	struct verbs_cm *cm, const struct rdma_cm_event *event)
{
	struct verbs_cm_data data;

	verbs_cm_data_read(&data, event->param.conn.private_data,
		event->param.conn.private_data_len);
	switch (event->event) {
	case RDMA_CM_EVENT_ADDR_RESOLVED:
		event_resolve_route(cm);
		break;
	case RDMA_CM_EVENT_ROUTE_RESOLVED:
		event_ask(cm);
		break;
	case RDMA_CM_EVENT_CONNECT_RESPONSE:
		event_answered(cm, &data);
		break;
	case RDMA_CM_EVENT_ESTABLISHED:
		verbs_cm_up(cm, cm->base.active ? &data : NULL);
		break;
	case RDMA_CM_EVENT_REJECTED:
	case RDMA_CM_EVENT_UNREACHABLE:
	case RDMA_CM_EVENT_ADDR_ERROR:
	case RDMA_CM_EVENT_ROUTE_ERROR:
	case RDMA_CM_EVENT_CONNECT_ERROR:
		event_fail(cm, verbs_cm_error(event->event, event->status),
			event->status, &data);
		break;
	default:
		break;
	}
}

static void event_handle(struct verbs_cm *cm, const struct rdma_cm_event *event)
{
	switch (event->event) {
	case RDMA_CM_EVENT_DISCONNECTED:
	case RDMA_CM_EVENT_DEVICE_REMOVAL:
		event_ended(cm, event);
		break;
	default:
		if (cm->base.state == WF_CM_CONNECTING)
			event_handle_connecting(cm, event);
	}
}

bool verbs_cm_events(struct verbs_cm *cm)
{
	struct rdma_cm_event *event;
	bool any = false;

	for (int i = 0; i < EVENTS_PER_RUN; i++) {
		event = verbs_channel_next(cm->channel);
		if (!event)
			break;
		any = true;
		if (event->id == cm->id)
			event_handle(cm, event);
		(void)VERBS_RDMA(ack_cm_event(event));
	}
	return any;
}
