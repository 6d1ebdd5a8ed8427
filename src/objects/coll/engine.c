/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include <rdma/providers/fi_prov.h>

#include "objects/coll/internal.h"
#include "objects/info/engine.h"
#include "objects/lower/domain.h"
#include "objects/lower/find.h"

/* Finding the engines, and opening their fabric and domain. */

/* Guards the creation of domain->coll, for all domains. Held while an engine opens its
 * domain, so the locks of the functions that the engine calls are taken under it. */
static pthread_mutex_t opening = PTHREAD_MUTEX_INITIALIZER;

static int engine_failed(
	const struct wf_domain *domain, const char *engine, const char *call, int ret)
{
	FI_WARN(domain->prov->fi, FI_LOG_DOMAIN, "collectives: %s: %s: %s\n", engine,
		call, fi_strerror(-ret));
	return ret;
}

/* Set threading and progress of an engine: the application's threads and our progress
 * thread call it. */
static void engine_settle(struct fi_info *info, const struct wf_domain *domain)
{
	struct fi_domain_attr *attr = info->domain_attr;

	attr->threading = domain->progress == FI_PROGRESS_AUTO ? FI_THREAD_SAFE
							       : domain->threading;
	attr->progress = attr->control_progress = FI_PROGRESS_MANUAL;
}

static int engine_find(struct wf_coll_engine *engine, const struct wf_domain *domain,
	const char *name, uint64_t mode)
{
	int mr_mode = wf_lower_mr_mode(domain->info->domain_attr->mr_mode);
	struct fi_info *hints = wf_info_engine_hints(name, mode, mr_mode), *found;
	int ret;

	if (!hints)
		return -FI_ENOMEM;
	ret = wf_lower_find(WF_INFO_ENGINE_VERSION, hints, &found);
	fi_freeinfo(hints);
	if (ret) {
		(void)engine_failed(domain, name, "fi_getinfo", ret);
		return -FI_ENOSYS;
	}
	engine->name = name;
	engine->info = fi_dupinfo(found);
	fi_freeinfo(found);
	if (!engine->info)
		return -FI_ENOMEM;
	engine_settle(engine->info, domain);
	return 0;
}

static void engine_close(struct wf_coll_engine *engine)
{
	if (engine->domain)
		(void)fi_close(&engine->domain->fid);
	if (engine->fabric)
		(void)fi_close(&engine->fabric->fid);
	fi_freeinfo(engine->info);
}

static int engine_open(struct wf_coll_engine *engine, struct wf_domain *domain,
	const char *name, uint64_t mode)
{
	struct fi_peer_domain_context context = { sizeof(context), &domain->fid };
	int ret = engine_find(engine, domain, name, mode);

	if (ret)
		return ret;
	ret = fi_fabric(engine->info->fabric_attr, &engine->fabric, NULL);
	if (ret) {
		(void)engine_failed(domain, name, "fi_fabric", ret);
		goto err_close;
	}
	ret = fi_domain2(
		engine->fabric, engine->info, &engine->domain, FI_PEER, &context);
	if (ret) {
		(void)engine_failed(domain, name, "fi_domain2", ret);
		goto err_close;
	}
	return 0;

err_close:
	engine_close(engine);
	return ret;
}

/* Open the offload engine, if one is named. Without it all calls go to the first
 * engine. */
static void engine_open_offload(
	struct wf_coll_engines *engines, struct wf_domain *domain)
{
	struct wf_coll_engine *engine = &engines->at[WF_COLL_OFFLOAD];
	char *name = NULL;

	if (fi_param_get_str(NULL, "offload_coll_provider", &name) || !name || !*name ||
		!strcmp(name, WF_INFO_ENGINE))
		return;
	/* No mode FI_PEER_TRANSFER: the one peer of transfers of an endpoint is the
	 * first engine. */
	if (!engine_open(engine, domain, name, 0))
		engines->count++;
	else
		memset(engine, 0, sizeof(*engine));
}

static int engine_open_all(struct wf_domain *domain)
{
	struct wf_coll_engines *engines = calloc(1, sizeof(*engines));
	int ret;

	if (!engines)
		return -FI_ENOMEM;
	ret = engine_open(
		&engines->at[WF_COLL_BASE], domain, WF_INFO_ENGINE, FI_PEER_TRANSFER);
	if (ret) {
		free(engines);
		return ret;
	}
	engines->count = 1;
	engine_open_offload(engines, domain);
	domain->coll = engines;
	return 0;
}

int wf_coll_engines(struct wf_domain *domain, struct wf_coll_engines **ret_engines)
{
	int ret = 0;

	pthread_mutex_lock(&opening);
	if (!domain->coll)
		ret = engine_open_all(domain);
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
		engine_close(&engines->at[--engines->count]);
	free(engines);
	domain->coll = NULL;
}

static bool engine_ask(const struct wf_coll_engine *engine, enum fi_collective_op coll,
	enum fi_op op, enum fi_datatype datatype)
{
	struct fi_collective_attr attr = { .op = op, .datatype = datatype };

	return !fi_query_collective(engine->domain, coll, &attr, 0);
}

/* The index for @value in wf_coll_engines.offloads: FI_VOID and FI_NOOP come after a
 * gap. */
static unsigned int engine_index_of(unsigned int value)
{
	return value == FI_COLLECTIVE_OFFSET ? WF_COLL_TYPES - 1 : value;
}

static bool engine_reduces(enum fi_collective_op coll)
{
	return coll == FI_ALLREDUCE || coll == FI_REDUCE || coll == FI_REDUCE_SCATTER;
}

bool wf_coll_offloads(struct wf_coll_engines *engines, enum fi_collective_op coll,
	enum fi_op op, enum fi_datatype datatype)
{
	atomic_uchar *answer;

	/* Callers pass any operation to a collective without a reduction. */
	if (!engine_reduces(coll))
		op = FI_NOOP;
	if (coll == FI_BARRIER)
		datatype = FI_VOID;
	if (engines->count <= WF_COLL_OFFLOAD || (unsigned int)coll >= WF_COLL_KINDS ||
		engine_index_of(op) >= WF_COLL_TYPES ||
		engine_index_of(datatype) >= WF_COLL_TYPES)
		return false;
	answer = &engines->offloads[coll][engine_index_of(op)]
				   [engine_index_of(datatype)];
	/* relaxed: every thread gets the same answer. */
	if (atomic_load_explicit(answer, memory_order_relaxed) == WF_COLL_UNKNOWN)
		atomic_store_explicit(answer,
			engine_ask(&engines->at[WF_COLL_OFFLOAD], coll, op, datatype)
				? WF_COLL_YES
				: WF_COLL_NO,
			memory_order_relaxed);
	return atomic_load_explicit(answer, memory_order_relaxed) == WF_COLL_YES;
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
