/* SPDX-License-Identifier: BSD-2-Clause */
#include <assert.h>
#include <string.h>

#include "objects/cm/internal.h"

/* Events of connections: FI_CONNREQ, FI_CONNECTED, FI_SHUTDOWN, and failures. */

bool wf_cm_event_write(struct wf_eq *eq, uint32_t type, struct fid *fid,
	struct fi_info *info, const void *data, size_t len)
{
	union wf_cm_event event = { .entry = { .fid = fid, .info = info } };

	assert(len <= WF_CM_DATA_MAX);
	if (len)
		memcpy(event.entry.data, data, len);
	return wf_eq_write(eq, type, &event, sizeof(event.entry) + len) >= 0;
}

void wf_cm_tell(struct wf_cm *cm, uint32_t type, const void *data, size_t len)
{
	struct wf_eq *eq = wf_ep_eq(cm->ep);

	if (eq)
		(void)wf_cm_event_write(eq, type, &cm->ep->fid.fid, NULL, data, len);
}

void wf_cm_failed(
	struct wf_cm *cm, int err, int prov_errno, const void *data, size_t len)
{
	struct wf_eq *eq = wf_ep_eq(cm->ep);
	struct fi_eq_err_entry entry = {
		.fid = &cm->ep->fid.fid,
		.context = cm->ep->fid.fid.context,
		.err = err,
		.prov_errno = prov_errno,
		.err_data = len ? (void *)(uintptr_t)data : NULL,
		.err_data_size = len,
	};

	cm->state = WF_CM_DOWN;
	if (eq)
		(void)wf_eq_write_err(eq, &entry);
}
