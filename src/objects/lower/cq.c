/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/lower/cq.h"

int wf_lower_cq_open(struct wf_lower_cq *cq, const struct wf_lower_domain *below,
	const struct fi_cq_attr *attr)
{
	struct fi_cq_attr with = *attr;
	struct fid_cq *fid;
	int ret;

	if (cq->fid)
		return 0;
	ret = fi_cq_open(below->domain, &with, &fid, NULL);
	if (ret && attr->wait_obj == FI_WAIT_FD) {
		with = *attr;
		with.wait_obj = FI_WAIT_NONE;
		ret = fi_cq_open(below->domain, &with, &fid, NULL);
	}
	if (!ret) {
		cq->fid = fid;
		cq->builtin = wf_cq_is_ours(fid) ? wf_cq_of(fid) : NULL;
		cq->has_fd = with.wait_obj == FI_WAIT_FD;
	}
	return wf_lower_result(below, FI_LOG_EP_CTRL, "fi_cq_open", ret);
}

void wf_lower_cq_close(struct wf_lower_cq *cq, const struct wf_lower_domain *below)
{
	wf_lower_close(below, cq->fid ? &cq->fid->fid : NULL);
	*cq = (struct wf_lower_cq){ .fid = NULL };
}
