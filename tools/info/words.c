/* SPDX-License-Identifier: BSD-2-Clause */
#include "words.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <rdma/fabric.h>

/* clang-format off */
#define WORD(name) { #name, (uint64_t)(name) }

static const struct word cap_words[] = {
	WORD(FI_MSG), WORD(FI_RMA), WORD(FI_TAGGED), WORD(FI_ATOMIC), WORD(FI_ATOMICS),
	WORD(FI_MULTICAST), WORD(FI_COLLECTIVE),
	WORD(FI_READ), WORD(FI_WRITE), WORD(FI_RECV), WORD(FI_SEND), WORD(FI_TRANSMIT),
	WORD(FI_REMOTE_READ), WORD(FI_REMOTE_WRITE),
	WORD(FI_MULTI_RECV), WORD(FI_REMOTE_CQ_DATA), WORD(FI_TRIGGER), WORD(FI_FENCE),
	WORD(FI_AV_USER_ID), WORD(FI_FIREWALL_ADDR), WORD(FI_PEER), WORD(FI_XPU),
	WORD(FI_TAGGED_DIRECTED_RECV), WORD(FI_TAGGED_MULTI_RECV), WORD(FI_HMEM),
	WORD(FI_EXACT_DIRECTED_RECV), WORD(FI_RMA_PMEM), WORD(FI_SOURCE_ERR),
	WORD(FI_LOCAL_COMM), WORD(FI_REMOTE_COMM), WORD(FI_SHARED_AV),
	WORD(FI_RMA_EVENT), WORD(FI_SOURCE), WORD(FI_NAMED_RX_CTX),
	WORD(FI_DIRECTED_RECV),
	{ NULL, 0 },
};

/* FI_LOCAL_MR by its value, because using the name draws a deprecation warning. */
static const struct word mode_words[] = {
	WORD(FI_CONTEXT), WORD(FI_MSG_PREFIX), WORD(FI_ASYNC_IOV), WORD(FI_RX_CQ_DATA),
	{ "FI_LOCAL_MR", 1ULL << 55 },
	WORD(FI_CONTEXT2),
	{ NULL, 0 },
};

static const struct word ep_type_words[] = {
	WORD(FI_EP_UNSPEC), WORD(FI_EP_MSG), WORD(FI_EP_DGRAM), WORD(FI_EP_RDM),
	{ NULL, 0 },
};

static const struct word addr_format_words[] = {
	WORD(FI_FORMAT_UNSPEC), WORD(FI_SOCKADDR), WORD(FI_SOCKADDR_IN),
	WORD(FI_SOCKADDR_IN6), WORD(FI_SOCKADDR_IB), WORD(FI_SOCKADDR_IP),
	WORD(FI_ADDR_PSMX), WORD(FI_ADDR_PSMX2), WORD(FI_ADDR_PSMX3),
	WORD(FI_ADDR_GNI), WORD(FI_ADDR_BGQ), WORD(FI_ADDR_MLX), WORD(FI_ADDR_STR),
	WORD(FI_ADDR_IB_UD), WORD(FI_ADDR_EFA), WORD(FI_ADDR_OPX), WORD(FI_ADDR_CXI),
	WORD(FI_ADDR_UCX),
	{ NULL, 0 },
};
/* clang-format on */

const struct vocabulary word_caps = { "capability", cap_words };
const struct vocabulary word_modes = { "mode", mode_words };
const struct vocabulary word_ep_types = { "endpoint type", ep_type_words };
const struct vocabulary word_addr_formats = { "address format", addr_format_words };

static int words_lookup(
	const struct vocabulary *v, const char *text, size_t len, uint64_t *ret_value)
{
	const struct word *w;

	for (w = v->words; w->name; w++) {
		if (strlen(w->name) == len && !strncasecmp(w->name, text, len)) {
			*ret_value = w->value;
			return 0;
		}
	}
	fprintf(stderr, "error: Unrecognized %s: %.*s\n", v->kind, (int)len, text);
	return -EINVAL;
}

int word_value(const struct vocabulary *v, const char *text, uint64_t *ret_value)
{
	return words_lookup(v, text, strlen(text), ret_value);
}

int word_flags(const struct vocabulary *v, const char *text, uint64_t *flags)
{
	while (*text) {
		size_t len = strcspn(text, "|");
		uint64_t value;
		int ret;

		if (len) {
			ret = words_lookup(v, text, len, &value);
			if (ret)
				return ret;
			*flags |= value;
		}
		text += len;
		text += *text == '|';
	}
	return 0;
}
