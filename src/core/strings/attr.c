/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/strings/strings.h"

/* The attributes of a struct fi_info. The removed members (comp_order,
 * total_buffered_recv, control_progress) exist in memory only. */

#define TX(...)     WF_FIELD(struct fi_tx_attr, __VA_ARGS__)
#define RX(...)     WF_FIELD(struct fi_rx_attr, __VA_ARGS__)
#define EP(...)     WF_FIELD(struct fi_ep_attr, __VA_ARGS__)
#define DOM(...)    WF_FIELD(struct fi_domain_attr, __VA_ARGS__)
#define FABRIC(...) WF_FIELD(struct fi_fabric_attr, __VA_ARGS__)

static const struct wf_field tx_fields[] = {
	TX(caps, FLAGS, .names = &wf_flags_caps),
	TX(mode, FLAGS, .names = &wf_flags_mode),
	TX(op_flags, FLAGS, .names = &wf_flags_op),
	TX(msg_order, FLAGS, .names = &wf_flags_msg_order),
	TX(inject_size, SIZE),
	TX(size, SIZE),
	TX(iov_limit, SIZE),
	TX(rma_iov_limit, SIZE),
	TX(tclass, HEX32, .node = 3),
};
const struct wf_struct wf_struct_tx_attr = WF_STRUCT(fi_tx_attr, tx_fields);

static const struct wf_field rx_fields[] = {
	RX(caps, FLAGS, .names = &wf_flags_caps),
	RX(mode, FLAGS, .names = &wf_flags_mode),
	RX(op_flags, FLAGS, .names = &wf_flags_op),
	RX(msg_order, FLAGS, .names = &wf_flags_msg_order),
	RX(size, SIZE),
	RX(iov_limit, SIZE),
};
const struct wf_struct wf_struct_rx_attr = WF_STRUCT(fi_rx_attr, rx_fields);

static const struct wf_field ep_fields[] = {
	EP(type, ENUM, .names = &wf_names_ep_type),
	EP(protocol, ENUM, .names = &wf_names_protocol),
	EP(protocol_version, U32),
	EP(max_msg_size, SIZE),
	EP(msg_prefix_size, SIZE),
	EP(max_order_raw_size, SIZE),
	EP(max_order_war_size, SIZE),
	EP(max_order_waw_size, SIZE),
	EP(mem_tag_format, HEX64),
	EP(tx_ctx_cnt, CTX_CNT),
	EP(rx_ctx_cnt, CTX_CNT),
	EP(auth_key_size, SIZE, .node = 1),
	EP(xpu_ctx, PTR, .node = 10),
};
const struct wf_struct wf_struct_ep_attr = WF_STRUCT(fi_ep_attr, ep_fields);

static const struct wf_field domain_fields[] = {
	DOM(domain, PTR_HEX),
	DOM(name, STR),
	DOM(threading, ENUM, .names = &wf_names_threading),
	DOM(progress, ENUM, .names = &wf_names_progress),
	DOM(resource_mgmt, ENUM, .names = &wf_names_resource_mgmt),
	DOM(av_type, ENUM, .names = &wf_names_av_type),
	DOM(mr_mode, FLAGS32, .names = &wf_flags_mr_mode),
	DOM(mr_key_size, SIZE),
	DOM(cq_data_size, SIZE),
	DOM(cq_cnt, SIZE),
	DOM(ep_cnt, SIZE),
	DOM(tx_ctx_cnt, SIZE),
	DOM(rx_ctx_cnt, SIZE),
	DOM(max_ep_tx_ctx, SIZE),
	DOM(max_ep_rx_ctx, SIZE),
	DOM(max_ep_stx_ctx, SIZE),
	DOM(max_ep_srx_ctx, SIZE),
	DOM(cntr_cnt, SIZE, .node = 1),
	DOM(mr_iov_limit, SIZE, .node = 1),
	DOM(caps, FLAGS, .names = &wf_flags_caps, .node = 1),
	DOM(mode, FLAGS, .names = &wf_flags_mode, .node = 1),
	DOM(auth_key_size, SIZE, .node = 1),
	DOM(max_err_data, SIZE, .node = 1),
	DOM(mr_cnt, SIZE, .node = 1),
	DOM(tclass, HEX32, .node = 3),
	DOM(max_ep_auth_key, SIZE, .node = 7),
	DOM(max_group_id, U32, .node = 8),
	DOM(max_cntr_value, U64, .node = 9),
	DOM(max_err_cntr_value, U64, .node = 9),
	DOM(max_xpu_ctx_cnt, SIZE, .node = 10),
};
const struct wf_struct wf_struct_domain_attr = WF_STRUCT(fi_domain_attr, domain_fields);

static const struct wf_field fabric_fields[] = {
	FABRIC(name, STR),
	FABRIC(prov_name, STR),
	FABRIC(prov_version, VERSION),
	FABRIC(api_version, VERSION, .node = 1),
};
const struct wf_struct wf_struct_fabric_attr = WF_STRUCT(fi_fabric_attr, fabric_fields);
