/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/strings/strings.h"

#include <rdma/fi_domain.h>
#include <rdma/fi_eq.h>

/*
 * Structs that the application allocates. They grew without a symbol version of their
 * own, so a row's node is the first one at which every caller is known to have the
 * member. The xpu_ctx of struct fi_cq_attr and fi_cntr_attr is in no release: nearly
 * every caller's struct ends before it, so it is never read.
 */

#define AV(...)   WF_FIELD(struct fi_av_attr, __VA_ARGS__)
#define CQ(...)   WF_FIELD(struct fi_cq_attr, __VA_ARGS__)
#define MR(...)   WF_FIELD(struct fi_mr_attr, __VA_ARGS__)
#define CNTR(...) WF_FIELD(struct fi_cntr_attr, __VA_ARGS__)
#define ERR(...)  WF_FIELD(struct fi_cq_err_entry, __VA_ARGS__)

static const struct wf_field av_fields[] = {
	AV(type, ENUM, .names = &wf_names_av_type),
	AV(rx_ctx_bits, INT),
	AV(count, SIZE),
	AV(ep_per_node, SIZE),
	AV(name, STR),
	AV(map_addr, PTR),
	AV(flags, FLAGS, .names = &wf_flags_open),
};
const struct wf_struct wf_struct_av_attr = WF_STRUCT(fi_av_attr, av_fields);

static const struct wf_field cq_fields[] = {
	CQ(size, SIZE),
	CQ(flags, FLAGS, .names = &wf_flags_open),
	CQ(format, ENUM, .names = &wf_names_cq_format),
	CQ(wait_obj, ENUM, .names = &wf_names_wait_obj),
	CQ(signaling_vector, INT),
	CQ(wait_cond, ENUM, .names = &wf_names_cq_wait_cond),
	CQ(wait_set, PTR),
};
const struct wf_struct wf_struct_cq_attr = WF_STRUCT(fi_cq_attr, cq_fields);

/* Only the flags of fi_mr_regattr tell whether mr_iov points to a struct fi_mr_dmabuf,
 * so the text has the pointer and not its target. */
static const struct wf_field mr_fields[] = {
	MR(mr_iov, PTR),
	MR(iov_count, SIZE),
	MR(access, FLAGS, .names = &wf_flags_mr_access),
	MR(offset, U64),
	MR(requested_key, U64),
	MR(context, PTR),
	MR(auth_key_size, SIZE, .node = 1),
	MR(auth_key, PTR, .node = 1),
	MR(iface, ENUM, .names = &wf_names_hmem_iface, .node = 3),
	{ .name = "device",
		.kind = WF_FIELD_U64,
		.offset = offsetof(struct fi_mr_attr, device),
		.node = 3 },
	MR(hmem_data, PTR, .node = 7),
	MR(page_size, SIZE, .node = 8),
	MR(base_mr, PTR, .node = 8),
	MR(sub_mr_cnt, SIZE, .node = 8),
};
const struct wf_struct wf_struct_mr_attr = WF_STRUCT(fi_mr_attr, mr_fields);

static const struct wf_field cntr_fields[] = {
	CNTR(events, ENUM, .names = &wf_names_cntr_events),
	CNTR(wait_obj, ENUM, .names = &wf_names_wait_obj),
	CNTR(wait_set, PTR),
	CNTR(flags, FLAGS, .names = &wf_flags_open),
};
const struct wf_struct wf_struct_cntr_attr = WF_STRUCT(fi_cntr_attr, cntr_fields);

static const struct wf_field err_fields[] = {
	ERR(op_context, PTR),
	ERR(flags, FLAGS, .names = &wf_flags_cq_event),
	ERR(len, SIZE),
	ERR(buf, PTR),
	ERR(data, U64),
	ERR(tag, HEX64),
	ERR(olen, SIZE),
	ERR(err, ERRNO),
	ERR(prov_errno, INT),
	ERR(err_data, PTR),
	ERR(err_data_size, SIZE, .node = 1),
	ERR(src_addr, U64, .node = 7),
};
const struct wf_struct wf_struct_cq_err_entry = WF_STRUCT(fi_cq_err_entry, err_fields);
