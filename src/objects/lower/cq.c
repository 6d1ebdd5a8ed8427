/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/lower/cq.h"

int wf_lower_cq_open(struct wf_lower_cq *cq, const struct wf_lower_domain *below)
{
	struct fi_cq_attr attr = { .format = FI_CQ_FORMAT_TAGGED,
		.wait_obj = FI_WAIT_FD };
	struct fid_cq *fid;
	int ret;

	if (cq->fid)
		return 0;
	ret = fi_cq_open(below->domain, &attr, &fid, NULL);
	if (ret) {
		attr.wait_obj = FI_WAIT_NONE;
		ret = fi_cq_open(below->domain, &attr, &fid, NULL);
	}
	if (!ret) {
		cq->fid = fid;
		cq->builtin = wf_cq_is_ours(fid) ? wf_cq_of(fid) : NULL;
	}
	return wf_lower_result(below, FI_LOG_EP_CTRL, "fi_cq_open", ret);
}

void wf_lower_cq_close(struct wf_lower_cq *cq, const struct wf_lower_domain *below)
{
	wf_lower_close(below, cq->fid ? &cq->fid->fid : NULL);
	cq->fid = NULL;
	cq->builtin = NULL;
}
