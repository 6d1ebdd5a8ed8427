/* SPDX-License-Identifier: BSD-2-Clause */
/* Endpoint, transmit and receive attributes in hints. */
#include "suites.h"

static int ask(const struct fi_info *hints, struct fi_info **info)
{
	*info = NULL;
	return cf_getinfo(cf_target.version, hints, info);
}

static struct fi_info *offer(void)
{
	struct fi_info *hints = cf_hints(), *info;

	CHECK_OK(ask(hints, &info));
	fi_freeinfo(hints);
	return info;
}

static void type_matches_exactly(void)
{
	static const enum fi_ep_type types[] = { FI_EP_MSG, FI_EP_DGRAM, FI_EP_RDM };
	struct fi_info *hints = cf_hints(), *info;

	hints->ep_attr->type = FI_EP_UNSPEC;
	CHECK_OK(ask(hints, &info));
	fi_freeinfo(info);
	for (size_t i = 0; i < CF_COUNT(types); i++) {
		hints->ep_attr->type = types[i];
		if (ask(hints, &info) && types[i] == cf_target.type)
			cf_fail(__FILE__, __LINE__, "the target's type is refused");
		for (struct fi_info *cur = info; cur; cur = cur->next)
			CHECK_EQ(cur->ep_attr->type, types[i]);
		fi_freeinfo(info);
	}
	hints->ep_attr->type = 4; /* once FI_EP_SOCK_STREAM */
	CHECK_EQ(ask(hints, &info), -FI_ENODATA);
	fi_freeinfo(hints);
}

static void protocol_matches_exactly(void)
{
	struct fi_info *hints = cf_hints(), *info, *have = offer();

	hints->ep_attr->protocol = have->ep_attr->protocol;
	hints->ep_attr->protocol_version = have->ep_attr->protocol_version;
	CHECK_OK(ask(hints, &info));
	CHECK_EQ(info->ep_attr->protocol, have->ep_attr->protocol);
	fi_freeinfo(info);
	hints->ep_attr->protocol_version++;
	CHECK_EQ(ask(hints, &info), -FI_ENODATA);
	hints->ep_attr->protocol_version--;
	hints->ep_attr->protocol = FI_PROTO_GNI;
	CHECK_EQ(ask(hints, &info), -FI_ENODATA);
	fi_freeinfo(have);
	fi_freeinfo(hints);
}

static void smaller_message_size_gets_the_real_one(void)
{
	struct fi_info *hints = cf_hints(), *info, *have = offer();

	hints->ep_attr->max_msg_size = 1;
	CHECK_OK(ask(hints, &info));
	CHECK_EQ(info->ep_attr->max_msg_size, have->ep_attr->max_msg_size);
	fi_freeinfo(info);
	fi_freeinfo(have);
	fi_freeinfo(hints);
}

/* ---- limits: what is offered is granted as asked, one more is refused ---- */

#define LIMIT(attr, field, more)                                                       \
	{                                                                              \
#attr "." #field, offsetof(struct fi_info, attr),                      \
			offsetof(__typeof__(*((struct fi_info *)0)->attr), field),     \
			more                                                           \
	}

static const struct {
	const char *field;
	size_t attr;   /* of the pointer in struct fi_info */
	size_t member; /* of the size_t there */
	bool more;     /* More may be had on request than is offered without hints. */
} limits[] = {
	LIMIT(ep_attr, max_msg_size, false),
	LIMIT(tx_attr, inject_size, false),
	LIMIT(tx_attr, size, true),
	LIMIT(tx_attr, iov_limit, false),
	LIMIT(tx_attr, rma_iov_limit, false),
	LIMIT(rx_attr, size, true),
	LIMIT(rx_attr, iov_limit, false),
};

static size_t *limit_of(struct fi_info *info, size_t row)
{
	char *attr = *(char **)((char *)info + limits[row].attr);

	return (size_t *)(attr + limits[row].member);
}

/* Ask for @value of the limit. */
static int ask_limit(size_t row, size_t value)
{
	struct fi_info *hints = cf_hints(), *info;
	int ret;

	*limit_of(hints, row) = value;
	ret = ask(hints, &info);
	if (!ret) {
		CHECK_EQ(*limit_of(info, row), value);
		fi_freeinfo(info);
	}
	fi_freeinfo(hints);
	return ret;
}

static void limits_are_granted_and_kept(void)
{
	struct fi_info *have = offer();

	for (size_t i = 0; i < CF_COUNT(limits); i++) {
		size_t most = *limit_of(have, i);
		int ret;

		if (most == SIZE_MAX)
			continue;
		CHECK_OK(ask_limit(i, most));
		ret = ask_limit(i, most + 1);
		if (!ret && limits[i].more)
			ret = ask_limit(i, SIZE_MAX);
		if (ret != -FI_ENODATA)
			cf_fail(__FILE__, __LINE__, "%s above %zu: %d", limits[i].field,
				most, ret);
	}
	fi_freeinfo(have);
}

static void asked_limits_are_returned(void)
{
	struct fi_info *hints = cf_hints(), *info;

	hints->tx_attr->inject_size = 1;
	hints->tx_attr->size = 2;
	hints->tx_attr->iov_limit = 1;
	hints->rx_attr->size = 3;
	hints->rx_attr->iov_limit = 1;
	CHECK_OK(ask(hints, &info));
	CHECK_EQ(info->tx_attr->inject_size, 1);
	CHECK_EQ(info->tx_attr->size, 2);
	CHECK_EQ(info->tx_attr->iov_limit, 1);
	CHECK_EQ(info->rx_attr->size, 3);
	CHECK_EQ(info->rx_attr->iov_limit, 1);
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

static void context_counts(void)
{
	struct fi_info *hints = cf_hints(), *info, *have = offer();

	CHECK_EQ(have->ep_attr->tx_ctx_cnt, 1);
	CHECK_EQ(have->ep_attr->rx_ctx_cnt, 1);
	hints->ep_attr->tx_ctx_cnt = 1;
	hints->ep_attr->rx_ctx_cnt = 1;
	CHECK_OK(ask(hints, &info));
	fi_freeinfo(info);
	hints->ep_attr->tx_ctx_cnt = have->domain_attr->max_ep_tx_ctx + 1;
	CHECK_EQ(ask(hints, &info), -FI_ENODATA);
	hints->ep_attr->tx_ctx_cnt = 0;
	hints->ep_attr->rx_ctx_cnt = have->domain_attr->max_ep_rx_ctx + 1;
	CHECK_EQ(ask(hints, &info), -FI_ENODATA);
	if (!have->domain_attr->max_ep_stx_ctx) {
		hints->ep_attr->rx_ctx_cnt = 0;
		hints->ep_attr->tx_ctx_cnt = FI_SHARED_CONTEXT;
		CHECK_EQ(ask(hints, &info), -FI_ENODATA);
	}
	if (!have->domain_attr->max_ep_srx_ctx) {
		hints->ep_attr->tx_ctx_cnt = 0;
		hints->ep_attr->rx_ctx_cnt = FI_SHARED_CONTEXT;
		CHECK_EQ(ask(hints, &info), -FI_ENODATA);
	}
	fi_freeinfo(have);
	fi_freeinfo(hints);
}

static void op_flags_are_echoed_or_refused(void)
{
	struct fi_info *hints = cf_hints(), *info;

	hints->tx_attr->op_flags = FI_COMPLETION;
	hints->rx_attr->op_flags = FI_COMPLETION;
	CHECK_OK(ask(hints, &info));
	CHECK_EQ(info->tx_attr->op_flags, FI_COMPLETION);
	CHECK_EQ(info->rx_attr->op_flags, FI_COMPLETION);
	fi_freeinfo(info);
	hints->tx_attr->op_flags = FI_COMMIT_COMPLETE;
	CHECK_EQ(ask(hints, &info), -FI_ENODATA);
	hints->tx_attr->op_flags = 0;
	hints->rx_attr->op_flags = FI_COMMIT_COMPLETE;
	CHECK_EQ(ask(hints, &info), -FI_ENODATA);
	fi_freeinfo(hints);
}

static void message_order_is_a_subset(void)
{
	struct fi_info *hints = cf_hints(), *info, *have = offer();
	uint64_t order = have->tx_attr->msg_order;

	hints->tx_attr->msg_order = order;
	hints->rx_attr->msg_order = have->rx_attr->msg_order;
	CHECK_OK(ask(hints, &info));
	CHECK_EQ(info->tx_attr->msg_order & order, order);
	fi_freeinfo(info);
	hints->tx_attr->msg_order = 1ULL << 60;
	CHECK_EQ(ask(hints, &info), -FI_ENODATA);
	fi_freeinfo(have);
	fi_freeinfo(hints);
}

/* Gone in 2.0. Before it, a provider's own offer could be asked for. */
static void completion_order_depends_on_the_version(void)
{
	struct fi_info *hints = cf_hints(), *info, *again;

	CHECK_OK(cf_getinfo(FI_VERSION(1, 17), hints, &info));
	hints->tx_attr->comp_order = info->tx_attr->comp_order;
	hints->rx_attr->comp_order = info->rx_attr->comp_order;
	CHECK_OK(cf_getinfo(FI_VERSION(1, 17), hints, &again));
	fi_freeinfo(again);
	fi_freeinfo(info);
	NEED_API(2, 0);
	hints->rx_attr->comp_order = 0;
	hints->tx_attr->comp_order = FI_ORDER_RAR;
	CHECK_EQ(ask(hints, &info), -FI_ENODATA);
	hints->tx_attr->comp_order = 0;
	hints->rx_attr->comp_order = FI_ORDER_RAR;
	CHECK_EQ(ask(hints, &info), -FI_ENODATA);
	hints->rx_attr->comp_order = 0;
	hints->rx_attr->total_buffered_recv = 1;
	CHECK_EQ(ask(hints, &info), -FI_ENODATA);
	fi_freeinfo(hints);
}

static void traffic_classes(void)
{
	CHECK_EQ(fi_tc_dscp_set(46), 46 | 0x100);
	CHECK_EQ(fi_tc_dscp_get(fi_tc_dscp_set(46)), 46);
	CHECK_EQ(fi_tc_dscp_get(FI_TC_LOW_LATENCY), 0);
	CHECK_EQ(FI_TC_BEST_EFFORT, 0x200);
}

static void endpoint_key_must_fit(void)
{
	struct fi_info *hints = cf_hints(), *info, *have = offer();

	NEED_API(1, 5);
	hints->ep_attr->auth_key_size = have->ep_attr->auth_key_size + 3;
	hints->ep_attr->auth_key = calloc(1, hints->ep_attr->auth_key_size);
	CHECK(hints->ep_attr->auth_key);
	CHECK_EQ(ask(hints, &info), -FI_ENODATA);
	fi_freeinfo(have);
	fi_freeinfo(hints);
}

CF_SUITE(ep_attr, CF_CASE(type_matches_exactly, "EPA-001 EPA-038", 0),
	CF_CASE(protocol_matches_exactly, "EPA-002 EPA-003", 0),
	CF_CASE(smaller_message_size_gets_the_real_one, "EPA-004", 0),
	CF_CASE(limits_are_granted_and_kept, "EPA-004 EPA-025", 0),
	CF_CASE(asked_limits_are_returned, "EPA-025", 0),
	CF_CASE(context_counts, "EPA-005 EPA-006 EPA-007", 0),
	CF_CASE(op_flags_are_echoed_or_refused, "EPA-020", 0),
	CF_CASE(message_order_is_a_subset, "EPA-021 EPA-022", 0),
	CF_CASE(completion_order_depends_on_the_version, "EPA-023 EPA-024", 0),
	CF_CASE(traffic_classes, "EPA-036 EPA-037", 0),
	CF_CASE(endpoint_key_must_fit, "EPA-016", 0));
