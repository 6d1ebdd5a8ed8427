/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>

#include "objects/cntr/cntr.h"
#include "objects/open/open.h"
#include "providers/lnx/domain.h"
#include "providers/lnx/stripe/stripe.h"
#include "sys/compiler.h"

/* The members' fabrics and domains (objects/lower/domain.h), opened and closed with the
 * domain of lnx. */

static int domain_open_member(struct lnx_domain *domain, unsigned int i)
{
	const struct lnx_member *member = &domain->link->member[i];
	struct fi_info *info = wf_lower_domain_info(member->info, domain->wf);
	int ret;

	if (!info)
		return -FI_ENOMEM;
	/* lnx chooses the keys even if a provider would, so that all members have the
	 * same key. */
	info->domain_attr->mr_mode &= ~FI_MR_PROV_KEY;
	ret = wf_lower_domain_open(&domain->member[i], &lnx_fi, member->name, info);
	if (ret)
		return ret;
	if (wf_domain_is_own(domain->member[i].domain))
		wf_domain_share_gate(
			domain->wf, wf_domain_of(domain->member[i].domain));
	domain->count = i + 1;
	return 0;
}

static void domain_close_members(struct lnx_domain *domain)
{
	while (domain->count)
		wf_lower_domain_close(&domain->member[--domain->count]);
}

int lnx_query_atomic(struct wf_domain *wf, enum fi_datatype datatype, enum fi_op op,
	struct fi_atomic_attr *attr, uint64_t flags)
{
	const struct lnx_domain *domain = lnx_domain_of(wf);

	/* A member may support atomics but not together with the rest of the link. */
	if (!(domain->link->tmpl->caps & FI_ATOMIC))
		return -FI_ENOSYS;
	return wf_lower_query_atomic(
		domain->member, domain->count, datatype, op, attr, flags);
}

/* A member of another library counts operations only: fi_peer(3) has no call to count
 * bytes. */
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
		ret = domain_open_member(domain, i);
	if (ret) {
		domain_close_members(domain);
		(void)pthread_mutex_destroy(&domain->control);
		free(domain);
		return ret;
	}
	lnx_stripe_domain_init(domain);
	wf->prov_data = domain;
	return 0;
}

void lnx_domain_done(struct wf_domain *wf)
{
	struct lnx_domain *domain = lnx_domain_of(wf);

	domain_close_members(domain);
	(void)pthread_mutex_destroy(&domain->control);
	free(domain);
}
