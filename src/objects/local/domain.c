/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/local/domain.h"

#include <stdlib.h>
#include <string.h>

#include "objects/lower/find.h"
#include "objects/open/open.h"

/* The answer of shm to fi_getinfo; NULL: not known yet. @lock is held while shm is
 * asked, which asks no other provider. */
static struct {
	pthread_mutex_t lock;
	struct fi_info *info;
} offer = { PTHREAD_MUTEX_INITIALIZER, NULL };

/* shm has none of the stricter kinds of FI_DIRECTED_RECV. */
static const uint64_t offered =
	WF_LOCAL_TRANSFERS & ~(FI_TAGGED_DIRECTED_RECV | FI_EXACT_DIRECTED_RECV);

static int domain_ask(struct fi_info **ret_info)
{
	struct fi_info *hints = fi_allocinfo();
	int ret = -FI_ENOMEM;

	if (!hints)
		return ret;
	hints->caps = offered | WF_LOCAL_LINKING;
	hints->domain_attr->caps = WF_LOCAL_LINKING;
	hints->domain_attr->mr_mode =
		FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	hints->ep_attr->type = FI_EP_RDM;
	hints->fabric_attr->prov_name = strdup("shm");
	if (hints->fabric_attr->prov_name)
		ret = wf_lower_find(FI_VERSION(1, 17), hints, ret_info);
	fi_freeinfo(hints);
	return ret;
}

static int domain_query(struct fi_info **ret_copy)
{
	int ret = 0;

	(void)pthread_mutex_lock(&offer.lock);
	if (!offer.info)
		ret = domain_ask(&offer.info);
	if (!ret && ret_copy) {
		*ret_copy = fi_dupinfo(offer.info);
		ret = *ret_copy ? 0 : -FI_ENOMEM;
	}
	(void)pthread_mutex_unlock(&offer.lock);
	return ret;
}

int wf_local_query(void)
{
	return domain_query(NULL);
}

void wf_local_forget(void)
{
	fi_freeinfo(offer.info);
	offer.info = NULL;
}

void wf_local_domain_init(
	struct wf_local_domain *ret, struct wf_domain *above, size_t max_atomic)
{
	*ret = (struct wf_local_domain){ .above = above, .max_atomic = max_atomic };
	(void)pthread_mutex_init(&ret->lock, NULL);
}

void wf_local_domain_done(struct wf_local_domain *domain)
{
	wf_lower_domain_close(&domain->below);
	(void)pthread_mutex_destroy(&domain->lock);
}

/* Why an endpoint of @below does not support all capabilities of @above; NULL: it
 * does. */
static const char *domain_lacks(
	const struct fi_info *below, const struct fi_info *above)
{
	if (above->caps & WF_LOCAL_TRANSFERS & ~below->caps)
		return "it lacks capabilities";
	if (below->domain_attr->mr_mode & FI_MR_LOCAL || below->mode)
		return "it needs more of the application";
	if (below->tx_attr->inject_size < above->tx_attr->inject_size)
		return "it injects less";
	if (below->tx_attr->iov_limit < above->tx_attr->iov_limit ||
		below->rx_attr->iov_limit < above->rx_attr->iov_limit)
		return "it takes fewer buffers";
	if (below->tx_attr->rma_iov_limit < above->tx_attr->rma_iov_limit)
		return "it takes fewer segments";
	if (below->ep_attr->max_msg_size < above->ep_attr->max_msg_size)
		return "its messages are shorter";
	if (below->domain_attr->cq_data_size < above->domain_attr->cq_data_size)
		return "its remote CQ data is shorter";
	if (above->tx_attr->msg_order & ~below->tx_attr->msg_order)
		return "it has another order";
	return NULL;
}

static int domain_open(struct wf_local_domain *domain)
{
	struct wf_lower_domain *below = &domain->below;
	struct fi_info *found, *info;
	int ret = domain_query(&found);

	if (ret)
		return ret;
	info = wf_lower_domain_info(found, domain->above);
	fi_freeinfo(found);
	if (!info)
		return -FI_ENOMEM;
	ret = wf_lower_domain_open(below, domain->above->prov->fi, "shm", info);
	if (ret)
		return ret;
	/* The AV of a provider of another library could not be used within progress. */
	if (!wf_domain_is_own(below->domain)) {
		wf_lower_domain_close(below);
		return -FI_ENOSYS;
	}
	wf_domain_share_gate(domain->above, wf_domain_of(below->domain));
	wf_domain_lend_regions(domain->above, wf_domain_of(below->domain));
	return 0;
}

int wf_local_domain_open(
	struct wf_local_domain *domain, const struct wf_ep *ep, const char **ret_why)
{
	int ret = 0;

	*ret_why = "its domain";
	(void)pthread_mutex_lock(&domain->lock);
	if (!domain->below.info)
		ret = domain_open(domain);
	(void)pthread_mutex_unlock(&domain->lock);
	if (ret)
		return ret;
	*ret_why = domain_lacks(domain->below.info, ep->info);
	return *ret_why ? -FI_ENOSYS : 0;
}
