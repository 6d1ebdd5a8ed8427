/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/fabric.h"
#include "objects/info/info.h"
#include "providers/udp/udp.h"
#include "sys/compiler.h"

/* What the provider offers: one template for each IP version. */

#define DOMAIN_CAPS (FI_LOCAL_COMM | FI_REMOTE_COMM | FI_SHARED_AV | FI_AV_USER_ID)
#define TX_CAPS     (FI_MSG | FI_MULTICAST | FI_SEND)
#define RX_CAPS     (FI_MSG | FI_RECV | FI_SOURCE | FI_SOURCE_ERR | FI_MULTI_RECV)
#define CAPS        (TX_CAPS | RX_CAPS | DOMAIN_CAPS)

#define TX_OP_FLAGS                                                                    \
	(FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE |       \
		FI_MULTICAST | FI_MORE)
#define RX_OP_FLAGS (FI_COMPLETION | FI_MULTI_RECV | FI_MORE)

/* The kernel copies what is sent before the call returns: every size is injected. */
#define TX_ATTR(max_msg)                                                               \
	{                                                                              \
		.caps = TX_CAPS, .op_flags = TX_OP_FLAGS, .inject_size = (max_msg),    \
		.size = UDP_QUEUE_SIZE, .iov_limit = UDP_IOV_LIMIT,                    \
	}
#define EP_ATTR(max_msg)                                                               \
	{                                                                              \
		.type = FI_EP_DGRAM, .protocol = FI_PROTO_UDP, .protocol_version = 0,  \
		.max_msg_size = (max_msg), .tx_ctx_cnt = 1, .rx_ctx_cnt = 1,           \
	}

static struct fi_tx_attr tx_attr_in = TX_ATTR(UDP_MAX_MSG_IN);
static struct fi_tx_attr tx_attr_in6 = TX_ATTR(UDP_MAX_MSG_IN6);
static struct fi_ep_attr ep_attr_in = EP_ATTR(UDP_MAX_MSG_IN);
static struct fi_ep_attr ep_attr_in6 = EP_ATTR(UDP_MAX_MSG_IN6);

static struct fi_rx_attr rx_attr = {
	.caps = RX_CAPS,
	.op_flags = RX_OP_FLAGS,
	.size = UDP_QUEUE_SIZE,
	.iov_limit = UDP_IOV_LIMIT,
};

static struct fi_domain_attr domain_attr = {
	.threading = FI_THREAD_SAFE,
	.control_progress = FI_PROGRESS_AUTO,
	.data_progress = FI_PROGRESS_AUTO,
	.resource_mgmt = FI_RM_ENABLED,
	.av_type = FI_AV_UNSPEC,
	.mr_key_size = sizeof(uint64_t),
	.cq_cnt = 1 << 16,
	.ep_cnt = 1 << 15,
	.tx_ctx_cnt = 1 << 15,
	.rx_ctx_cnt = 1 << 15,
	.max_ep_tx_ctx = 1,
	.max_ep_rx_ctx = 1,
	.max_ep_stx_ctx = 1 << 15,
	.cntr_cnt = 1 << 16,
	.mr_iov_limit = UDP_IOV_LIMIT,
	.mr_cnt = 1 << 16,
	.caps = DOMAIN_CAPS,
	.max_err_data = sizeof(struct sockaddr_in6), /* an unknown source */
};

static struct fi_fabric_attr fabric_attr = {
	.prov_name = (char *)"udp",
	.prov_version = WF_PROV_VERSION,
};

static const struct fi_info info_in = {
	.caps = CAPS,
	.addr_format = FI_SOCKADDR_IN,
	.tx_attr = &tx_attr_in,
	.rx_attr = &rx_attr,
	.ep_attr = &ep_attr_in,
	.domain_attr = &domain_attr,
	.fabric_attr = &fabric_attr,
};

static const struct fi_info info_in6 = {
	.caps = CAPS,
	.addr_format = FI_SOCKADDR_IN6,
	.tx_attr = &tx_attr_in6,
	.rx_attr = &rx_attr,
	.ep_attr = &ep_attr_in6,
	.domain_attr = &domain_attr,
	.fabric_attr = &fabric_attr,
};

static const struct fi_info *const templates[] = { &info_in, &info_in6, NULL };

const struct wf_prov udp_prov = {
	.fi = &udp_fi,
	.templates = templates,
	.default_fabric = "UDP-IP",
	.default_domain = "udp",
	.iface_param = "iface",
	.endpoint = udp_endpoint,
};

static void define_params(void)
{
	(void)fi_param_define(&udp_fi, "iface", FI_PARAM_STRING,
		"Offer only this network interface (default: all)");
}

WF_PROV_FRAME(udp, wf_ip_getinfo, define_params)
