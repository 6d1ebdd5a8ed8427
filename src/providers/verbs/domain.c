/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "providers/verbs/cm/cm.h"
#include "providers/verbs/device/device.h"
#include "providers/verbs/mr/cache.h"

/* A domain is an open context of its device, with a protection domain. */

static int domain_open_scratch(struct verbs_domain *domain)
{
	domain->scratch = calloc(1, sizeof(*domain->scratch));
	if (!domain->scratch)
		return -FI_ENOMEM;
	domain->scratch_mr = VERBS_IBV(reg_mr(domain->pd, domain->scratch,
		sizeof(*domain->scratch), IBV_ACCESS_LOCAL_WRITE));
	return domain->scratch_mr ? 0
				  : verbs_failed(FI_LOG_DOMAIN, "ibv_reg_mr", errno);
}

static void domain_close_all(struct verbs_domain *domain)
{
	verbs_async_close(domain);
	verbs_mr_cache_free(domain->cache);
	if (domain->scratch_mr)
		(void)VERBS_IBV(dereg_mr(domain->scratch_mr));
	free(domain->scratch);
	if (domain->pd)
		(void)VERBS_IBV(dealloc_pd(domain->pd));
	if (domain->context)
		(void)VERBS_IBV(close_device(domain->context));
	free(domain);
}

static int domain_open_all(struct verbs_domain *domain)
{
	int err = verbs_device_open(domain->device, &domain->context);

	if (err)
		return err;
	domain->pd = VERBS_IBV(alloc_pd(domain->context));
	if (!domain->pd)
		return verbs_failed(FI_LOG_DOMAIN, "ibv_alloc_pd", errno);
	err = domain_open_scratch(domain);
	if (err)
		return err;
	domain->cache = verbs_mr_cache_new(domain->pd);
	return verbs_async_open(domain);
}

int verbs_domain_init(struct wf_domain *wf, const struct fi_info *info)
{
	struct verbs_domain *domain;
	int err;

	(void)info;
	domain = calloc(1, sizeof(*domain));
	if (!domain)
		return -FI_ENOMEM;
	domain->wf = wf;
	domain->device = verbs_device_find(wf->name);
	domain->dgram =
		domain->device && !strcmp(wf->name, domain->device->dgram_domain);
	err = domain->device ? domain_open_all(domain) : -FI_ENODEV;
	if (err) {
		domain_close_all(domain);
		return err;
	}
	wf->prov_data = domain;
	return 0;
}

void verbs_domain_done(struct wf_domain *wf)
{
	domain_close_all(verbs_domain_of(wf));
}
