/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "objects/coll/internal.h"
#include "objects/lower/domain.h"
#include "objects/lower/find.h"

/* Finding the engines, and opening their fabric and domain. */

/* Guards domain->coll of all domains while it is made. No other lock is taken under it
 * but those of the functions that an engine calls to open its domain. */
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

static int failed(
	const struct wf_domain *domain, const char *engine, const char *call, int ret)
{
	FI_WARN(domain->prov->fi, FI_LOG_DOMAIN, "collectives: %s: %s: %s\n", engine,
		call, fi_strerror(-ret));
	return ret;
}

static struct fi_info *make_hints(const struct wf_domain *domain, const char *name)
{
	struct fi_info *hints = fi_allocinfo();

	if (!hints)
		return NULL;
	hints->mode = FI_PEER_TRANSFER;
	hints->caps = FI_COLLECTIVE;
	hints->domain_attr->mr_mode =
		wf_lower_mr_mode(domain->info->domain_attr->mr_mode);
	hints->fabric_attr->prov_name = strdup(name);
	if (hints->fabric_attr->prov_name)
		return hints;
	fi_freeinfo(hints);
	return NULL;
}

/* The engine is called by the threads that call our objects, and by our progress
 * thread. */
static void settle(struct fi_info *info, const struct wf_domain *domain)
{
	struct fi_domain_attr *attr = info->domain_attr;

	attr->threading = domain->progress == FI_PROGRESS_AUTO ? FI_THREAD_SAFE
							       : domain->threading;
	attr->progress = attr->control_progress = FI_PROGRESS_MANUAL;
}

static int find(
	struct wf_coll_engine *engine, const struct wf_domain *domain, const char *name)
{
	struct fi_info *hints = make_hints(domain, name), *found;
	int ret;

	if (!hints)
		return -FI_ENOMEM;
	ret = wf_lower_find(FI_VERSION(1, 17), hints, &found);
	fi_freeinfo(hints);
	if (ret) {
		(void)failed(domain, name, "fi_getinfo", ret);
		return -FI_ENOSYS;
	}
	engine->name = name;
	engine->info = fi_dupinfo(found);
	fi_freeinfo(found);
	if (!engine->info)
		return -FI_ENOMEM;
	settle(engine->info, domain);
	return 0;
}

static void close_engine(struct wf_coll_engine *engine)
{
	if (engine->domain)
		(void)fi_close(&engine->domain->fid);
	if (engine->fabric)
		(void)fi_close(&engine->fabric->fid);
	fi_freeinfo(engine->info);
}

static int open_engine(
	struct wf_coll_engine *engine, struct wf_domain *domain, const char *name)
{
	struct fi_peer_domain_context context = { sizeof(context), &domain->fid };
	int ret = find(engine, domain, name);

	if (ret)
		return ret;
	ret = fi_fabric(engine->info->fabric_attr, &engine->fabric, NULL);
	if (ret) {
		(void)failed(domain, name, "fi_fabric", ret);
		goto err_close;
	}
	ret = fi_domain2(
		engine->fabric, engine->info, &engine->domain, FI_PEER, &context);
	if (ret) {
		(void)failed(domain, name, "fi_domain2", ret);
		goto err_close;
	}
	return 0;

err_close:
	close_engine(engine);
	return ret;
}

static int open_engines(struct wf_domain *domain)
{
	struct wf_coll_engines *engines = calloc(1, sizeof(*engines));
	int ret;

	if (!engines)
		return -FI_ENOMEM;
	ret = open_engine(&engines->at[0], domain, WF_COLL_ENGINE);
	if (ret) {
		free(engines);
		return ret;
	}
	engines->count = 1;
	domain->coll = engines;
	return 0;
}

int wf_coll_engines(struct wf_domain *domain, struct wf_coll_engines **ret_engines)
{
	int ret = 0;

	pthread_mutex_lock(&opening);
	if (!domain->coll)
		ret = open_engines(domain);
	*ret_engines = domain->coll;
	pthread_mutex_unlock(&opening);
	return ret;
}

void wf_coll_domain_done(struct wf_domain *domain)
{
	struct wf_coll_engines *engines = domain->coll;

	if (!engines)
		return;
	while (engines->count)
		close_engine(&engines->at[--engines->count]);
	free(engines);
	domain->coll = NULL;
}

int wf_coll_query(struct wf_domain *domain, enum fi_collective_op coll,
	struct fi_collective_attr *attr, uint64_t flags)
{
	struct wf_coll_engines *engines;
	int ret;

	if (!attr || attr->mode)
		return -FI_EINVAL;
	ret = wf_coll_engines(domain, &engines);
	if (ret)
		return ret;
	for (unsigned int i = engines->count; i-- > 0;) {
		ret = fi_query_collective(engines->at[i].domain, coll, attr, flags);
		if (!ret)
			return 0;
	}
	return ret;
}
