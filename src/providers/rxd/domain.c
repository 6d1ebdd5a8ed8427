/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/rxd/domain.h"

#include <stdlib.h>

#include "objects/open/open.h"
#include "providers/rxd/rxd.h"
#include "sys/compiler.h"

enum {
	/* Receives posted below. A socket keeps packets for which there is no receive;
	 * a device drops them. */
	BUFFERS_KERNEL = 32,
	BUFFERS_NIC = 1024,
	/* Limit of the packet size in bytes, whatever the provider below supports. */
	PACKET_MAX = 65535,
};

/* Packets of the wire protocol in use have a fixed size, which both ends know. */
static size_t domain_wire_mtu(const struct fi_info *info, size_t prefix)
{
	size_t most =
		info->ep_attr->protocol == FI_PROTO_UDP ? RXD_MTU_WIRE : RXD_MTU_OTHER;

	return WF_MIN(info->ep_attr->max_msg_size, most) - prefix;
}

/* Read the limits of the provider below. False: its packets cannot hold the headers. */
static bool domain_read_limits(struct rxd_domain *domain)
{
	const struct fi_info *info = domain->below.info;
	size_t max = WF_MIN(info->ep_attr->max_msg_size, (size_t)PACKET_MAX);

	domain->prefix =
		info->mode & FI_MSG_PREFIX ? info->ep_attr->msg_prefix_size : 0;
	if (domain->prefix > max || max - domain->prefix < RXD_MTU_MIN)
		return false;
	domain->wire_mtu = domain_wire_mtu(info, domain->prefix);
	domain->max_packet = max - domain->prefix;
	domain->local_mr = info->domain_attr->mr_mode & FI_MR_LOCAL;
	domain->gathers = !domain->local_mr && info->tx_attr->inject_size >= max &&
			  !domain->prefix;
	domain->rx_buffers = WF_MIN(info->rx_attr->size,
		(size_t)(info->ep_attr->protocol == FI_PROTO_UDP ? BUFFERS_KERNEL
								 : BUFFERS_NIC));
	domain->slices = info->caps & FI_MULTI_RECV && !domain->prefix &&
			 info->ep_attr->protocol == FI_PROTO_UDP;
	return domain->rx_buffers;
}

static int rxd_domain_open_below(
	struct rxd_domain *domain, struct wf_domain *wf, const struct fi_info *above)
{
	struct fi_info *found, *info;
	int ret = wf_lower_getinfo_below(&rxd_kind, above, &found);

	if (ret)
		return ret;
	info = wf_lower_domain_info(found, wf);
	if (info)
		info->domain_attr->mr_mode = found->domain_attr->mr_mode;
	fi_freeinfo(found);
	if (!info)
		return -FI_ENOMEM;
	ret = wf_lower_domain_open(&domain->below, &rxd_fi, "below", info);
	if (!ret && wf_domain_is_own(domain->below.domain))
		wf_domain_share_gate(wf, wf_domain_of(domain->below.domain));
	return ret;
}

int rxd_domain_init(struct wf_domain *wf, const struct fi_info *info)
{
	struct rxd_domain *domain = calloc(1, sizeof(*domain));
	int ret;

	if (!domain)
		return -FI_ENOMEM;
	ret = rxd_domain_open_below(domain, wf, info);
	if (ret)
		goto err_free;
	domain->below.name = domain->below.info->fabric_attr->prov_name;
	if (!domain_read_limits(domain)) {
		rxd_log(FI_LOG_WARN, FI_LOG_DOMAIN,
			"domain refused: packets of %s are too small\n",
			domain->below.name);
		ret = -FI_EINVAL;
		goto err_close;
	}
	wf->prov_data = domain;
	return 0;

err_close:
	wf_lower_domain_close(&domain->below);
err_free:
	free(domain);
	return ret;
}

void rxd_domain_done(struct wf_domain *wf)
{
	struct rxd_domain *domain = rxd_domain_of(wf);

	wf_lower_domain_close(&domain->below);
	free(domain);
}
