/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/lower/cntr.h"

#include "objects/peer/open.h"

int wf_lower_cntr_import(struct wf_lower_cntr *imported,
	const struct wf_lower_domain *below, struct wf_cntr *cntr,
	struct fi_ops_cntr_owner *ops)
{
	struct fi_cntr_attr attr = {
		.events = cntr->events,
		.wait_obj = FI_WAIT_NONE,
	};
	int ret;

	wf_cntr_export(cntr, &imported->port);
	if (ops)
		imported->port.owner_ops = ops;
	ret = wf_peer_open_cntr(below->domain, &attr, &imported->port, &imported->fid);
	if (ret) {
		imported->fid = NULL;
		wf_cntr_unexport(&imported->port);
	}
	return wf_lower_result(below, FI_LOG_CNTR, "importing a counter", ret);
}

void wf_lower_cntr_close(
	struct wf_lower_cntr *imported, const struct wf_lower_domain *below)
{
	if (!imported->fid)
		return;
	wf_lower_close(below, &imported->fid->fid);
	wf_cntr_unexport(&imported->port);
	imported->fid = NULL;
}
