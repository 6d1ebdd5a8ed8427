/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/strings/strings.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <string.h>
#include <rdma/fi_errno.h>

#define NEWEST_NODE 10

static atomic_uint oldest_node = NEWEST_NODE;

void wf_abi_seen(unsigned int node)
{
	unsigned int oldest = atomic_load_explicit(&oldest_node, memory_order_relaxed);

	/* relaxed: no other data is published with the number. */
	while (node < oldest) {
		if (atomic_compare_exchange_weak_explicit(&oldest_node, &oldest, node,
			    memory_order_relaxed, memory_order_relaxed))
			return;
	}
}

bool wf_abi_knows(unsigned int node)
{
	return node <= atomic_load_explicit(&oldest_node, memory_order_relaxed);
}

void wf_indent(struct wf_strbuf *sb, unsigned int level)
{
	wf_strbuf_printf(sb, "%*s", (int)(level * 4), "");
}

/* Copies the member, because @where may be unaligned. */
#define READ(type) (*(type *)memcpy(&(type){ 0 }, where, sizeof(type)))

static void struct_print_number(
	struct wf_strbuf *sb, enum wf_field_kind kind, const void *where)
{
	switch (kind) {
	case WF_FIELD_U8:
		wf_strbuf_printf(sb, "%u", READ(uint8_t));
		break;
	case WF_FIELD_U16:
		wf_strbuf_printf(sb, "%u", READ(uint16_t));
		break;
	case WF_FIELD_U32:
		wf_strbuf_printf(sb, "%" PRIu32, READ(uint32_t));
		break;
	case WF_FIELD_INT:
		wf_strbuf_printf(sb, "%d", READ(int));
		break;
	case WF_FIELD_U64:
		wf_strbuf_printf(sb, "%" PRIu64, READ(uint64_t));
		break;
	case WF_FIELD_CTX_CNT:
		if (READ(size_t) == FI_SHARED_CONTEXT) {
			wf_strbuf_printf(sb, "FI_SHARED_CONTEXT");
			break;
		}
		/* fallthrough */
	case WF_FIELD_SIZE:
		wf_strbuf_printf(sb, "%zu", READ(size_t));
		break;
	case WF_FIELD_HEX32:
		wf_strbuf_printf(sb, "0x%" PRIx32, READ(uint32_t));
		break;
	case WF_FIELD_HEX64:
		wf_strbuf_printf(sb, "0x%016" PRIx64, READ(uint64_t));
		break;
	default:
		break;
	}
}

static void struct_print_text(
	struct wf_strbuf *sb, const struct wf_field *field, const void *where)
{
	const char *text;
	uint32_t u32;

	switch (field->kind) {
	case WF_FIELD_PTR:
		wf_strbuf_printf(sb, "%p", READ(void *));
		break;
	case WF_FIELD_PTR_HEX:
		wf_strbuf_printf(sb, "0x%" PRIxPTR, READ(uintptr_t));
		break;
	case WF_FIELD_STR:
		text = READ(const char *);
		wf_strbuf_printf(sb, "%s", text ? text : "(null)");
		break;
	case WF_FIELD_VERSION:
		u32 = READ(uint32_t);
		wf_strbuf_printf(
			sb, "%" PRIu32 ".%" PRIu32, FI_MAJOR(u32), FI_MINOR(u32));
		break;
	case WF_FIELD_ENUM:
		wf_strbuf_printf(sb, "%s", wf_enum_name(field->names, READ(uint32_t)));
		break;
	case WF_FIELD_FLAGS:
	case WF_FIELD_FLAGS32:
		wf_strbuf_printf(sb, "[ ");
		wf_flags_print(sb, field->names,
			field->kind == WF_FIELD_FLAGS ? READ(uint64_t)
						      : READ(uint32_t));
		wf_strbuf_printf(sb, " ]");
		break;
	case WF_FIELD_ERRNO:
		wf_strbuf_printf(sb, "%d (%s)", READ(int), fi_strerror(READ(int)));
		break;
	default:
		struct_print_number(sb, field->kind, where);
		break;
	}
}

void wf_struct_print(struct wf_strbuf *sb, const struct wf_struct *desc,
	const void *data, unsigned int level)
{
	const struct wf_field *field;
	size_t i;

	wf_indent(sb, level);
	if (!data) {
		wf_strbuf_printf(sb, "%s: (null)\n", desc->name);
		return;
	}
	wf_strbuf_printf(sb, "%s:\n", desc->name);
	for (i = 0; i < desc->count; i++) {
		field = &desc->fields[i];
		if (!wf_abi_knows(field->node))
			continue;
		wf_indent(sb, level + 1);
		wf_strbuf_printf(sb, "%s: ", field->name);
		struct_print_text(sb, field, (const char *)data + field->offset);
		wf_strbuf_printf(sb, "\n");
	}
}
