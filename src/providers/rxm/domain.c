/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "objects/lower/find.h"
#include "objects/lower/info.h"
#include "objects/mr/mr.h"
#include "objects/open/open.h"
#include "providers/rxm/offer.h"
#include "providers/rxm/rxm.h"

/* The domain below, which is opened and closed with the domain. */

static void domain_add_tagged(struct fi_info *info)
{
	info->caps |= FI_TAGGED;
	if (info->tx_attr->caps)
		info->tx_attr->caps |= FI_TAGGED;
	if (info->rx_attr->caps)
		info->rx_attr->caps |= FI_TAGGED;
}

/* Tagged messages arrive from below only if peers of release 1.17 send them so: over
 * tcp, whose provider in this library supports them. */
static void domain_take_tagged(struct fi_info *info)
{
	struct fi_info *hints = fi_dupinfo(info), *list = NULL;

	if (!hints)
		return;
	hints->tx_attr->caps = hints->rx_attr->caps = 0;
	hints->caps |= FI_TAGGED;
	if (!wf_lower_find_again(hints, &list))
		domain_add_tagged(info);
	fi_freeinfo(list);
	fi_freeinfo(hints);
}

static int rxm_domain_open_below(
	struct rxm_domain *domain, const struct rxm_offer *offer)
{
	struct fi_info *info = wf_lower_domain_info(offer->below, domain->wf);

	if (!info)
		return -FI_ENOMEM;
	/* Modes that the application keeps, and that the provider below does not need,
	 * are used below, too, so that addresses and keys are the same. */
	info->domain_attr->mr_mode &= ~FI_MR_LOCAL;
	info->domain_attr->mr_mode |= offer->below->domain_attr->mr_mode;
	domain_take_tagged(info);
	return wf_lower_domain_open(
		&domain->below, &rxm_fi, offer->below->fabric_attr->prov_name, info);
}

static void domain_fill(struct rxm_domain *domain, const struct rxm_offer *offer)
{
	const struct fi_info *below = domain->below.info;
	int mode = below->domain_attr->mr_mode;
	size_t bytes = below->domain_attr->mr_key_size;

	domain->local_mr = mode & FI_MR_LOCAL;
	domain->has_descs = domain->local_mr &&
			    domain->wf->info->domain_attr->mr_mode & FI_MR_LOCAL;
	domain->virt_addr = mode & FI_MR_VIRT_ADDR;
	domain->prov_key = mode & FI_MR_PROV_KEY;
	domain->own = wf_domain_is_own(domain->below.domain);
	if (domain->own)
		wf_domain_share_gate(domain->wf, wf_domain_of(domain->below.domain));
	domain->delivery = offer->delivery;
	domain->tagged = below->caps & FI_TAGGED;
	domain->rx_cq_data = (below->mode | below->rx_attr->mode) & FI_RX_CQ_DATA;
	domain->inject_size = below->tx_attr->inject_size;
	domain->max_key = bytes && bytes < sizeof(uint64_t)
				  ? (UINT64_C(1) << 8 * bytes) - 1
				  : FI_KEY_NOTAVAIL - 1;
}

int rxm_domain_init(struct wf_domain *wf, const struct fi_info *info)
{
	const struct rxm_offer *offer = rxm_offer_find(info);
	struct rxm_domain *domain;
	int ret;

	if (!offer) {
		rxm_log(FI_LOG_WARN, FI_LOG_DOMAIN,
			"domain refused: %s of %s is none that fi_getinfo answers\n",
			info->domain_attr->name ? info->domain_attr->name : "(none)",
			info->fabric_attr && info->fabric_attr->prov_name
				? info->fabric_attr->prov_name
				: "(none)");
		return -FI_EINVAL;
	}
	domain = calloc(1, sizeof(*domain));
	if (!domain)
		return -FI_ENOMEM;
	domain->wf = wf;
	ret = rxm_domain_open_below(domain, offer);
	if (ret) {
		free(domain);
		return ret;
	}
	domain_fill(domain, offer);
	wf_local_domain_init(&domain->local, wf, rxm_atomic_max());
	wf->prov_data = domain;
	return 0;
}

void rxm_domain_done(struct wf_domain *wf)
{
	struct rxm_domain *domain = rxm_domain_of(wf);

	wf_local_domain_done(&domain->local);
	wf_lower_domain_close(&domain->below);
	free(domain);
}

/* Keys of rendezvous are distant from the small numbers that applications often
 * choose. */
enum { KEY_TRIES = 1 << 16 };

static uint64_t domain_next_key(struct rxm_domain *domain)
{
	uint32_t n =
		atomic_fetch_add_explicit(&domain->next_key, 1, memory_order_relaxed);

	/* The upper half of all keys, without the largest one, which is reserved. */
	return (domain->max_key / 2 + 1) | (n & (domain->max_key / 2) >> 1);
}

int rxm_domain_expose(struct rxm_domain *domain, const struct iovec *iov,
	uint64_t access, struct fid_mr **ret_mr)
{
	struct fi_mr_attr attr = {
		.mr_iov = iov,
		.iov_count = 1,
		.access = access ? access : FI_SEND | FI_RECV,
	};
	int ret = -FI_ENOKEY;

	for (int i = 0; i < KEY_TRIES && ret == -FI_ENOKEY; i++) {
		attr.requested_key = domain->prov_key ? 0 : domain_next_key(domain);
		ret = fi_mr_regattr(domain->below.domain, &attr, 0, ret_mr);
	}
	if (!ret)
		wf_mr_hide(*ret_mr);
	return wf_lower_result(&domain->below, FI_LOG_MR, "fi_mr_regattr", ret);
}
