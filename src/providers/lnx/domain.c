/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>

#include "objects/cntr/cntr.h"
#include "objects/open/open.h"
#include "providers/lnx/lnx.h"
#include "sys/compiler.h"

/*
 * The members' fabrics and domains, opened and closed with ours. They see what the
 * application settled for our domain, but for progress: we run them, from the
 * application's calls or from our own thread.
 */

enum { MR_BASIC = 1 << 0, MR_SCALABLE = 1 << 1 };

/* Where a provider chooses keys lnx does, so that all members have the same key. */
static int member_mr_mode(int mode)
{
	if (mode & MR_BASIC)
		return FI_MR_VIRT_ADDR | FI_MR_ALLOCATED;
	return mode & ~(MR_SCALABLE | FI_MR_PROV_KEY);
}

static struct fi_info *member_info(
	const struct lnx_member *member, const struct wf_domain *wf)
{
	struct fi_info *copy = fi_dupinfo(member->info);
	struct fi_domain_attr *attr;

	if (!copy)
		return NULL;
	attr = copy->domain_attr;
	/* Our thread is one more of the application's. */
	attr->threading =
		wf->progress == FI_PROGRESS_AUTO ? FI_THREAD_SAFE : wf->threading;
	attr->progress = attr->control_progress = FI_PROGRESS_MANUAL;
	attr->mr_mode = member_mr_mode(wf->info->domain_attr->mr_mode);
	attr->av_type = FI_AV_TABLE;
	/* The application may have opened it; lnx opens one of its own. */
	attr->domain = NULL;
	copy->fabric_attr->fabric = NULL;
	return copy;
}

static int open_member(struct lnx_domain *domain, unsigned int i)
{
	const struct lnx_member *member = &domain->link->member[i];
	struct fi_info *copy = member_info(member, domain->wf);
	int ret;

	if (!copy)
		return -FI_ENOMEM;
	ret = fi_fabric(copy->fabric_attr, &domain->member[i].fabric, NULL);
	if (ret)
		goto err_info;
	ret = fi_domain(
		domain->member[i].fabric, copy, &domain->member[i].domain, NULL);
	if (ret)
		goto err_fabric;
	domain->member[i].info = copy;
	domain->count = i + 1;
	return 0;

err_fabric:
	(void)fi_close(&domain->member[i].fabric->fid);
err_info:
	fi_freeinfo(copy);
	lnx_log(FI_LOG_WARN, FI_LOG_DOMAIN, "domain of %s cannot be opened: %s\n",
		member->name, fi_strerror(-ret));
	return ret;
}

static void close_members(struct lnx_domain *domain)
{
	while (domain->count) {
		unsigned int i = --domain->count;

		(void)fi_close(&domain->member[i].domain->fid);
		(void)fi_close(&domain->member[i].fabric->fid);
		fi_freeinfo(domain->member[i].info);
	}
}

/* What every member can do; the fewest elements of all. */
int lnx_query_atomic(struct wf_domain *wf, enum fi_datatype datatype, enum fi_op op,
	struct fi_atomic_attr *attr, uint64_t flags)
{
	const struct lnx_domain *domain = lnx_domain_of(wf);
	struct fi_atomic_attr least = { .count = 0 }, one;
	int ret;

	/* A member may have atomics that it does not give together with the rest. */
	if (!(domain->link->tmpl->caps & FI_ATOMIC))
		return -FI_ENOSYS;
	for (unsigned int i = 0; i < domain->count; i++) {
		ret = fi_query_atomic(
			domain->member[i].domain, datatype, op, &one, flags);
		if (ret)
			return ret;
		if (!i || one.count < least.count)
			least = one;
	}
	*attr = least;
	return 0;
}

/* An importer of another library counts operations: fi_peer(3) has no call for more. */
int lnx_cntr_opened(struct wf_cntr *cntr)
{
	const struct lnx_domain *domain = lnx_domain_of(cntr->domain);

	for (unsigned int i = 0; i < domain->count; i++) {
		if (cntr->events != FI_CNTR_EVENTS_BYTES ||
			wf_domain_is_own(domain->member[i].domain))
			continue;
		lnx_log(FI_LOG_WARN, FI_LOG_CNTR,
			"counter refused: asked FI_CNTR_EVENTS_BYTES, possible with "
			"%s is FI_CNTR_EVENTS_COMP\n",
			domain->link->member[i].name);
		return -FI_ENOSYS;
	}
	return 0;
}

void lnx_domain_name(const struct lnx_domain *domain, struct lnx_name *ret)
{
	ret->count = domain->count;
	for (unsigned int i = 0; i < domain->count; i++)
		ret->link[i] = (struct lnx_name_link){
			.provider = domain->link->member[i].provider,
			.format = domain->member[i].info->addr_format,
			.locality = domain->link->member[i].locality,
		};
}

int lnx_domain_init(struct wf_domain *wf, const struct fi_info *info)
{
	const struct lnx_link *link = lnx_link_find(info->domain_attr->name);
	struct lnx_domain *domain;
	int ret = 0;

	if (!link) {
		lnx_log(FI_LOG_WARN, FI_LOG_DOMAIN,
			"domain refused: name %s is none that fi_getinfo answers\n",
			info->domain_attr->name ? info->domain_attr->name : "(none)");
		return -FI_EINVAL;
	}
	domain = calloc(1, sizeof(*domain));
	if (!domain)
		return -FI_ENOMEM;
	domain->wf = wf;
	domain->link = link;
	(void)pthread_mutex_init(&domain->control, NULL);
	for (unsigned int i = 0; i < link->count && !ret; i++)
		ret = open_member(domain, i);
	if (ret) {
		close_members(domain);
		(void)pthread_mutex_destroy(&domain->control);
		free(domain);
		return ret;
	}
	wf->prov_data = domain;
	return 0;
}

void lnx_domain_done(struct wf_domain *wf)
{
	struct lnx_domain *domain = lnx_domain_of(wf);

	close_members(domain);
	(void)pthread_mutex_destroy(&domain->control);
	free(domain);
}
