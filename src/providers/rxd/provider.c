/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/conn/unexp.h"
#include "objects/info/info.h"
#include "objects/info/offer.h"
#include "objects/open/frame.h"
#include "providers/rxd/domain.h"
#include "providers/rxd/param.h"
#include "providers/rxd/rxd.h"

/* The provider's template: reliable endpoints over those of any provider with
 * FI_EP_DGRAM. */

#define DOMAIN_CAPS                                                                    \
	(FI_LOCAL_COMM | FI_REMOTE_COMM | FI_SHARED_AV | FI_AV_USER_ID | FI_PEER)
#define TX_CAPS ((WF_RELIABLE_TX_CAPS & ~FI_FENCE) | FI_COLLECTIVE)
#define RX_CAPS (WF_RELIABLE_RX_CAPS | WF_SOURCE_CAPS | FI_COLLECTIVE)

/* The sender of a message is not told when it is matched. */
#define TX_OP_FLAGS (WF_RELIABLE_TX_OP_FLAGS & ~(FI_FENCE | FI_MATCH_COMPLETE))

static struct fi_tx_attr tx_attr = {
	.caps = TX_CAPS,
	.op_flags = TX_OP_FLAGS,
	.msg_order = WF_STREAM_ORDER,
	.inject_size = RXD_INJECT_SIZE,
	.size = RXD_QUEUE_SIZE,
	.iov_limit = RXD_IOV_LIMIT,
	.rma_iov_limit = RXD_RMA_LIMIT,
};

static struct fi_rx_attr rx_attr = {
	WF_OFFER_RELIABLE_RX,
	.caps = RX_CAPS,
	.size = RXD_QUEUE_SIZE,
	.iov_limit = RXD_IOV_LIMIT,
};

static struct fi_ep_attr ep_attr = {
	WF_OFFER_RELIABLE_EP,
	.type = FI_EP_RDM,
	.protocol = FI_PROTO_RXD,
	.protocol_version = 1,
	.max_msg_size = WF_MAX_MSG,
};

static struct fi_domain_attr domain_attr = {
	WF_OFFER_DOMAIN, .caps = DOMAIN_CAPS, .cq_data_size = sizeof(uint64_t),
	.max_ep_tx_ctx = 1, .max_ep_rx_ctx = 1, .max_ep_srx_ctx = 1 << 15,
	.mr_iov_limit = RXD_IOV_LIMIT,
	.max_err_data = RXD_NAME_MAX, /* address of an unknown source */
};

static struct fi_fabric_attr fabric_attr = { .prov_version = WF_PROV_VERSION };

/* The address formats are those of the provider below. */
static const struct fi_info info = {
	.caps = TX_CAPS | RX_CAPS | DOMAIN_CAPS,
	.addr_format = FI_FORMAT_UNSPEC,
	.tx_attr = &tx_attr,
	.rx_attr = &rx_attr,
	.ep_attr = &ep_attr,
	.domain_attr = &domain_attr,
	.fabric_attr = &fabric_attr,
};

static void rxd_provider_cleanup(void)
{
	wf_lower_getinfo_done(&rxd_kind);
}

static const struct wf_prov rxd_prov = {
	.fi = &rxd_fi,
	.templates = (const struct fi_info *const[]){ &info, NULL },
	.default_fabric = "rxd",
	.default_domain = "rxd",
	.cleanup = rxd_provider_cleanup,
	.domain_init = rxd_domain_init,
	.domain_done = rxd_domain_done,
	.endpoint = rxd_endpoint,
	.srx_ops = &wf_unexp_srx_ops,
	.max_atomic_size = RXD_ATOMIC_MAX,
	.av_sets = true,
	.query_atomic = wf_query_atomic,
};

static struct wf_lower_found found = WF_LOWER_FOUND_INIT;

const struct wf_lower_kind rxd_kind = {
	.found = &found,
	.prov = &rxd_prov,
	.needs = {
		.layer = "ofi_rxd",
		.type = FI_EP_DGRAM,
		.caps = FI_MSG | FI_SEND | FI_RECV,
		.mode = FI_MSG_PREFIX | FI_CONTEXT | FI_CONTEXT2,
		.mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED |
			   FI_MR_PROV_KEY,
	},
};

static int rxd_provider_getinfo(const struct wf_prov *prov, uint32_t version,
	const char *node, const char *service, uint64_t flags,
	const struct fi_info *hints, struct fi_info **ret_info)
{
	(void)prov;
	return wf_lower_getinfo(
		&rxd_kind, version, node, service, flags, hints, ret_info);
}

WF_PROV_FRAME_NAMED(rxd, "ofi_rxd", rxd_provider_getinfo, rxd_params_init)
