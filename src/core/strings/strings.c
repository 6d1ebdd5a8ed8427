/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/strings/strings.h"

#include "config.h"

/*
 * fi_tostr returns a text in memory of the calling thread, which the thread's next call
 * overwrites. The longest text, an fi_info with every flag set and a NIC, needs about
 * 7 KiB.
 */
#define TOSTR_SIZE 8192

/* The data of each type for fi_tostr: a flag word, an enum, a struct of one of the
 * tables, or a type with its own printer. */
static const struct wf_names *const enum_types[] = {
	[FI_TYPE_EP_TYPE] = &wf_names_ep_type,
	[FI_TYPE_ADDR_FORMAT] = &wf_names_addr_format,
	[FI_TYPE_THREADING] = &wf_names_threading,
	[FI_TYPE_PROGRESS] = &wf_names_progress,
	[FI_TYPE_PROTOCOL] = &wf_names_protocol,
	[FI_TYPE_AV_TYPE] = &wf_names_av_type,
	[FI_TYPE_ATOMIC_TYPE] = &wf_names_datatype,
	[FI_TYPE_ATOMIC_OP] = &wf_names_atomic_op,
	[FI_TYPE_EQ_EVENT] = &wf_names_eq_event,
	[FI_TYPE_OP_TYPE] = &wf_names_op_type,
	[FI_TYPE_COLLECTIVE_OP] = &wf_names_collective_op,
	[FI_TYPE_HMEM_IFACE] = &wf_names_hmem_iface,
	[FI_TYPE_CQ_FORMAT] = &wf_names_cq_format,
	[FI_TYPE_LOG_LEVEL] = &wf_names_log_level,
	[FI_TYPE_LOG_SUBSYS] = &wf_names_log_subsys,
	[FI_TYPE_CQ_WAIT_COND] = &wf_names_cq_wait_cond,
	[FI_TYPE_WAIT_OBJ] = &wf_names_wait_obj,
};

static const struct wf_names *const flag_types[] = {
	[FI_TYPE_CAPS] = &wf_flags_caps,
	[FI_TYPE_OP_FLAGS] = &wf_flags_op,
	[FI_TYPE_MSG_ORDER] = &wf_flags_msg_order,
	[FI_TYPE_MODE] = &wf_flags_mode,
	[FI_TYPE_CQ_EVENT_FLAGS] = &wf_flags_cq_event,
};

static const struct wf_struct *const struct_types[] = {
	[FI_TYPE_TX_ATTR] = &wf_struct_tx_attr,
	[FI_TYPE_RX_ATTR] = &wf_struct_rx_attr,
	[FI_TYPE_EP_ATTR] = &wf_struct_ep_attr,
	[FI_TYPE_DOMAIN_ATTR] = &wf_struct_domain_attr,
	[FI_TYPE_FABRIC_ATTR] = &wf_struct_fabric_attr,
	[FI_TYPE_AV_ATTR] = &wf_struct_av_attr,
	[FI_TYPE_CQ_ATTR] = &wf_struct_cq_attr,
	[FI_TYPE_MR_ATTR] = &wf_struct_mr_attr,
	[FI_TYPE_CNTR_ATTR] = &wf_struct_cntr_attr,
	[FI_TYPE_CQ_ERR_ENTRY] = &wf_struct_cq_err_entry,
};

#define ROW(table, type) ((size_t)(type) < WF_ARRAY_SIZE(table) ? (table)[type] : NULL)

static void strings_print(struct wf_strbuf *sb, const void *data, enum fi_type datatype)
{
	switch (datatype) {
	case FI_TYPE_INFO:
		wf_info_print(sb, data);
		return;
	case FI_TYPE_FID:
		wf_fid_print(sb, data);
		return;
	case FI_TYPE_VERSION:
		wf_strbuf_printf(sb, "%s", WF_PACKAGE_VERSION);
		return;
	case FI_TYPE_MR_MODE: /* an int, unlike all other flags */
		wf_flags_print(sb, &wf_flags_mr_mode, *(const uint32_t *)data);
		return;
	default:
		break;
	}
	if (ROW(enum_types, datatype))
		wf_strbuf_printf(sb, "%s",
			wf_enum_name(enum_types[datatype], *(const uint32_t *)data));
	else if (ROW(flag_types, datatype))
		wf_flags_print(sb, flag_types[datatype], *(const uint64_t *)data);
	else if (ROW(struct_types, datatype))
		wf_struct_print(sb, struct_types[datatype], data, 0);
	else
		wf_strbuf_printf(sb, "Unknown type");
}

WF_EXPORT char *fi_tostr_r(
	char *buf, size_t len, const void *data, enum fi_type datatype)
{
	struct wf_strbuf sb;

	if (!buf || !len)
		return NULL;
	wf_strbuf_init(&sb, buf, len);
	if (!data)
		return NULL;
	strings_print(&sb, data, datatype);
	return buf;
}

WF_EXPORT char *fi_tostr(const void *data, enum fi_type datatype)
{
	static _Thread_local char text[TOSTR_SIZE];

	/* The text of the previous call stays valid. */
	if (!data)
		return NULL;
	return fi_tostr_r(text, sizeof(text), data, datatype);
}
