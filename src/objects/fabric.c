/* SPDX-License-Identifier: BSD-2-Clause */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <rdma/providers/fi_log.h>

#include "objects/absent/absent.h"
#include "objects/fabric.h"

/* Guards the lists of open fabrics and of open domains, which are in the order of
 * opening. */
static pthread_mutex_t open_lock = PTHREAD_MUTEX_INITIALIZER;
static struct wf_list open_fabrics = { &open_fabrics, &open_fabrics };
static struct wf_list open_domains = { &open_domains, &open_domains };

static int objects_fabric_close(struct fid *fid)
{
	struct wf_fabric *fabric = wf_container_of(fid, struct wf_fabric, fid.fid);
	/* acquire: pairs with the release of the last object that was closed. */
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

static struct fi_ops fabric_fid_ops =
	WF_FID_OPS(objects_fabric_close, wf_absent_bind, wf_absent_control);

int wf_fabric_new(const struct wf_prov *prov, struct fi_fabric_attr *attr,
	struct fi_ops_fabric *ops, struct fid_fabric **ret_fabric, void *context)
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
	fabric->fid.ops = ops;
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

bool wf_fabric_is_open(
	const struct wf_prov *prov, const struct fid_fabric *fid, const char *name)
{
	bool found = false;

	(void)pthread_mutex_lock(&open_lock);
	wf_list_foreach(link, &open_fabrics)
	{
		struct wf_fabric *fabric = wf_list_entry(link, struct wf_fabric, link);

		found = found || (&fabric->fid == fid && fabric->prov == prov &&
					 !strcasecmp(fabric->name, name));
	}
	(void)pthread_mutex_unlock(&open_lock);
	return found;
}

void wf_open_domain_add(struct wf_open_domain *open)
{
	(void)pthread_mutex_lock(&open_lock);
	wf_list_push(&open_domains, &open->link);
	(void)pthread_mutex_unlock(&open_lock);
}

void wf_open_domain_remove(struct wf_open_domain *open)
{
	(void)pthread_mutex_lock(&open_lock);
	wf_list_remove(&open->link);
	(void)pthread_mutex_unlock(&open_lock);
}

static bool fabric_is_named(const struct wf_open_domain *open,
	const struct wf_prov *prov, const char *fabric_name, const char *name)
{
	return open->fabric->prov == prov && !strcasecmp(open->name, name) &&
	       !strcasecmp(open->fabric->name, fabric_name);
}

struct fid_domain *wf_domain_find(
	const struct wf_prov *prov, const char *fabric_name, const char *name)
{
	struct fid_domain *found = NULL;

	(void)pthread_mutex_lock(&open_lock);
	wf_list_foreach(link, &open_domains)
	{
		struct wf_open_domain *open =
			wf_list_entry(link, struct wf_open_domain, link);

		if (fabric_is_named(open, prov, fabric_name, name)) {
			found = open->fid;
			break;
		}
	}
	(void)pthread_mutex_unlock(&open_lock);
	return found;
}

bool wf_domain_is_open(const struct wf_prov *prov, const struct fid_domain *fid,
	const char *fabric_name, const char *name)
{
	bool found = false;

	(void)pthread_mutex_lock(&open_lock);
	wf_list_foreach(link, &open_domains)
	{
		struct wf_open_domain *open =
			wf_list_entry(link, struct wf_open_domain, link);

		found = found || (open->fid == fid && fabric_is_named(open, prov,
							      fabric_name, name));
	}
	(void)pthread_mutex_unlock(&open_lock);
	return found;
}
