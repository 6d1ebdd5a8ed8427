/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "objects/cm/internal.h"
#include "objects/cm/pep.h"

/* Requests that arrived at a passive endpoint. */

static void *report_copy(const union wf_sockaddr *addr)
{
	size_t len = wf_sockaddr_len(addr);
	void *ret = malloc(len);

	return ret ? memcpy(ret, addr, len) : NULL;
}

static bool report_set_addresses(
	struct fi_info *info, const struct wf_cm_arrival *arrival)
{
	free(info->src_addr);
	free(info->dest_addr);
	info->src_addr = report_copy(arrival->own);
	info->dest_addr = report_copy(arrival->peer);
	info->src_addrlen = wf_sockaddr_len(arrival->own);
	info->dest_addrlen = wf_sockaddr_len(arrival->peer);
	return info->src_addr && info->dest_addr;
}

/* The info for fi_endpoint of an active endpoint for this request. */
static struct fi_info *report_info_for(const struct wf_pep *pep,
	struct wf_cm_request *req, const struct wf_cm_arrival *arrival)
{
	struct fi_info *info = fi_dupinfo(pep->info);

	if (!info)
		return NULL;
	info->handle = &req->handle;
	if (!report_set_addresses(info, arrival) ||
		(pep->ops->complete_info && pep->ops->complete_info(req, info))) {
		fi_freeinfo(info);
		return NULL;
	}
	return info;
}

static bool report_tell(struct wf_pep *pep, struct wf_cm_request *req,
	const struct wf_cm_arrival *arrival)
{
	struct fi_info *info = report_info_for(pep, req, arrival);

	if (!info)
		return false;
	if (wf_cm_event_write(pep->eq, FI_CONNREQ, &pep->fid.fid, info, arrival->data,
		    arrival->len))
		return true;
	fi_freeinfo(info);
	return false;
}

static void report_give_up(
	const struct wf_pep *pep, struct wf_cm_request *req, const char *why)
{
	FI_LOG(pep->ops->prov->fi, FI_LOG_WARN, FI_LOG_EP_CTRL,
		"a connection request is rejected: %s\n", why);
	req->reject(req, WF_CM_BUSY, NULL, 0);
}

void wf_pep_report(struct wf_pep *pep, struct wf_cm_request *req,
	const struct wf_cm_arrival *arrival)
{
	/* Added before the event is written: a reader of the event may answer at
	 * once. */
	if (!wf_cm_request_add(req, pep, pep->ops->reject))
		report_give_up(pep, req, "too many wait for an answer");
	else if (!report_tell(pep, req, arrival) &&
		 wf_cm_request_take(&req->handle, pep->ops->reject))
		report_give_up(pep, req, "it cannot be reported");
}
