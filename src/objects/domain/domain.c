/* SPDX-License-Identifier: BSD-2-Clause */
#include <assert.h>
#include <stdlib.h>
#include <string.h>
#include <rdma/providers/fi_log.h>

#include "objects/domain/domain.h"
#include "objects/eq/eq.h"
#include "objects/info/info.h"
#include "objects/progress/thread.h"

static enum fi_threading domain_threading_of(const struct fi_info *info)
{
	enum fi_threading threading = info->domain_attr->threading;

	/* FI_THREAD_SAFE serves every other model, also removed ones, because it asks
	 * nothing of the application. */
	return threading == FI_THREAD_DOMAIN || threading == FI_THREAD_COMPLETION
		       ? threading
		       : FI_THREAD_SAFE;
}

/* May all objects do without locks? */
static bool domain_is_serialised(const struct wf_domain *domain)
{
	return domain->progress != FI_PROGRESS_AUTO &&
	       domain->threading == FI_THREAD_DOMAIN;
}

static void domain_set_gate(struct wf_domain *domain, struct wf_gate *gate)
{
	domain->gate = gate;
	/* Control calls are thread safe with any threading model, except with unified
	 * progress. */
	if (domain->progress == FI_PROGRESS_CONTROL_UNIFIED)
		wf_lock_set_gate(&domain->mr_map.lock, gate);
}

void wf_domain_share_gate(struct wf_domain *above, struct wf_domain *below)
{
	if (above->gate && below->gate)
		domain_set_gate(below, above->gate);
}

static int domain_copy_attributes(struct wf_domain *domain, const struct fi_info *info)
{
	const char *name = info->domain_attr->name;

	if (!name)
		name = domain->prov->default_domain;
	domain->threading = domain_threading_of(info);
	domain->progress = info->domain_attr->progress;
	domain->info = fi_dupinfo(info);
	domain->name = strdup(name ? name : "");
	return domain->info && domain->name ? 0 : -FI_ENOMEM;
}

static void domain_free(struct wf_domain *domain)
{
	if (domain->info)
		fi_freeinfo(domain->info);
	free(domain->name);
	wf_counted_done(&domain->counted);
	(void)pthread_mutex_destroy(&domain->control);
	free(domain);
}

/* Check the context of FI_PEER: the owner's domain (fi_peer(3)). */
static int domain_check_peer(
	const struct wf_fabric *fabric, const struct fi_peer_domain_context *context)
{
	if (context && context->size >= sizeof(*context) && context->domain)
		return 0;
	FI_WARN(fabric->prov->fi, FI_LOG_DOMAIN,
		"domain refused: FI_PEER needs a struct fi_peer_domain_context of at "
		"least %zu bytes with a domain\n",
		sizeof(*context));
	return -FI_EINVAL;
}

static int domain_check_open(const struct wf_fabric *fabric, const struct fi_info *info,
	struct fid_domain **ret_domain, uint64_t flags, const void *context)
{
	if (!info || !info->domain_attr || !ret_domain)
		return -FI_EINVAL;
	if (flags & ~FI_PEER) {
		FI_WARN(fabric->prov->fi, FI_LOG_DOMAIN,
			"domain refused: flags 0x%llx asked for, FI_PEER possible\n",
			(unsigned long long)flags);
		return -FI_EINVAL;
	}
	if (flags && domain_check_peer(fabric, context))
		return -FI_EINVAL;
	return wf_info_check(fabric->prov, fabric->fid.api_version, info);
}

/* Locks that threads of the parent held are free. */
static void domain_in_child(struct wf_fork_hook *hook)
{
	struct wf_domain *domain = wf_container_of(hook, struct wf_domain, fork_hook);

	domain->inherited = true;
	wf_lock_init(&domain->mr_map.lock, domain->mr_map.lock.kind);
	wf_lock_init(&domain->items.lock, domain->items.lock.kind);
}

int wf_domain_new(struct wf_fabric *fabric, struct fi_info *info,
	const struct wf_domain_tables *tables, struct fid_domain **ret_domain,
	uint64_t flags, void *context)
{
	struct fid_domain *peer = NULL;
	struct wf_domain *domain;
	int err;

	err = domain_check_open(fabric, info, ret_domain, flags, context);
	if (err)
		return err;
	/* The context of an import is gone after this call. */
	if (flags & FI_PEER)
		context = peer = ((struct fi_peer_domain_context *)context)->domain;
	domain = calloc(1, sizeof(*domain));
	if (!domain)
		return -FI_ENOMEM;
	domain->fid.fid.fclass = FI_CLASS_DOMAIN;
	domain->fid.fid.context = context;
	domain->fid.fid.ops = tables->fid;
	domain->fid.ops = tables->domain;
	domain->fid.mr = tables->mr;
	domain->fabric = fabric;
	domain->prov = fabric->prov;
	domain->peer = peer;
	domain->api_version = fabric->fid.api_version;
	atomic_init(&domain->refs, 0);
	(void)pthread_mutex_init(&domain->control, NULL);
	wf_counted_init(&domain->counted);
	err = domain_copy_attributes(domain, info);
	if (err)
		goto err_free;
	err = wf_mr_map_init(&domain->mr_map, WF_LOCK_SPIN);
	if (err)
		goto err_free;
	wf_gate_init(&domain->own_gate);
	if (domain_is_serialised(domain) && wf_gate_supported())
		domain_set_gate(domain, &domain->own_gate);
	domain->reached = &domain->mr_map;
	/* Items come and go by control calls, which are always thread safe. */
	wf_progress_list_init(&domain->items, WF_LOCK_MUTEX, NULL);
	wf_triggers_init(&domain->triggers);
	err = wf_fork_hook_add(&domain->fork_hook, domain_in_child);
	if (err)
		goto err_triggers;
	if (domain->progress == FI_PROGRESS_AUTO) {
		err = wf_domain_need_thread(domain);
		if (err)
			goto err_hook;
	}
	if (domain->prov->domain_init) {
		err = domain->prov->domain_init(domain, info);
		if (err)
			goto err_thread;
	}
	atomic_fetch_add_explicit(&fabric->refs, 1, memory_order_relaxed);
	domain->open = (struct wf_open_domain){
		.fid = &domain->fid,
		.fabric = fabric,
		.name = domain->name,
	};
	wf_open_domain_add(&domain->open);
	*ret_domain = &domain->fid;
	return 0;

err_thread:
	wf_progress_thread_stop(domain->thread);
err_hook:
	wf_fork_hook_remove(&domain->fork_hook);
err_triggers:
	wf_triggers_done(&domain->triggers);
	wf_progress_list_done(&domain->items);
	wf_mr_map_done(&domain->mr_map);
err_free:
	domain_free(domain);
	return err;
}

int wf_domain_close(struct fid *fid)
{
	struct wf_domain *domain = wf_container_of(fid, struct wf_domain, fid.fid);
	struct wf_fabric *fabric = domain->fabric;
	/* acquire: pairs with wf_domain_unref. */
	int refs = atomic_load_explicit(&domain->refs, memory_order_acquire);

	if (refs) {
		FI_INFO(domain->prov->fi, FI_LOG_DOMAIN,
			"domain %s not closed: %d objects are open on it\n",
			domain->name, refs);
		return -FI_EBUSY;
	}
	wf_fork_hook_remove(&domain->fork_hook);
	wf_open_domain_remove(&domain->open);
	if (domain->prov->domain_done)
		domain->prov->domain_done(domain);
	wf_progress_thread_stop(domain->thread);
	wf_triggers_done(&domain->triggers);
	wf_progress_list_done(&domain->items);
	wf_mr_map_done(&domain->mr_map);
	if (domain->eq)
		wf_eq_unref(domain->eq);
	domain_free(domain);
	atomic_fetch_sub_explicit(&fabric->refs, 1, memory_order_release);
	return 0;
}

void wf_domain_lend_regions(struct wf_domain *above, struct wf_domain *below)
{
	below->reached = &above->mr_map;
}

int wf_domain_need_thread(struct wf_domain *domain)
{
	int err = 0;

	if (domain->gate) {
		FI_WARN(domain->prov->fi, FI_LOG_DOMAIN,
			"progress thread refused: the domain was opened for a caller "
			"that serialises; FI_THREAD_SAFE or FI_PROGRESS_AUTO is "
			"needed\n");
		return -FI_ENOSYS;
	}
	(void)pthread_mutex_lock(&domain->control);
	if (!domain->thread)
		err = wf_progress_thread_start(&domain->items, &domain->thread);
	(void)pthread_mutex_unlock(&domain->control);
	return err;
}

int wf_domain_progress_add(struct wf_domain *domain, struct wf_progress *item)
{
	if (domain->gate)
		return 0;
	return wf_progress_list_add(&domain->items, item);
}

void wf_domain_progress_del(struct wf_domain *domain, struct wf_progress *item)
{
	wf_progress_list_del(&domain->items, item);
}
