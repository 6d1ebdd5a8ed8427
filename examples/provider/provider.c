/* SPDX-License-Identifier: BSD-2-Clause */
#include "loop.h"
#include "objects/atomic/ops.h"
#include "objects/info/info.h"
#include "objects/info/offer.h"
#include "objects/open/frame.h"
#include "objects/param.h"

/* What the provider offers: reliable endpoints within one process. */

#define DOMAIN_CAPS (FI_SHARED_AV | FI_AV_USER_ID | FI_PEER)
#define TX_CAPS     (WF_RELIABLE_TX_CAPS & ~FI_FENCE)
#define RX_CAPS     (WF_RELIABLE_RX_CAPS | WF_SOURCE_CAPS)

static const struct fi_info info = {
	.caps = TX_CAPS | RX_CAPS | DOMAIN_CAPS,
	.addr_format = FI_ADDR_STR,
	.tx_attr = &(struct fi_tx_attr){ .caps = TX_CAPS,
		.msg_order = WF_STREAM_ORDER,
		.op_flags = WF_RELIABLE_TX_OP_FLAGS & ~FI_FENCE,
		.inject_size = 4096,
		.size = 1024,
		.iov_limit = LOOP_COPY_IOV,
		.rma_iov_limit = LOOP_COPY_IOV },
	.rx_attr = &(struct fi_rx_attr){ WF_OFFER_RELIABLE_RX, .caps = RX_CAPS,
		.size = 1024, .iov_limit = LOOP_COPY_IOV },
	.ep_attr = &(struct fi_ep_attr){ WF_OFFER_RELIABLE_EP, .type = FI_EP_RDM,
		.max_msg_size = (size_t)1 << 30 },
	.domain_attr = &(struct fi_domain_attr){ WF_OFFER_DOMAIN, .caps = DOMAIN_CAPS,
		.cq_data_size = sizeof(uint64_t), .mr_iov_limit = LOOP_COPY_IOV,
		.max_ep_tx_ctx = 1, .max_ep_rx_ctx = 1, .max_ep_srx_ctx = 1,
		.max_err_data = WF_ADDRSTR_MAX /* the name of an unknown source */ },
	.fabric_attr = &(struct fi_fabric_attr){ .prov_version = WF_PROV_VERSION },
};

static const struct wf_prov loop_prov = {
	.fi = &loop_fi,
	.templates = (const struct fi_info *const[]){ &info, NULL },
	.default_fabric = "loop",
	.default_domain = "loop",
	.node_known = loop_node_known,
	.endpoint = loop_endpoint,
	.srx_ops = &loop_message_ops,
	.max_atomic_size = 4096,
	.query_atomic = wf_query_atomic,
};

size_t loop_held_size = (size_t)1 << 30;

static void read_params(void)
{
	static const struct wf_param held_size = WF_PARAM_SIZE("held_size",
		&loop_held_size, 1 << 20, SIZE_MAX,
		"Data that may wait for one endpoint, in bytes (default: 1 GiB)");

	wf_params_read(&loop_fi, &held_size, 1);
}

WF_PROV_FRAME(loop, wf_str_getinfo, read_params)
