/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/atomic/ops.h"
#include "objects/fabric.h"
#include "objects/info/info.h"
#include "providers/tcp/context.h"
#include "providers/tcp/param.h"
#include "providers/tcp/tcp.h"
#include "sys/compiler.h"

/* What the provider offers: reliable datagrams and connections, for each IP version. */

#define DOMAIN_CAPS                                                                    \
	(FI_LOCAL_COMM | FI_REMOTE_COMM | FI_SHARED_AV | FI_AV_USER_ID | FI_PEER)
#define TX_CAPS                                                                        \
	(FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_SEND | FI_READ | FI_WRITE |      \
		FI_FENCE | FI_TRIGGER)
#define RDM_TX_CAPS (TX_CAPS | FI_NAMED_RX_CTX)
#define RX_CAPS                                                                        \
	(FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_RECV | FI_REMOTE_READ |          \
		FI_REMOTE_WRITE | FI_MULTI_RECV | FI_RMA_EVENT | FI_TRIGGER)
#define RDM_RX_CAPS (RX_CAPS | FI_SOURCE | FI_SOURCE_ERR | FI_DIRECTED_RECV)

#define TX_OP_FLAGS                                                                    \
	(FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE |       \
		FI_DELIVERY_COMPLETE | FI_MATCH_COMPLETE | FI_MORE | FI_FENCE)
#define RX_OP_FLAGS (FI_COMPLETION | FI_MULTI_RECV | FI_MORE)

/* One stream keeps everything in order but for data that a read fetches late. */
#define MSG_ORDER                                                                      \
	(FI_ORDER_RAR | FI_ORDER_RAW | FI_ORDER_RAS | FI_ORDER_WAW | FI_ORDER_WAS |    \
		FI_ORDER_SAW | FI_ORDER_SAS | FI_ORDER_RMA_RAR | FI_ORDER_RMA_RAW |    \
		FI_ORDER_RMA_WAW | FI_ORDER_ATOMIC_RAR | FI_ORDER_ATOMIC_RAW |         \
		FI_ORDER_ATOMIC_WAR | FI_ORDER_ATOMIC_WAW)

static struct fi_tx_attr msg_tx_attr = {
	.caps = TX_CAPS,
	.op_flags = TX_OP_FLAGS,
	.msg_order = MSG_ORDER,
	.size = 1024,
	.iov_limit = TCP_IOV_LIMIT,
	.rma_iov_limit = TCP_RMA_LIMIT,
};

static struct fi_tx_attr rdm_tx_attr = {
	.caps = RDM_TX_CAPS,
	.op_flags = TX_OP_FLAGS,
	.msg_order = MSG_ORDER,
	.size = 65536,
	.iov_limit = TCP_IOV_LIMIT,
	.rma_iov_limit = TCP_RMA_LIMIT,
};

static struct fi_rx_attr msg_rx_attr = {
	.caps = RX_CAPS,
	.op_flags = RX_OP_FLAGS,
	.msg_order = MSG_ORDER,
	.size = 1024,
	.iov_limit = TCP_IOV_LIMIT,
};

static struct fi_rx_attr rdm_rx_attr = {
	.caps = RDM_RX_CAPS,
	.op_flags = RX_OP_FLAGS,
	.msg_order = MSG_ORDER,
	.size = 65536,
	.iov_limit = TCP_IOV_LIMIT,
};

#define EP_ATTR(type_, protocol_, version_)                                            \
	{                                                                              \
		.type = (type_), .protocol = (protocol_),                              \
		.protocol_version = (version_), .max_msg_size = TCP_MAX_MSG,           \
		.max_order_raw_size = SIZE_MAX, .max_order_waw_size = SIZE_MAX,        \
		.tx_ctx_cnt = 1, .rx_ctx_cnt = 1,                                      \
	}
static struct fi_ep_attr msg_ep_attr = EP_ATTR(FI_EP_MSG, FI_PROTO_SOCK_TCP, 0);
static struct fi_ep_attr rdm_ep_attr = EP_ATTR(FI_EP_RDM, FI_PROTO_XNET, 1);

#define DOMAIN_ATTR(contexts_)                                                         \
	{                                                                              \
		.threading = FI_THREAD_SAFE, .control_progress = FI_PROGRESS_AUTO,     \
		.data_progress = FI_PROGRESS_AUTO, .resource_mgmt = FI_RM_ENABLED,     \
		.av_type = FI_AV_UNSPEC, .mr_key_size = sizeof(uint64_t),              \
		.cq_data_size = sizeof(uint64_t), .cq_cnt = 1 << 16,                   \
		.ep_cnt = 1 << 15, .tx_ctx_cnt = 1 << 15, .rx_ctx_cnt = 1 << 15,       \
		.max_ep_tx_ctx = (contexts_), .max_ep_rx_ctx = (contexts_),            \
		.max_ep_stx_ctx = 1 << 15, .max_ep_srx_ctx = 1 << 15,                  \
		.cntr_cnt = 1 << 16, .mr_iov_limit = TCP_IOV_LIMIT, .mr_cnt = 1 << 16, \
		.caps = DOMAIN_CAPS, .max_err_data = TCP_MAX_CM_DATA,                  \
	}
static struct fi_domain_attr msg_domain_attr = DOMAIN_ATTR(1);
static struct fi_domain_attr rdm_domain_attr = DOMAIN_ATTR(TCP_CONTEXTS_MAX);

static struct fi_fabric_attr fabric_attr = {
	.prov_name = (char *)"tcp",
	.prov_version = WF_PROV_VERSION,
};

#define INFO(kind, caps_, format)                                                      \
	{                                                                              \
		.caps = (caps_) | DOMAIN_CAPS, .addr_format = (format),                \
		.tx_attr = &kind##_tx_attr, .rx_attr = &kind##_rx_attr,                \
		.ep_attr = &kind##_ep_attr, .domain_attr = &kind##_domain_attr,        \
		.fabric_attr = &fabric_attr,                                           \
	}
static const struct fi_info rdm_in =
	INFO(rdm, RDM_TX_CAPS | RDM_RX_CAPS, FI_SOCKADDR_IN);
static const struct fi_info rdm_in6 =
	INFO(rdm, RDM_TX_CAPS | RDM_RX_CAPS, FI_SOCKADDR_IN6);
static const struct fi_info msg_in = INFO(msg, TX_CAPS | RX_CAPS, FI_SOCKADDR_IN);
static const struct fi_info msg_in6 = INFO(msg, TX_CAPS | RX_CAPS, FI_SOCKADDR_IN6);

static const struct fi_info *const templates[] = {
	&rdm_in,
	&rdm_in6,
	&msg_in,
	&msg_in6,
	NULL,
};

const struct wf_prov tcp_prov = {
	.fi = &tcp_fi,
	.templates = templates,
	.default_fabric = "TCP-IP",
	.default_domain = "tcp",
	.iface_param = "iface",
	.endpoint = tcp_endpoint,
	.scalable_ep = tcp_scalable_ep,
	.passive_ep = tcp_passive_ep,
	.srx_ops = &tcp_srx_ops,
	.max_atomic_size = TCP_WIRE_ATOMIC_MAX,
	.query_atomic = wf_query_atomic,
};

/* The parameters come before the first fi_getinfo. */
static void read_params(void)
{
	const struct tcp_params *p = &tcp_params;

	tcp_params_init();
	msg_tx_attr.inject_size = rdm_tx_attr.inject_size = p->max_inject;
	if (p->tx_size)
		msg_tx_attr.size = rdm_tx_attr.size = p->tx_size;
	if (p->rx_size)
		msg_rx_attr.size = rdm_rx_attr.size = p->rx_size;
	if (p->no_auto_progress) {
		msg_domain_attr.control_progress = FI_PROGRESS_MANUAL;
		rdm_domain_attr.control_progress = FI_PROGRESS_MANUAL;
		msg_domain_attr.data_progress = FI_PROGRESS_MANUAL;
		rdm_domain_attr.data_progress = FI_PROGRESS_MANUAL;
	}
}

WF_PROV_FRAME(tcp, wf_ip_getinfo, read_params)
