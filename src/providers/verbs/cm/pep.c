/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "providers/verbs/cm/device.h"
#include "providers/verbs/cm/pep.h"

/* Passive endpoints: an identifier of librdmacm that is bound, then listens. */

static int verbs_pep_bind(struct wf_pep *base)
{
	struct verbs_pep *pep = verbs_pep_of(base);
	int ret;

	if (pep->id)
		return 0;
	ret = verbs_channel_bind(pep->channel, &base->name, &pep->id);
	if (!ret)
		verbs_id_own(pep->id, &base->name);
	return ret;
}

static void verbs_pep_unbind(struct wf_pep *base)
{
	struct verbs_pep *pep = verbs_pep_of(base);

	if (pep->id)
		(void)VERBS_RDMA(destroy_id(pep->id));
	pep->id = NULL;
}

static int verbs_pep_listen(struct wf_pep *base)
{
	struct verbs_pep *pep = verbs_pep_of(base);

	if (VERBS_RDMA(listen(pep->id, base->backlog)))
		return verbs_cm_errno("rdma_listen");
	verbs_id_own(pep->id, &base->name);
	return 0;
}

/* One passive endpoint gets requests over all devices: set the domain name of the
 * device over which this request arrived. */
static int pep_complete_info(const struct wf_cm_request *req, struct fi_info *info)
{
	return verbs_cm_name_domain(verbs_connreq_of(req)->id, info);
}

static void verbs_pep_destroy(struct wf_pep *base)
{
	struct verbs_pep *pep = verbs_pep_of(base);

	verbs_pep_unbind(base);
	verbs_channel_close(pep->channel);
	wf_pep_done(base);
	free(pep);
}

const struct wf_pep_ops verbs_pep_ops = {
	.prov = &verbs_prov,
	.data_size = VERBS_CM_DATA_SIZE,
	.bind = verbs_pep_bind,
	.unbind = verbs_pep_unbind,
	.listen = verbs_pep_listen,
	.reject = verbs_connreq_reject,
	.complete_info = pep_complete_info,
	.destroy = verbs_pep_destroy,
};

int verbs_passive_ep(struct fid_fabric *fabric, struct fi_info *info,
	struct fid_pep **ret_pep, void *context)
{
	struct verbs_pep *pep = calloc(1, sizeof(*pep));
	int ret;

	if (!pep)
		return -FI_ENOMEM;
	ret = wf_pep_init(&pep->base, &verbs_pep_ops, fabric, info, context);
	if (ret) {
		free(pep);
		return ret;
	}
	ret = verbs_channel_open(&pep->channel);
	if (ret) {
		verbs_pep_destroy(&pep->base);
		return ret;
	}
	pep->base.item = (struct wf_progress){
		.run = verbs_pep_run,
		.wait_fd = verbs_pep_wait_fd,
		.arm = verbs_pep_arm,
	};
	*ret_pep = &pep->base.fid;
	return 0;
}
