/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_CORE_STRINGS_STRINGS_H
#define WF_CORE_STRINGS_STRINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <rdma/fabric.h>

#include "core/strings/strbuf.h"
#include "sys/compiler.h"

/* The parts of fi_tostr(3): tables of names, tables of struct members, and printers for
 * types that no table describes. */

struct wf_name {
	uint64_t value;
	const char *name;
};

/* The constant's own spelling is its text. */
#define WF_NAME(x)                                                                     \
	{                                                                              \
		(uint64_t)(x), #x                                                      \
	}

/* The names of the constants of an enumeration, or of the bits of a flag word. */
struct wf_names {
	const struct wf_name *rows;
	size_t count;
	bool provider_range; /* values with the top bit belong to providers */
};

/* Define the table @id from its rows in braces. */
#define WF_NAMES(id, provider_range, ...)                                              \
	static const struct wf_name id##_rows[] = __VA_ARGS__;                         \
	const struct wf_names id = { id##_rows, WF_ARRAY_SIZE(id##_rows),              \
		provider_range }

extern const struct wf_names wf_names_ep_type, wf_names_addr_format, wf_names_threading,
	wf_names_progress, wf_names_protocol, wf_names_av_type, wf_names_resource_mgmt,
	wf_names_datatype, wf_names_atomic_op, wf_names_eq_event, wf_names_op_type,
	wf_names_collective_op, wf_names_hmem_iface, wf_names_cq_format,
	wf_names_cq_wait_cond, wf_names_wait_obj, wf_names_cntr_events,
	wf_names_log_level, wf_names_log_subsys, wf_names_bus_type, wf_names_link_state;

extern const struct wf_names wf_flags_caps, wf_flags_op, wf_flags_mode,
	wf_flags_msg_order, wf_flags_mr_mode, wf_flags_cq_event, wf_flags_mr_access,
	wf_flags_open;

/* "Unknown" when @value has no name. */
const char *wf_enum_name(const struct wf_names *names, uint32_t value);
/* Names of the set bits in table order, joined by ", "; unnamed bits are left out. */
void wf_flags_print(struct wf_strbuf *sb, const struct wf_names *names, uint64_t flags);

enum wf_field_kind {
	WF_FIELD_U8,
	WF_FIELD_U16,
	WF_FIELD_U32,
	WF_FIELD_INT,
	WF_FIELD_U64,
	WF_FIELD_SIZE,
	WF_FIELD_CTX_CNT, /* size_t that may be FI_SHARED_CONTEXT */
	WF_FIELD_HEX32,
	WF_FIELD_HEX64,   /* 0x and 16 digits */
	WF_FIELD_PTR,     /* (nil) when NULL */
	WF_FIELD_PTR_HEX, /* 0x0 when NULL */
	WF_FIELD_STR,
	WF_FIELD_VERSION,
	WF_FIELD_ENUM,
	WF_FIELD_FLAGS,
	WF_FIELD_FLAGS32,
	WF_FIELD_ERRNO,
};

struct wf_field {
	const char *name;
	enum wf_field_kind kind;
	unsigned int offset; /* of the member in the struct, in bytes */
	unsigned int
		node; /* 3: callers of a version before FABRIC_1.3 lack the member */
	const struct wf_names *names;
};

#define WF_FIELD(type, member, field_kind, ...)                                        \
	{                                                                              \
		.name = #member, .kind = WF_FIELD_##field_kind,                        \
		.offset = offsetof(type, member), ##__VA_ARGS__                        \
	}

struct wf_struct {
	const char *name;
	const struct wf_field *fields;
	size_t count;
};

#define WF_STRUCT(struct_name, rows)                                                   \
	{                                                                              \
		.name = #struct_name, .fields = rows, .count = WF_ARRAY_SIZE(rows)     \
	}

extern const struct wf_struct wf_struct_tx_attr, wf_struct_rx_attr, wf_struct_ep_attr,
	wf_struct_domain_attr, wf_struct_fabric_attr, wf_struct_av_attr,
	wf_struct_cq_attr, wf_struct_mr_attr, wf_struct_cntr_attr,
	wf_struct_cq_err_entry;

/* "name:" and one line per member, four spaces deeper each @level. */
void wf_struct_print(struct wf_strbuf *sb, const struct wf_struct *desc,
	const void *data, unsigned int level);
void wf_indent(struct wf_strbuf *sb, unsigned int level);

/* Do the structs of all callers up to now have the members that FABRIC_1.@node added?
 * See wf_abi_seen. */
bool wf_abi_knows(unsigned int node);

void wf_info_print(struct wf_strbuf *sb, const struct fi_info *info);
void wf_fid_print(struct wf_strbuf *sb, const struct fid *fid);
void wf_nic_print(struct wf_strbuf *sb, const struct fid_nic *nic, unsigned int level);
void wf_addr_print(
	struct wf_strbuf *sb, uint32_t addr_format, const void *addr, size_t len);

/*
 * A struct that the application made may be as short as in the headers that it was
 * built with, and fi_tostr gets neither size nor version. Symbol versions help: a
 * program with old structs is linked with the old fi_getinfo, fi_dupinfo or
 * fi_freeinfo. Those functions call wf_abi_seen with their version (3 for FABRIC_1.3),
 * and from then on fi_tostr reads no member that is newer than the oldest version seen.
 */
void wf_abi_seen(unsigned int node);

#endif
