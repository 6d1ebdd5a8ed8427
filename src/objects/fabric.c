/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include <rdma/providers/fi_log.h>

#include "objects/absent/absent.h"
#include "objects/domain/domain.h"
#include "objects/eq/eq.h"
#include "objects/poll/poll.h"

/* Guards @open_fabrics, which is in the order of opening. */
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static struct wf_list open_fabrics = { &open_fabrics, &open_fabrics };

static int fabric_close(struct fid *fid)
{
	struct wf_fabric *fabric = wf_container_of(fid, struct wf_fabric, fid.fid);
	/* acquire: pairs with the release of whoever let go last. */
	int refs = atomic_load_explicit(&fabric->refs, memory_order_acquire);

	if (refs) {
		FI_INFO(fabric->prov->fi, FI_LOG_FABRIC,
			"fabric %s not closed: %d objects are open on it\n",
			fabric->name, refs);
		return -FI_EBUSY;
	}
	(void)pthread_mutex_lock(&open_lock);
	wf_list_remove(&fabric->link);
	(void)pthread_mutex_unlock(&open_lock);
	free(fabric->name);
	free(fabric);
	return 0;
}

static int fabric_passive_ep(struct fid_fabric *fid, struct fi_info *info,
	struct fid_pep **pep, void *context)
{
	const struct wf_prov *prov = wf_fabric_of(fid)->prov;

	if (!info || !pep)
		return -FI_EINVAL;
	if (!prov->passive_ep) {
		FI_INFO(prov->fi, FI_LOG_FABRIC,
			"passive endpoint refused: %s has no connections\n",
			prov->fi->name);
		return -FI_ENOSYS;
	}
	return prov->passive_ep(fid, info, pep, context);
}

static struct fi_ops fabric_fid_ops =
	WF_FID_OPS(fabric_close, wf_absent_bind, wf_absent_control);

static struct fi_ops_fabric fabric_ops = {
	.size = sizeof(struct fi_ops_fabric),
	.domain = wf_domain_open,
	.passive_ep = fabric_passive_ep,
	.eq_open = wf_eq_open,
	.wait_open = wf_wait_set_open,
	.trywait = wf_trywait,
	.domain2 = wf_domain_open2,
};

int wf_fabric_open(const struct wf_prov *prov, struct fi_fabric_attr *attr,
	struct fid_fabric **ret_fabric, void *context)
{
	struct wf_fabric *fabric;

	if (!attr || !attr->name || !ret_fabric) {
		FI_WARN(prov->fi, FI_LOG_FABRIC,
			"fabric refused: attributes with a name are needed\n");
		return -FI_EINVAL;
	}
	fabric = calloc(1, sizeof(*fabric));
	if (!fabric)
		return -FI_ENOMEM;
	fabric->name = strdup(attr->name);
	if (!fabric->name) {
		free(fabric);
		return -FI_ENOMEM;
	}
	fabric->prov = prov;
	fabric->fid.fid.fclass = FI_CLASS_FABRIC;
	fabric->fid.fid.context = context;
	fabric->fid.fid.ops = &fabric_fid_ops;
	fabric->fid.ops = &fabric_ops;
	fabric->fid.api_version = attr->api_version;
	atomic_init(&fabric->refs, 0);

	(void)pthread_mutex_lock(&open_lock);
	wf_list_push(&open_fabrics, &fabric->link);
	(void)pthread_mutex_unlock(&open_lock);
	*ret_fabric = &fabric->fid;
	return 0;
}

struct fid_fabric *wf_fabric_find(const struct wf_prov *prov, const char *name)
{
	struct fid_fabric *found = NULL;

	(void)pthread_mutex_lock(&open_lock);
	wf_list_foreach(link, &open_fabrics)
	{
		struct wf_fabric *fabric = wf_list_entry(link, struct wf_fabric, link);

		if (fabric->prov == prov && !strcmp(fabric->name, name)) {
			found = &fabric->fid;
			break;
		}
	}
	(void)pthread_mutex_unlock(&open_lock);
	return found;
}
