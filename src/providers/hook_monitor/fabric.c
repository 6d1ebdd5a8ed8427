/* SPDX-License-Identifier: BSD-2-Clause */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/fi_errno.h>

#include "providers/hook_monitor/domain.h"
#include "providers/hook_monitor/file.h"
#include "providers/hook_monitor/monitor.h"
#include "providers/hook_monitor/tables.h"

/*
 * Fabrics. The file is made with the first domain, because fi_getinfo of some providers
 * opens fabrics to ask them something.
 */

struct mon_fabric {
	struct fi_ops_fabric ops; /* replace @below, and call it */
	struct fi_ops fid_ops;    /* replace @below_fid */
	struct fi_ops_fabric *below;
	struct fi_ops *below_fid;
	char *prov_name;
	pthread_mutex_t lock;  /* guards the fields below */
	unsigned int opened;   /* A provider may open one fabric several times. */
	struct mon_file *file; /* NULL: no domain was opened, or it failed */
	bool failed;           /* The file cannot be made; logged once. */
};

static _Thread_local unsigned int inside;

void mon_inside_begin(void)
{
	inside++;
}

void mon_inside_end(void)
{
	inside--;
}

static struct mon_fabric *fabric_of(struct fid_fabric *fid)
{
	return wf_container_of(fid->ops, struct mon_fabric, ops);
}

static struct mon_file *fabric_file_of(struct mon_fabric *fabric)
{
	struct mon_file *file;

	(void)pthread_mutex_lock(&fabric->lock);
	if (!fabric->file && !fabric->failed)
		fabric->failed = mon_file_open(fabric->prov_name, &fabric->file) != 0;
	file = fabric->file;
	(void)pthread_mutex_unlock(&fabric->lock);
	return file;
}

/* Monitor the domain that was opened. A failure leaves it as it is. */
static void fabric_domain_opened(struct mon_fabric *fabric, struct fid_domain *domain)
{
	struct mon_file *file = fabric_file_of(fabric);

	if (file)
		mon_domain_put(domain, file);
}

static int fabric_domain(struct fid_fabric *fid, struct fi_info *info,
	struct fid_domain **domain, void *context)
{
	struct mon_fabric *fabric = fabric_of(fid);
	int ret;

	mon_inside_begin();
	ret = fabric->below->domain(fid, info, domain, context);
	mon_inside_end();
	if (!ret)
		fabric_domain_opened(fabric, *domain);
	return ret;
}

static int fabric_domain2(struct fid_fabric *fid, struct fi_info *info,
	struct fid_domain **domain, uint64_t flags, void *context)
{
	struct mon_fabric *fabric = fabric_of(fid);
	int ret;

	mon_inside_begin();
	ret = fabric->below->domain2(fid, info, domain, flags, context);
	mon_inside_end();
	if (!ret)
		fabric_domain_opened(fabric, *domain);
	return ret;
}

static void fabric_free(struct mon_fabric *fabric)
{
	if (fabric->file)
		mon_file_close(fabric->file);
	(void)pthread_mutex_destroy(&fabric->lock);
	free(fabric->prov_name);
	free(fabric);
}

static unsigned int fabric_add_opened(struct mon_fabric *fabric, int n)
{
	unsigned int opened;

	(void)pthread_mutex_lock(&fabric->lock);
	opened = fabric->opened += (unsigned int)n;
	(void)pthread_mutex_unlock(&fabric->lock);
	return opened;
}

static int mon_fabric_close(struct fid *fid)
{
	struct mon_fabric *fabric =
		wf_container_of(fid->ops, struct mon_fabric, fid_ops);
	int ret = fabric->below_fid->close(fid);

	if (!ret && !fabric_add_opened(fabric, -1))
		fabric_free(fabric);
	return ret;
}

static bool fabric_is_monitored(const struct fid_fabric *fid)
{
	return fid->fid.ops->close == mon_fabric_close;
}

static struct mon_fabric *fabric_new(const struct fi_fabric_attr *attr)
{
	struct mon_fabric *fabric = calloc(1, sizeof(*fabric));

	if (!fabric)
		return NULL;
	fabric->prov_name = strdup(attr->prov_name ? attr->prov_name : "");
	if (!fabric->prov_name) {
		free(fabric);
		return NULL;
	}
	(void)pthread_mutex_init(&fabric->lock, NULL);
	fabric->opened = 1;
	return fabric;
}

static void fabric_put(struct mon_fabric *fabric, struct fid_fabric *fid)
{
	fabric->below = fid->ops;
	fabric->below_fid = fid->fid.ops;
	wf_copy_ops(&fabric->ops, fid->ops, sizeof(fabric->ops));
	wf_copy_ops(&fabric->fid_ops, fid->fid.ops, sizeof(fabric->fid_ops));
	MON_REPLACE(&fabric->ops, domain, fabric_domain);
	MON_REPLACE(&fabric->ops, domain2, fabric_domain2);
	fabric->fid_ops.close = mon_fabric_close;
	fid->ops = &fabric->ops;
	fid->fid.ops = &fabric->fid_ops;
}

int mon_fabric_open(
	struct fi_fabric_attr *attr, struct fid_fabric **ret_fabric, void *context)
{
	struct fid_fabric *fid = attr ? attr->fabric : NULL;
	struct mon_fabric *fabric;

	(void)context;
	if (!fid || !fid->fid.ops)
		return -FI_EINVAL;
	*ret_fabric = fid;
	/* A fabric without calls opens no domains. */
	if (inside || !fid->ops)
		return 0;
	if (fabric_is_monitored(fid)) {
		(void)fabric_add_opened(fabric_of(fid), 1);
		return 0;
	}
	fabric = fabric_new(attr);
	if (!fabric)
		return -FI_ENOMEM;
	fabric_put(fabric, fid);
	return 0;
}
