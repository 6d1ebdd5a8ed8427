/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/tcp/local/domain.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "objects/lower/find.h"
#include "objects/open/open.h"

/* The answer of shm to fi_getinfo; NULL: not known yet. @lock is held while shm is
 * asked, which asks no other provider. */
static struct {
	pthread_mutex_t lock;
	struct fi_info *info; /* without the name of an endpoint */
} offer = { PTHREAD_MUTEX_INITIALIZER, NULL };

/* State of a domain: wf_domain.prov_data. @lock guards the opening. */
struct tcp_domain {
	pthread_mutex_t lock;
	struct wf_lower_domain below; /* @info NULL: not open */
};

/* shm has none of the stricter kinds of FI_DIRECTED_RECV. */
static const uint64_t offered =
	TCP_BELOW_TRANSFERS & ~(FI_TAGGED_DIRECTED_RECV | FI_EXACT_DIRECTED_RECV);

/* Remove the source address, which contains the id of this process. The name of an
 * endpoint below has to be that of the process which opens it, also if that is a forked
 * child: otherwise a successor could have the name of a process that died. */
static void forget_name(struct fi_info *info)
{
	free(info->src_addr);
	info->src_addr = NULL;
	info->src_addrlen = 0;
}

static int ask(struct fi_info **ret_info)
{
	struct fi_info *hints = fi_allocinfo();
	int ret = -FI_ENOMEM;

	if (!hints)
		return ret;
	hints->caps = offered | TCP_BELOW_LINKING;
	hints->domain_attr->caps = TCP_BELOW_LINKING;
	hints->domain_attr->mr_mode =
		FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	hints->ep_attr->type = FI_EP_RDM;
	hints->fabric_attr->prov_name = strdup("shm");
	if (hints->fabric_attr->prov_name)
		ret = wf_lower_find(FI_VERSION(1, 17), hints, ret_info);
	fi_freeinfo(hints);
	if (!ret)
		forget_name(*ret_info);
	return ret;
}

static int query(struct fi_info **ret_copy)
{
	int ret = 0;

	(void)pthread_mutex_lock(&offer.lock);
	if (!offer.info)
		ret = ask(&offer.info);
	if (!ret && ret_copy) {
		*ret_copy = fi_dupinfo(offer.info);
		ret = *ret_copy ? 0 : -FI_ENOMEM;
	}
	(void)pthread_mutex_unlock(&offer.lock);
	return ret;
}

int tcp_below_query(void)
{
	return query(NULL);
}

void tcp_below_forget(void)
{
	fi_freeinfo(offer.info);
	offer.info = NULL;
}

int tcp_domain_init(struct wf_domain *domain, const struct fi_info *info)
{
	struct tcp_domain *tcp = calloc(1, sizeof(*tcp));

	(void)info;
	if (!tcp)
		return -FI_ENOMEM;
	(void)pthread_mutex_init(&tcp->lock, NULL);
	domain->prov_data = tcp;
	return 0;
}

void tcp_domain_done(struct wf_domain *domain)
{
	struct tcp_domain *tcp = domain->prov_data;

	wf_lower_domain_close(&tcp->below);
	(void)pthread_mutex_destroy(&tcp->lock);
	free(tcp);
}

/* Why an endpoint of @below does not support all capabilities of @above; NULL: it does.
 */
static const char *lacks(const struct fi_info *below, const struct fi_info *above)
{
	if (above->caps & TCP_BELOW_TRANSFERS & ~below->caps)
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

static int open_domain(struct wf_domain *above, struct wf_lower_domain *below)
{
	struct fi_info *found, *info;
	int ret = query(&found);

	if (ret)
		return ret;
	info = wf_lower_domain_info(found, above);
	fi_freeinfo(found);
	if (!info)
		return -FI_ENOMEM;
	ret = wf_lower_domain_open(below, &tcp_fi, "shm", info);
	if (ret)
		return ret;
	/* The AV of a provider of another library could not be used within progress. */
	if (!wf_domain_is_own(below->domain)) {
		wf_lower_domain_close(below);
		return -FI_ENOSYS;
	}
	wf_domain_lend_regions(above, wf_domain_of(below->domain));
	return 0;
}

int tcp_below_domain(struct tcp_ep *ep, const struct wf_lower_domain **ret_below,
	const char **ret_why)
{
	struct wf_domain *above = ep->ep.domain;
	struct tcp_domain *tcp = above->prov_data;
	int ret = 0;

	*ret_why = "its domain";
	(void)pthread_mutex_lock(&tcp->lock);
	if (!tcp->below.info)
		ret = open_domain(above, &tcp->below);
	(void)pthread_mutex_unlock(&tcp->lock);
	if (ret)
		return ret;
	*ret_why = lacks(tcp->below.info, ep->ep.info);
	if (*ret_why)
		return -FI_ENOSYS;
	*ret_below = &tcp->below;
	return 0;
}
