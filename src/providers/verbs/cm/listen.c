/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "providers/verbs/cm/device.h"
#include "providers/verbs/cm/pep.h"
#include "providers/verbs/device/device.h"

/* Requests that arrive at a passive endpoint. */

enum { EVENTS_PER_RUN = 64 };

static struct verbs_pep *pep_of_item(struct wf_progress *item)
{
	return wf_container_of(item, struct verbs_pep, item);
}

static void *copy(const union wf_sockaddr *addr)
{
	void *ret = malloc(wf_sockaddr_len(addr));

	if (ret)
		memcpy(ret, addr, wf_sockaddr_len(addr));
	return ret;
}

/* One passive endpoint hears requests of all devices: name the domain of the one that
 * this request came by. */
static bool set_domain(struct fi_info *info, const struct rdma_cm_id *id)
{
	const struct verbs_device *device = verbs_cm_device(id);
	char *name;

	if (!device)
		return false;
	if (info->domain_attr->name &&
		!strcmp(info->domain_attr->name, device->msg_domain))
		return true;
	name = strdup(device->msg_domain);
	if (!name)
		return false;
	free(info->domain_attr->name);
	info->domain_attr->name = name;
	return true;
}

/* The info for fi_endpoint of an active endpoint for this request. */
static struct fi_info *info_for(const struct verbs_pep *pep, struct verbs_connreq *req)
{
	struct fi_info *info = fi_dupinfo(pep->info);
	union wf_sockaddr own, peer;

	if (!info)
		return NULL;
	verbs_id_own(req->id, &own);
	verbs_id_peer(req->id, &peer);
	free(info->src_addr);
	free(info->dest_addr);
	info->src_addr = copy(&own);
	info->dest_addr = copy(&peer);
	if (!info->src_addr || !info->dest_addr || !set_domain(info, req->id)) {
		fi_freeinfo(info);
		return NULL;
	}
	info->src_addrlen = wf_sockaddr_len(&own);
	info->dest_addrlen = wf_sockaddr_len(&peer);
	info->handle = &req->handle;
	return info;
}

static bool tell(struct verbs_pep *pep, struct verbs_connreq *req,
	const struct verbs_cm_data *data)
{
	union {
		struct fi_eq_cm_entry entry;
		uint8_t bytes[sizeof(struct fi_eq_cm_entry) + VERBS_CM_DATA_MAX];
	} out = { .entry.fid = &pep->fid.fid };
	ssize_t ret;

	out.entry.info = info_for(pep, req);
	if (!out.entry.info)
		return false;
	memcpy(out.entry.data, data->bytes, data->len);
	ret = wf_eq_write(pep->eq, FI_CONNREQ, &out, sizeof(out.entry) + data->len);
	if (ret < 0)
		fi_freeinfo(out.entry.info);
	return ret >= 0;
}

/* The event is acknowledged before an identifier can be destroyed: that waits for it.
 */
static void take_request(struct verbs_pep *pep, struct rdma_cm_event *event)
{
	struct rdma_cm_id *id = event->id;
	struct verbs_connreq *req;
	struct verbs_cm_data data;

	verbs_cm_data_read(&data, event->param.conn.private_data,
		event->param.conn.private_data_len);
	(void)verbs_lib.rdma.ack_cm_event(event);
	req = verbs_connreq_new(&pep->fid, id);
	if (!req) {
		(void)verbs_lib.rdma.reject(id, NULL, 0);
		(void)verbs_lib.rdma.destroy_id(id);
		return;
	}
	if (!tell(pep, req, &data) && verbs_connreq_take(&req->handle)) {
		verbs_log(FI_LOG_WARN, FI_LOG_EP_CTRL,
			"a connection request is rejected: it cannot be reported\n");
		verbs_connreq_reject(req, NULL);
	}
}

static void listener_lost(struct verbs_pep *pep)
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

/* Other events are about requests that wait: fi_accept will find out. */
static void handle(struct verbs_pep *pep, struct rdma_cm_event *event)
{
	bool removed =
		event->event == RDMA_CM_EVENT_DEVICE_REMOVAL && event->id == pep->id;

	if (event->event == RDMA_CM_EVENT_CONNECT_REQUEST) {
		take_request(pep, event);
		return;
	}
	(void)verbs_lib.rdma.ack_cm_event(event);
	if (removed)
		listener_lost(pep);
}

void verbs_pep_run(struct wf_progress *item)
{
	struct verbs_pep *pep = pep_of_item(item);
	struct rdma_cm_event *event;
	int i;

	if (!wf_trylock(&pep->lock))
		return;
	for (i = 0; i < EVENTS_PER_RUN; i++) {
		event = verbs_channel_next(pep->channel);
		if (!event)
			break;
		handle(pep, event);
	}
	wf_progress_found(item, i > 0);
	wf_unlock(&pep->lock);
}

/* The descriptor is readable as long as events wait. */
bool verbs_pep_arm(struct wf_progress *item)
{
	(void)item;
	return true;
}

int verbs_pep_wait_fd(struct wf_progress *item)
{
	return pep_of_item(item)->channel->fd;
}
