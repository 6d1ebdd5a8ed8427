/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "providers/verbs/cm/pep.h"

/* Connection requests that arrive at a passive endpoint, and their rejection. */

enum { EVENTS_PER_RUN = 64 };

static struct verbs_pep *listen_pep_of_item(struct wf_progress *item)
{
	return wf_container_of(item, struct verbs_pep, base.item);
}

static void listen_reject(struct rdma_cm_id *id, const struct verbs_cm_data *data)
{
	/* The failure is ignored: a peer that has given up cannot be reached. */
	(void)VERBS_RDMA(
		reject(id, data, data ? (uint8_t)verbs_cm_data_size(data) : 0));
	(void)VERBS_RDMA(destroy_id(id));
}

void verbs_connreq_reject(struct wf_cm_request *base, enum wf_cm_reason reason,
	const void *data, size_t len)
{
	struct verbs_connreq *req = verbs_connreq_of(base);
	struct verbs_cm_data wire_data;

	(void)reason; /* the transport has no field for the reason */
	verbs_cm_data_set(&wire_data, data, len);
	listen_reject(req->id, len ? &wire_data : NULL);
	free(req);
}

static void listen_report(
	struct verbs_pep *pep, struct rdma_cm_id *id, const struct verbs_cm_data *data)
{
	struct verbs_connreq *req = calloc(1, sizeof(*req));
	union wf_sockaddr own, peer;

	if (!req) {
		verbs_log(FI_LOG_WARN, FI_LOG_EP_CTRL,
			"a connection request is rejected: no memory\n");
		listen_reject(id, NULL);
		return;
	}
	req->id = id;
	verbs_id_own(id, &own);
	verbs_id_peer(id, &peer);
	wf_pep_report(&pep->base, &req->base,
		&(struct wf_cm_arrival){ &own, &peer, data->bytes, data->len });
}

/* Take a connection request. The event is acknowledged before an identifier is
 * destroyed, because destroying waits for that. */
static void listen_take_request(struct verbs_pep *pep, struct rdma_cm_event *event)
{
	struct rdma_cm_id *id = event->id;
	struct verbs_cm_data data;

	verbs_cm_data_read(&data, event->param.conn.private_data,
		event->param.conn.private_data_len);
	(void)VERBS_RDMA(ack_cm_event(event));
	listen_report(pep, id, &data);
}

static void listen_listener_lost(struct wf_pep *pep)
{
	struct fi_eq_err_entry entry = {
		.fid = &pep->fid.fid,
		.context = pep->fid.fid.context,
		.err = FI_ENODEV,
		.prov_errno = FI_ENODEV,
	};

	verbs_log(FI_LOG_WARN, FI_LOG_EP_CTRL,
		"the device of a passive endpoint was removed\n");
	(void)wf_eq_write_err(pep->eq, &entry);
}

/* Other events concern waiting requests: fi_accept will return their error. */
static void listen_handle(struct verbs_pep *pep, struct rdma_cm_event *event)
{
	bool removed =
		event->event == RDMA_CM_EVENT_DEVICE_REMOVAL && event->id == pep->id;

	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
		listen_take_request(pep, event);
		return;
	}
	(void)VERBS_RDMA(ack_cm_event(event));
	if (removed)
		listen_listener_lost(&pep->base);
}

void verbs_pep_run(struct wf_progress *item)
{
	struct verbs_pep *pep = listen_pep_of_item(item);
	struct rdma_cm_event *event;
	int i;

	if (!wf_trylock(&pep->base.lock))
		return;
	for (i = 0; i < EVENTS_PER_RUN; i++) {
		event = verbs_channel_next(pep->channel);
		if (!event)
			break;
		listen_handle(pep, event);
	}
	wf_progress_found(item, i > 0);
	wf_unlock(&pep->base.lock);
}

/* The descriptor is readable while there are events. */
bool verbs_pep_arm(struct wf_progress *item)
{
	(void)item;
	return true;
}

int verbs_pep_wait_fd(struct wf_progress *item)
{
	return listen_pep_of_item(item)->channel->fd;
}
