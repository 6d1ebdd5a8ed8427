/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/strings/strings.h"

#include <rdma/fi_domain.h>

#define FLAGS(id, ...) WF_NAMES(wf_flags_##id, false, __VA_ARGS__)
#define N              WF_NAME

/* Texts list flags in the order of the rows, and scripts compare texts: add new names
 * at the end. */
/* clang-format off */
FLAGS(caps, {
	N(FI_MSG), N(FI_RMA), N(FI_TAGGED), N(FI_ATOMIC), N(FI_MULTICAST),
	N(FI_COLLECTIVE), N(FI_READ), N(FI_WRITE), N(FI_RECV), N(FI_SEND),
	N(FI_REMOTE_READ), N(FI_REMOTE_WRITE), N(FI_MULTI_RECV), N(FI_REMOTE_CQ_DATA),
	N(FI_TRIGGER), N(FI_FENCE), N(FI_RMA_PMEM), N(FI_SOURCE_ERR),
	N(FI_LOCAL_COMM), N(FI_REMOTE_COMM), N(FI_SHARED_AV), N(FI_RMA_EVENT),
	N(FI_SOURCE), N(FI_NAMED_RX_CTX), N(FI_DIRECTED_RECV), N(FI_HMEM),
	N(FI_AV_USER_ID), N(FI_PEER), N(FI_XPU), N(FI_TAGGED_DIRECTED_RECV),
	N(FI_TAGGED_MULTI_RECV), N(FI_EXACT_DIRECTED_RECV),
});

FLAGS(op, {
	N(FI_MULTICAST), N(FI_MULTI_RECV), N(FI_REMOTE_CQ_DATA), N(FI_MORE),
	N(FI_PEEK), N(FI_TRIGGER), N(FI_FENCE), N(FI_COMPLETION), N(FI_INJECT),
	N(FI_INJECT_COMPLETE), N(FI_TRANSMIT_COMPLETE), N(FI_DELIVERY_COMPLETE),
	N(FI_MATCH_COMPLETE), N(FI_AFFINITY), N(FI_CLAIM), N(FI_DISCARD),
	N(FI_COMMIT_COMPLETE), N(FI_PEER_TRANSFER), N(FI_AUTH_KEY),
});

FLAGS(mode, {
	N(FI_CONTEXT), N(FI_MSG_PREFIX), N(FI_ASYNC_IOV), N(FI_RX_CQ_DATA),
	/* By value, because using the name FI_LOCAL_MR draws a deprecation warning. */
	{ 1ull << 55, "FI_LOCAL_MR" }, N(FI_CONTEXT2),
});

FLAGS(msg_order, {
	N(FI_ORDER_RAR), N(FI_ORDER_RAW), N(FI_ORDER_RAS), N(FI_ORDER_WAR),
	N(FI_ORDER_WAW), N(FI_ORDER_WAS), N(FI_ORDER_SAR), N(FI_ORDER_SAW),
	N(FI_ORDER_SAS), N(FI_ORDER_RMA_RAR), N(FI_ORDER_RMA_RAW),
	N(FI_ORDER_RMA_WAR), N(FI_ORDER_RMA_WAW), N(FI_ORDER_ATOMIC_RAR),
	N(FI_ORDER_ATOMIC_RAW), N(FI_ORDER_ATOMIC_WAR), N(FI_ORDER_ATOMIC_WAW),
});

FLAGS(mr_mode, {
	/* By value, as above. */
	{ 1, "FI_MR_BASIC" }, { 2, "FI_MR_SCALABLE" },
	N(FI_MR_LOCAL), N(FI_MR_RAW), N(FI_MR_VIRT_ADDR), N(FI_MR_ALLOCATED),
	N(FI_MR_PROV_KEY), N(FI_MR_MMU_NOTIFY), N(FI_MR_RMA_EVENT), N(FI_MR_ENDPOINT),
	N(FI_MR_HMEM), N(FI_MR_COLLECTIVE), N(FI_MR_XPU_DESC),
});

FLAGS(cq_event, {
	N(FI_SEND), N(FI_RECV), N(FI_RMA), N(FI_ATOMIC), N(FI_MSG), N(FI_TAGGED),
	N(FI_READ), N(FI_WRITE), N(FI_REMOTE_READ), N(FI_REMOTE_WRITE),
	N(FI_REMOTE_CQ_DATA), N(FI_MULTI_RECV), N(FI_MORE), N(FI_CLAIM),
	N(FI_COLLECTIVE), N(FI_MULTICAST),
});

FLAGS(mr_access, {
	N(FI_SEND), N(FI_RECV), N(FI_READ), N(FI_WRITE), N(FI_REMOTE_READ),
	N(FI_REMOTE_WRITE), N(FI_COLLECTIVE),
});

/* The flags of the attributes of AVs, CQs and counters. */
FLAGS(open, {
	N(FI_EVENT), N(FI_READ), N(FI_SYMMETRIC), N(FI_AFFINITY), N(FI_AV_USER_ID),
	N(FI_PEER), N(FI_XPU),
});
/* clang-format on */

void wf_flags_print(struct wf_strbuf *sb, const struct wf_names *names, uint64_t flags)
{
	const char *separator = "";
	size_t i;

	for (i = 0; i < names->count; i++) {
		if (!(flags & names->rows[i].value))
			continue;
		wf_strbuf_printf(sb, "%s%s", separator, names->rows[i].name);
		separator = ", ";
	}
}
