/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/verbs/device/template.h"

#include "objects/info/offer.h"
#include "objects/open/frame.h"
#include "providers/verbs/param.h"

/* Templates for fi_getinfo, made from the limits of a device. */

#define DOMAIN_CAPS (FI_LOCAL_COMM | FI_REMOTE_COMM | FI_PEER)
#define TX_CAPS     (FI_MSG | FI_RMA | FI_SEND | FI_READ | FI_WRITE | FI_FENCE | FI_TRIGGER)
#define RX_CAPS                                                                        \
	(FI_MSG | FI_RMA | FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE | FI_TRIGGER)
#define TX_FLAGS                                                                       \
	(FI_COMPLETION | FI_INJECT | FI_INJECT_COMPLETE | FI_TRANSMIT_COMPLETE |       \
		FI_MORE | FI_FENCE)
#define RX_FLAGS (FI_COMPLETION | FI_MORE)

/* A queue pair executes requests in order, except that a later send or write may pass
 * the data that a read or fetching atomic operation returns. */
#define ORDER                                                                          \
	(FI_ORDER_RAR | FI_ORDER_RAW | FI_ORDER_RAS | FI_ORDER_WAW | FI_ORDER_WAS |    \
		FI_ORDER_SAW | FI_ORDER_SAS | FI_ORDER_RMA_RAR | FI_ORDER_RMA_RAW |    \
		FI_ORDER_RMA_WAW)
#define ATOMIC_ORDER (FI_ORDER_ATOMIC_RAR | FI_ORDER_ATOMIC_RAW | FI_ORDER_ATOMIC_WAW)

/* Completions are written in the order of posting, and the data are in memory before:
 * values of the interface before version 2.0, whose names are deprecated. */
#define COMP_STRICT UINT64_C(0x1ff)
#define COMP_DATA   (UINT64_C(1) << 16)

static size_t template_least(size_t a, int limit)
{
	return limit > 0 ? WF_MIN(a, (size_t)limit) : a;
}

static bool template_has_atomics(const struct verbs_device *device)
{
	return device->attr.atomic_cap != IBV_ATOMIC_NONE;
}

static void template_fill_tx(const struct verbs_device *device, struct fi_tx_attr *tx)
{
	const struct ibv_device_attr *attr = &device->attr;

	*tx = (struct fi_tx_attr){
		.caps = TX_CAPS,
		.op_flags = TX_FLAGS,
		.msg_order = ORDER,
		.comp_order = COMP_STRICT,
		.inject_size = device->inline_size,
		.size = template_least(verbs_params.tx_size, attr->max_qp_wr),
		.iov_limit = template_least(verbs_params.tx_iov_limit, attr->max_sge),
		.rma_iov_limit = 1,
	};
	if (template_has_atomics(device)) {
		tx->caps |= FI_ATOMIC;
		tx->msg_order |= ATOMIC_ORDER;
	}
}

static void template_fill_rx(const struct verbs_device *device, struct fi_rx_attr *rx)
{
	const struct ibv_device_attr *attr = &device->attr;

	*rx = (struct fi_rx_attr){
		.caps = RX_CAPS,
		.mode = FI_RX_CQ_DATA,
		.op_flags = RX_FLAGS,
		.msg_order = ORDER,
		.comp_order = COMP_STRICT | COMP_DATA,
		.size = template_least(verbs_params.rx_size, attr->max_qp_wr),
		.iov_limit = template_least(verbs_params.rx_iov_limit, attr->max_sge),
	};
	if (template_has_atomics(device)) {
		rx->caps |= FI_ATOMIC;
		rx->msg_order |= ATOMIC_ORDER;
	}
}

static void template_fill_domain(
	const struct verbs_device *device, struct fi_domain_attr *domain)
{
	const struct ibv_device_attr *attr = &device->attr;

	*domain = (struct fi_domain_attr){
		WF_OFFER_DOMAIN,
		.mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED |
			   FI_MR_PROV_KEY,
		.cq_data_size = VERBS_CQ_DATA_SIZE,
		.max_ep_tx_ctx = 1,
		.max_ep_rx_ctx = 1,
		.max_ep_srx_ctx = (size_t)WF_MAX(attr->max_srq, 0),
		.mr_iov_limit = 1,
		.caps = DOMAIN_CAPS,
		.max_err_data = VERBS_CM_DATA_MAX,
	};
	domain->mr_key_size = sizeof(uint32_t);
	domain->cq_cnt = (size_t)attr->max_cq;
	domain->ep_cnt = (size_t)attr->max_qp;
	domain->tx_ctx_cnt = (size_t)attr->max_qp;
	domain->rx_ctx_cnt = (size_t)attr->max_qp;
	domain->mr_cnt = (size_t)attr->max_mr;
}

static uint32_t template_protocol_of(const struct verbs_device *device)
{
	return device->iwarp ? FI_PROTO_IWARP : FI_PROTO_RDMA_CM_IB_RC;
}

void verbs_template_msg(
	const struct verbs_device *device, uint32_t format, struct verbs_template *ret)
{
	template_fill_tx(device, &ret->tx);
	template_fill_rx(device, &ret->rx);
	template_fill_domain(device, &ret->domain);
	ret->ep = (struct fi_ep_attr){
		.type = FI_EP_MSG,
		.protocol = template_protocol_of(device),
		.protocol_version = 1,
		.max_msg_size = device->port_attr.max_msg_sz,
		.max_order_raw_size = device->port_attr.max_msg_sz,
		.max_order_waw_size = device->port_attr.max_msg_sz,
		.tx_ctx_cnt = 1,
		.rx_ctx_cnt = 1,
	};
	ret->fabric = (struct fi_fabric_attr){ .prov_version = WF_PROV_VERSION };
	ret->info = (struct fi_info){
		.caps = ret->tx.caps | ret->rx.caps | DOMAIN_CAPS,
		.addr_format = format,
		.tx_attr = &ret->tx,
		.rx_attr = &ret->rx,
		.ep_attr = &ret->ep,
		.domain_attr = &ret->domain,
		.fabric_attr = &ret->fabric,
	};
	ret->list[0] = &ret->info;
	ret->list[1] = NULL;
}

/* Datagrams: no operations on the peer's memory, and no ordering. */
static void template_fill_dgram_xfer(const struct verbs_device *device,
	struct verbs_template *ret, size_t max_msg_size)
{
	template_fill_tx(device, &ret->tx);
	template_fill_rx(device, &ret->rx);
	ret->tx.caps = FI_MSG | FI_SEND;
	ret->tx.op_flags &= ~(uint64_t)FI_FENCE;
	ret->tx.msg_order = 0;
	ret->tx.rma_iov_limit = 0;
	ret->tx.inject_size = WF_MIN(device->ud_inline_size, max_msg_size);
	ret->rx.caps = FI_MSG | FI_RECV;
	ret->rx.mode = 0;
	ret->rx.msg_order = 0;
	/* The routing header needs one entry. */
	ret->rx.iov_limit = template_least(ret->rx.iov_limit, device->attr.max_sge - 1);
}

void verbs_template_dgram(const struct verbs_device *device, struct verbs_template *ret)
{
	/* enum ibv_mtu: 1 stands for 256 bytes, each next value for twice as many. */
	size_t max_msg_size = (size_t)128 << device->port_attr.active_mtu;

	verbs_template_msg(device, FI_ADDR_IB_UD, ret);
	template_fill_dgram_xfer(device, ret, max_msg_size);
	ret->domain.max_ep_srx_ctx = 0;
	ret->domain.caps = FI_LOCAL_COMM | FI_REMOTE_COMM;
	ret->ep.type = FI_EP_DGRAM;
	ret->ep.protocol = FI_PROTO_IB_UD;
	ret->ep.max_msg_size = max_msg_size;
	ret->ep.max_order_raw_size = 0;
	ret->ep.max_order_waw_size = 0;
	ret->info.caps = ret->tx.caps | ret->rx.caps | ret->domain.caps;
}

/* Without a device: all capabilities that any device may have. */

static struct fi_tx_attr any_tx = {
	.caps = TX_CAPS | FI_ATOMIC,
	.op_flags = TX_FLAGS,
	.msg_order = ORDER | ATOMIC_ORDER,
	.comp_order = COMP_STRICT,
	.inject_size = SIZE_MAX,
	.size = SIZE_MAX,
	.iov_limit = VERBS_SGE_MAX,
	.rma_iov_limit = 1,
};
static struct fi_rx_attr any_rx = {
	.caps = RX_CAPS | FI_ATOMIC,
	.mode = FI_RX_CQ_DATA,
	.op_flags = RX_FLAGS,
	.msg_order = ORDER | ATOMIC_ORDER,
	.comp_order = COMP_STRICT | COMP_DATA,
	.size = SIZE_MAX,
	.iov_limit = VERBS_SGE_MAX,
};
static struct fi_domain_attr any_domain = {
	WF_OFFER_DOMAIN,
	.mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY,
	.cq_data_size = VERBS_CQ_DATA_SIZE,
	.max_ep_tx_ctx = 1,
	.max_ep_rx_ctx = 1,
	.max_ep_srx_ctx = SIZE_MAX,
	.mr_iov_limit = 1,
	.caps = DOMAIN_CAPS,
};
static struct fi_ep_attr any_ep = {
	.type = FI_EP_MSG,
	.protocol = FI_PROTO_RDMA_CM_IB_RC,
	.protocol_version = 1,
	.max_msg_size = SIZE_MAX,
	.tx_ctx_cnt = 1,
	.rx_ctx_cnt = 1,
};
static struct fi_fabric_attr any_fabric = { .prov_version = WF_PROV_VERSION };
static const struct fi_info any_info = {
	.caps = TX_CAPS | RX_CAPS | FI_ATOMIC | DOMAIN_CAPS,
	.addr_format = FI_SOCKADDR_IP,
	.tx_attr = &any_tx,
	.rx_attr = &any_rx,
	.ep_attr = &any_ep,
	.domain_attr = &any_domain,
	.fabric_attr = &any_fabric,
};

const struct fi_info *const verbs_any_templates[] = { &any_info, NULL };
