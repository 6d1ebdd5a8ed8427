/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/strings/strings.h"

#include <string.h>

/* Tables for the members before and after the addresses, which need their format and
 * length and so are printed by code. */
#define INFO(...) WF_FIELD(struct fi_info, __VA_ARGS__)

static const struct wf_field head_fields[] = {
	INFO(caps, FLAGS, .names = &wf_flags_caps),
	INFO(mode, FLAGS, .names = &wf_flags_mode),
	INFO(addr_format, ENUM, .names = &wf_names_addr_format),
	INFO(src_addrlen, SIZE),
	INFO(dest_addrlen, SIZE),
};
static const struct wf_struct head = WF_STRUCT(fi_info, head_fields);

/* Print a fid by its own tostr call. False: the object has none, or it refuses, as
 * objects of this library do. */
static bool info_fid_own_text(struct wf_strbuf *sb, const struct fid *fid)
{
	size_t capacity = sb->size - sb->len;
	char *end = sb->buf + sb->len;

	if (!FI_CHECK_OP(fid->ops, struct fi_ops, tostr))
		return false;
	if (fid->ops->tostr(fid, end, capacity) < 0) {
		*end = '\0';
		return false;
	}
	/* A provider's tostr may leave out the terminator. */
	sb->buf[sb->size - 1] = '\0';
	sb->len += strlen(end);
	return true;
}

void wf_fid_print(struct wf_strbuf *sb, const struct fid *fid)
{
	if (info_fid_own_text(sb, fid))
		return;
	if (fid->fclass == FI_CLASS_NIC)
		wf_nic_print(sb, wf_container_of(fid, const struct fid_nic, fid), 0);
	else
		wf_strbuf_printf(sb, "fid: %p\n", (const void *)fid);
}

static void info_print_nic(struct wf_strbuf *sb, const struct fi_info *info)
{
	if (!wf_abi_knows(2))
		return;
	if (!info->nic)
		wf_strbuf_printf(sb, "    nic: %p\n", (void *)NULL);
	else if (!info_fid_own_text(sb, &info->nic->fid))
		wf_nic_print(sb, info->nic, 1);
}

void wf_info_print(struct wf_strbuf *sb, const struct fi_info *info)
{
	wf_struct_print(sb, &head, info, 0);
	wf_strbuf_printf(sb, "    src_addr: ");
	wf_addr_print(sb, info->addr_format, info->src_addr, info->src_addrlen);
	wf_strbuf_printf(sb, "\n    dest_addr: ");
	wf_addr_print(sb, info->addr_format, info->dest_addr, info->dest_addrlen);
	wf_strbuf_printf(sb, "\n    handle: %p\n", (void *)info->handle);
	wf_struct_print(sb, &wf_struct_tx_attr, info->tx_attr, 1);
	wf_struct_print(sb, &wf_struct_rx_attr, info->rx_attr, 1);
	wf_struct_print(sb, &wf_struct_ep_attr, info->ep_attr, 1);
	wf_struct_print(sb, &wf_struct_domain_attr, info->domain_attr, 1);
	wf_struct_print(sb, &wf_struct_fabric_attr, info->fabric_attr, 1);
	info_print_nic(sb, info);
}
