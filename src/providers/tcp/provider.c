/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/atomic/ops.h"
#include "objects/open/frame.h"
#include "objects/info/info.h"
#include "objects/info/offer.h"
#include "objects/local/domain.h"
#include "objects/local/mode.h"
#include "providers/tcp/context.h"
#include "providers/tcp/local/below.h"
#include "providers/tcp/param.h"
#include "providers/tcp/tcp.h"
#include "sys/compiler.h"

/* The provider's templates: reliable datagrams and connections, for each IP version. */

#define DOMAIN_CAPS                                                                    \
	(FI_LOCAL_COMM | FI_REMOTE_COMM | FI_SHARED_AV | FI_AV_USER_ID | FI_PEER)
#define MSG_TX_CAPS WF_RELIABLE_TX_CAPS
#define MSG_RX_CAPS WF_RELIABLE_RX_CAPS
#define RDM_TX_CAPS (MSG_TX_CAPS | FI_NAMED_RX_CTX | FI_COLLECTIVE)
#define RDM_RX_CAPS (MSG_RX_CAPS | WF_SOURCE_CAPS | FI_COLLECTIVE)

#define TX_ATTR(caps_, size_)                                                          \
	{                                                                              \
		WF_OFFER_RELIABLE_TX, .caps = (caps_), .size = (size_),                \
				      .iov_limit = TCP_IOV_LIMIT,                      \
				      .rma_iov_limit = TCP_RMA_LIMIT,                  \
	}
static struct fi_tx_attr msg_tx_attr = TX_ATTR(MSG_TX_CAPS, 65536);
static struct fi_tx_attr rdm_tx_attr = TX_ATTR(RDM_TX_CAPS, 65536);

#define RX_ATTR(caps_, size_)                                                          \
	{                                                                              \
		WF_OFFER_RELIABLE_RX, .caps = (caps_), .size = (size_),                \
				      .iov_limit = TCP_IOV_LIMIT,                      \
	}
static struct fi_rx_attr msg_rx_attr = RX_ATTR(MSG_RX_CAPS, 65536);
static struct fi_rx_attr rdm_rx_attr = RX_ATTR(RDM_RX_CAPS, 65536);

#define EP_ATTR(type_, protocol_, version_)                                            \
	{                                                                              \
		WF_OFFER_RELIABLE_EP, .type = (type_), .protocol = (protocol_),        \
				      .protocol_version = (version_),                  \
				      .max_msg_size = WF_MAX_MSG,                      \
	}
static struct fi_ep_attr msg_ep_attr = EP_ATTR(FI_EP_MSG, FI_PROTO_SOCK_TCP, 0);
static struct fi_ep_attr rdm_ep_attr = EP_ATTR(FI_EP_RDM, FI_PROTO_XNET, 1);

#define DOMAIN_ATTR(contexts_)                                                         \
	{                                                                              \
		WF_OFFER_DOMAIN,                                                       \
			.cq_data_size = sizeof(uint64_t),                              \
			.max_ep_tx_ctx = (contexts_), .max_ep_rx_ctx = (contexts_),    \
			.max_ep_srx_ctx = 1 << 15, .mr_iov_limit = TCP_IOV_LIMIT,      \
			.caps = DOMAIN_CAPS, .max_err_data = TCP_MAX_CM_DATA,          \
	}
static struct fi_domain_attr msg_domain_attr = DOMAIN_ATTR(1);
static struct fi_domain_attr rdm_domain_attr = DOMAIN_ATTR(TCP_CONTEXTS_MAX);

static struct fi_fabric_attr fabric_attr = { .prov_version = WF_PROV_VERSION };

#define INFO(kind, KIND, format)                                                       \
	{                                                                              \
		.caps = KIND##_TX_CAPS | KIND##_RX_CAPS | DOMAIN_CAPS,                 \
		.addr_format = (format), .tx_attr = &kind##_tx_attr,                   \
		.rx_attr = &kind##_rx_attr, .ep_attr = &kind##_ep_attr,                \
		.domain_attr = &kind##_domain_attr, .fabric_attr = &fabric_attr,       \
	}
static const struct fi_info rdm_in = INFO(rdm, RDM, FI_SOCKADDR_IN);
static const struct fi_info rdm_in6 = INFO(rdm, RDM, FI_SOCKADDR_IN6);
static const struct fi_info msg_in = INFO(msg, MSG, FI_SOCKADDR_IN);
static const struct fi_info msg_in6 = INFO(msg, MSG, FI_SOCKADDR_IN6);

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
	.cleanup = wf_local_forget,
	.domain_init = tcp_domain_init,
	.domain_done = tcp_domain_done,
	.endpoint = tcp_endpoint,
	.scalable_ep = tcp_scalable_ep,
	.passive_ep = tcp_passive_ep,
	.srx_ops = &wf_unexp_srx_ops,
	.max_atomic_size = TCP_WIRE_ATOMIC_MAX,
	.av_sets = true,
	.query_atomic = wf_query_atomic,
};

/* Parameters are read before the first fi_getinfo. */
static void tcp_provider_read_params(void)
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

/* A program that asks for no size may take the answer's for each of many
 * connections. */
static void provider_set_msg_sizes(struct fi_info *list, const struct fi_info *hints)
{
	enum { SIZE = 1024 };
	bool tx = !tcp_params.tx_size &&
		  !(hints && hints->tx_attr && hints->tx_attr->size);
	bool rx = !tcp_params.rx_size &&
		  !(hints && hints->rx_attr && hints->rx_attr->size);

	for (struct fi_info *info = list; info; info = info->next) {
		if (info->ep_attr->type != FI_EP_MSG)
			continue;
		if (tx)
			info->tx_attr->size = SIZE;
		if (rx)
			info->rx_attr->size = SIZE;
	}
}

static bool provider_has_rdm(const struct fi_info *info)
{
	while (info && info->ep_attr->type != FI_EP_RDM)
		info = info->next;
	return info != NULL;
}

static int tcp_getinfo(const struct wf_prov *prov, uint32_t version, const char *node,
	const char *service, uint64_t flags, const struct fi_info *hints,
	struct fi_info **ret_info)
{
	int ret = wf_ip_getinfo(prov, version, node, service, flags, hints, ret_info);

	if (ret)
		return ret;
	provider_set_msg_sizes(*ret_info, hints);
	if (provider_has_rdm(*ret_info))
		wf_local_log_mode(&tcp_fi);
	return 0;
}

WF_PROV_FRAME(tcp, tcp_getinfo, tcp_provider_read_params)
