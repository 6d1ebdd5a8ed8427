/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/open/frame.h"
#include "objects/info/info.h"
#include "objects/info/offer.h"
#include "providers/udp/udp.h"
#include "sys/compiler.h"

/* The provider's templates: one for each IP version. */

#define DOMAIN_CAPS (FI_LOCAL_COMM | FI_REMOTE_COMM | FI_SHARED_AV | FI_AV_USER_ID)
#define TX_CAPS     (FI_MSG | FI_MULTICAST | FI_SEND)
#define RX_CAPS     (FI_MSG | FI_RECV | FI_SOURCE | FI_SOURCE_ERR | FI_MULTI_RECV)
#define CAPS        (TX_CAPS | RX_CAPS | DOMAIN_CAPS)

#define TX_OP_FLAGS                                                                    \
	(FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE |       \
		FI_MULTICAST | FI_MORE)

/* The kernel copies each datagram before the call returns: a message of any size can be
 * injected. */
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
	.op_flags = WF_RX_OP_FLAGS,
	.size = UDP_QUEUE_SIZE,
	.iov_limit = UDP_IOV_LIMIT,
};

static struct fi_domain_attr domain_attr = {
	WF_OFFER_DOMAIN, .max_ep_tx_ctx = 1, .max_ep_rx_ctx = 1,
	.mr_iov_limit = UDP_IOV_LIMIT, .caps = DOMAIN_CAPS,
	.max_err_data = sizeof(struct sockaddr_in6), /* address of an unknown source */
};

static struct fi_fabric_attr fabric_attr = { .prov_version = WF_PROV_VERSION };

#define INFO(family, format)                                                           \
	{                                                                              \
		.caps = CAPS, .addr_format = (format), .tx_attr = &tx_attr_##family,   \
		.rx_attr = &rx_attr, .ep_attr = &ep_attr_##family,                     \
		.domain_attr = &domain_attr, .fabric_attr = &fabric_attr,              \
	}
static const struct fi_info info_in = INFO(in, FI_SOCKADDR_IN);
static const struct fi_info info_in6 = INFO(in6, FI_SOCKADDR_IN6);

static const struct fi_info *const templates[] = { &info_in, &info_in6, NULL };

const struct wf_prov udp_prov = {
	.fi = &udp_fi,
	.templates = templates,
	.default_fabric = "UDP-IP",
	.default_domain = "udp",
	.iface_param = "iface",
	.endpoint = udp_endpoint,
};

static void provider_define_params(void)
{
	(void)fi_param_define(&udp_fi, "iface", FI_PARAM_STRING,
		"Interfaces to offer, a comma list; ^ in front: all but these "
		"(default: all)");
}

WF_PROV_FRAME(udp, wf_ip_getinfo, provider_define_params)
