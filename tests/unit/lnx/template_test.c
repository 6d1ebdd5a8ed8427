/* SPDX-License-Identifier: BSD-2-Clause */
#include "nothing_below.h"

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/providers/fi_prov.h>

#include "providers/lnx/links.h"
#include "providers/lnx/param.h"
#include "sys/compiler.h"

/* The template of a link, from the attributes of its members. */

enum { MEMBERS = 3 };

static struct lnx_link members;

static int open_members(void **state)
{
	memset(&members, 0, sizeof(members));
	members.count = members.rails = MEMBERS;
	lnx_params.per_msg = false;
	for (int i = 0; i < MEMBERS; i++) {
		struct fi_info *info = fi_allocinfo();

		assert_non_null(info);
		info->domain_attr->threading = FI_THREAD_SAFE;
		info->domain_attr->resource_mgmt = FI_RM_ENABLED;
		members.member[i].info = info;
	}
	return 0;
}

static int close_members(void **state)
{
	for (int i = 0; i < MEMBERS; i++)
		fi_freeinfo(members.member[i].info);
	return 0;
}

/* ---- sizes and counts ---- */

#define SIZE(attr, name)                                                               \
	{                                                                              \
#name, offsetof(struct fi_info, attr),                                 \
			offsetof(typeof(*((struct fi_info *)0)->attr), name), false, 0 \
	}
/* A count, of which 0 states nothing. */
#define COUNT(name)                                                                    \
	{                                                                              \
#name, offsetof(struct fi_info, domain_attr),                          \
			offsetof(struct fi_domain_attr, name), true, 0                 \
	}
/* A number of buffers, which is at most 8. */
#define PIECES(attr, name)                                                             \
	{                                                                              \
#name, offsetof(struct fi_info, attr),                                 \
			offsetof(typeof(*((struct fi_info *)0)->attr), name), false, 8 \
	}

static const struct {
	const char *name;
	size_t attr, at;
	bool is_count;
	size_t max;
} fields[] = {
	SIZE(tx_attr, inject_size),
	SIZE(tx_attr, size),
	PIECES(tx_attr, iov_limit),
	PIECES(tx_attr, rma_iov_limit),
	SIZE(rx_attr, size),
	PIECES(rx_attr, iov_limit),
	SIZE(ep_attr, max_msg_size),
	SIZE(ep_attr, max_order_raw_size),
	SIZE(ep_attr, max_order_war_size),
	SIZE(ep_attr, max_order_waw_size),
	SIZE(domain_attr, cq_data_size),
	SIZE(domain_attr, mr_key_size),
	SIZE(domain_attr, mr_iov_limit),
	SIZE(domain_attr, max_err_data),
	COUNT(cq_cnt),
	COUNT(ep_cnt),
	COUNT(cntr_cnt),
	COUNT(mr_cnt),
};

static size_t *field_of(struct fi_info *info, unsigned int i)
{
	char *attr = *(char **)((char *)info + fields[i].attr);

	return (size_t *)(void *)(attr + fields[i].at);
}

/* The smallest of all members' values, whichever has it. */
static void the_smallest_size_counts(void **state)
{
	static const size_t values[][MEMBERS] = {
		{ 3, 5, 7 },
		{ 5, 3, 7 },
		{ 7, 5, 3 },
		{ 1000, 2000, 3000 },
		{ 0, 6, 7 },
		{ 6, 0, 7 },
		{ 7, 6, 0 },
		{ 0, 0, 0 },
	};

	for (unsigned int i = 0; i < WF_ARRAY_SIZE(fields); i++) {
		for (unsigned int k = 0; k < WF_ARRAY_SIZE(values); k++) {
			size_t want = SIZE_MAX;
			struct fi_info *info;

			for (int m = 0; m < MEMBERS; m++) {
				size_t value = values[k][m];

				*field_of(members.member[m].info, i) = value;
				if (value || !fields[i].is_count)
					want = WF_MIN(want, value);
			}
			if (want == SIZE_MAX)
				want = 1 << 16;
			if (fields[i].max)
				want = WF_MIN(want, fields[i].max);
			info = lnx_template(&members);
			assert_non_null(info);
			if (*field_of(info, i) != want)
				fail_msg("%s, row %u: %zu instead of %zu",
					fields[i].name, k, *field_of(info, i), want);
			assert_int_equal(info->domain_attr->tx_ctx_cnt,
				info->domain_attr->ep_cnt);
			assert_int_equal(info->domain_attr->rx_ctx_cnt,
				info->domain_attr->ep_cnt);
			fi_freeinfo(info);
		}
	}
}

/* ---- capabilities and modes ---- */

#define OWN (FI_MULTI_RECV | FI_TRIGGER | FI_AV_USER_ID)

/* What all members have, and what lnx does; which peers are reached is what any
 * reaches. */
static void capabilities_are_those_of_all(void **state)
{
	for (int i = 0; i < 64; i++) {
		uint64_t bit = UINT64_C(1) << i;
		bool comm = bit & (FI_LOCAL_COMM | FI_REMOTE_COMM);

		for (unsigned int who = 0; who < 1u << MEMBERS; who++) {
			bool all = who == (1u << MEMBERS) - 1;
			uint64_t want = OWN;
			struct fi_info *info;

			for (int m = 0; m < MEMBERS; m++)
				members.member[m].info->caps = who >> m & 1 ? bit : 0;
			if (comm ? who != 0 : all && bit & LNX_MEMBER_CAPS)
				want |= bit;
			if (want & FI_TAGGED)
				want |= FI_COLLECTIVE;
			info = lnx_template(&members);
			assert_true(info->caps == want);
			assert_true(info->domain_attr->caps ==
				    (FI_AV_USER_ID | (want & bit && comm ? bit : 0)));
			fi_freeinfo(info);
		}
	}
}

/* Each direction has its own. */
static void directions_have_their_capabilities(void **state)
{
	const uint64_t both = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC | FI_RMA_PMEM |
			      FI_TRIGGER | FI_COLLECTIVE;
	struct fi_info *info;

	for (int m = 0; m < MEMBERS; m++)
		members.member[m].info->caps = ~UINT64_C(0);
	info = lnx_template(&members);
	assert_true(info->tx_attr->caps ==
		    (both | FI_SEND | FI_READ | FI_WRITE | FI_FENCE));
	assert_true(info->rx_attr->caps ==
		    (both | FI_RECV | FI_REMOTE_READ | FI_REMOTE_WRITE | FI_RMA_EVENT |
			    FI_SOURCE | FI_DIRECTED_RECV | FI_TAGGED_DIRECTED_RECV |
			    FI_EXACT_DIRECTED_RECV | FI_MULTI_RECV));
	fi_freeinfo(info);
}

/* Flags, orders and modes: what all members accept, and what any needs. */
static void flags_are_joined(void **state)
{
	for (unsigned int who = 0; who < 1u << MEMBERS; who++) {
		bool all = who == (1u << MEMBERS) - 1;
		struct fi_info *info;

		for (int m = 0; m < MEMBERS; m++) {
			struct fi_info *member = members.member[m].info;
			bool has = who >> m & 1;

			members.member[m].op_flags =
				FI_COMPLETION | (has ? FI_INJECT : 0);
			member->mode = has ? FI_CONTEXT | FI_MSG_PREFIX : 0;
			member->tx_attr->msg_order = has ? FI_ORDER_SAS : 0;
			member->rx_attr->msg_order = has ? FI_ORDER_SAW : 0;
			member->domain_attr->mr_mode = has ? FI_MR_ENDPOINT : 0;
			member->domain_attr->threading =
				has ? FI_THREAD_SAFE : FI_THREAD_DOMAIN;
			member->domain_attr->resource_mgmt =
				has ? FI_RM_ENABLED : FI_RM_DISABLED;
		}
		info = lnx_template(&members);
		assert_true(info->tx_attr->op_flags ==
			    (FI_COMPLETION | (all ? FI_INJECT : 0)));
		assert_true(info->mode == (who ? FI_CONTEXT : 0));
		assert_true(info->tx_attr->msg_order == (all ? FI_ORDER_SAS : 0));
		assert_true(info->rx_attr->msg_order == (all ? FI_ORDER_SAW : 0));
		assert_int_equal(info->domain_attr->mr_mode, who ? FI_MR_ENDPOINT : 0);
		assert_int_equal(info->domain_attr->threading,
			all ? FI_THREAD_SAFE : FI_THREAD_DOMAIN);
		assert_int_equal(info->domain_attr->progress,
			all ? FI_PROGRESS_AUTO : FI_PROGRESS_MANUAL);
		assert_int_equal(info->domain_attr->control_progress,
			info->domain_attr->progress);
		assert_int_equal(info->domain_attr->resource_mgmt,
			all ? FI_RM_ENABLED : FI_RM_DISABLED);
		fi_freeinfo(info);
	}
}

/* FI_LNX_MULTI_RAIL_SELECTION=PER_MSG with several rails has no order. */
static void several_rails_have_no_order(void **state)
{
	for (int i = 0; i < 4; i++) {
		bool order = i != 3;
		struct fi_info *info;

		lnx_params.per_msg = i & 1;
		members.rails = i & 2 ? 2 : 1;
		for (int m = 0; m < MEMBERS; m++) {
			struct fi_info *member = members.member[m].info;

			member->caps = FI_FENCE;
			members.member[m].op_flags = FI_FENCE | FI_INJECT;
			member->tx_attr->msg_order = FI_ORDER_SAS;
			member->rx_attr->msg_order = FI_ORDER_SAS;
			member->ep_attr->max_order_raw_size = 1;
			member->ep_attr->max_order_war_size = 2;
			member->ep_attr->max_order_waw_size = 3;
		}
		info = lnx_template(&members);
		assert_int_equal(!!(info->caps & FI_FENCE), order);
		assert_int_equal(!!(info->tx_attr->caps & FI_FENCE), order);
		assert_true(info->tx_attr->op_flags ==
			    (FI_INJECT | (order ? FI_FENCE : 0)));
		assert_int_equal(info->tx_attr->msg_order, order ? FI_ORDER_SAS : 0);
		assert_int_equal(info->rx_attr->msg_order, order ? FI_ORDER_SAS : 0);
		assert_int_equal(info->ep_attr->max_order_raw_size, order ? 1 : 0);
		assert_int_equal(info->ep_attr->max_order_war_size, order ? 2 : 0);
		assert_int_equal(info->ep_attr->max_order_waw_size, order ? 3 : 0);
		fi_freeinfo(info);
	}
}

/* Nothing of a member that is its own. */
static void names_are_left_out(void **state)
{
	struct fi_info *first = members.member[0].info, *info;

	first->addr_format = FI_SOCKADDR_IN;
	first->src_addr = calloc(1, 16);
	first->src_addrlen = 16;
	first->ep_attr->auth_key = calloc(1, 5);
	first->ep_attr->auth_key_size = 5;
	first->domain_attr->auth_key = calloc(1, 5);
	first->domain_attr->auth_key_size = 5;
	first->fabric_attr->name = strdup("f");
	first->fabric_attr->prov_name = strdup("p");
	first->domain_attr->name = strdup("d");
	first->domain_attr->mode = 5;
	first->domain_attr->tclass = first->tx_attr->tclass = 5;
	first->domain_attr->max_ep_auth_key = 5;
	first->domain_attr->max_group_id = 5;
	first->domain_attr->max_ep_stx_ctx = 5;
	first->domain_attr->max_ep_tx_ctx = first->domain_attr->max_ep_rx_ctx = 5;
	first->domain_attr->max_ep_srx_ctx = 5;
	first->ep_attr->mem_tag_format = 5;
	first->ep_attr->msg_prefix_size = 5;
	first->ep_attr->tx_ctx_cnt = first->ep_attr->rx_ctx_cnt = 5;
	first->tx_attr->mode = first->rx_attr->mode = FI_CONTEXT;
	info = lnx_template(&members);
	assert_int_equal(info->addr_format, FI_FORMAT_UNSPEC);
	assert_null(info->src_addr);
	assert_int_equal(info->src_addrlen, 0);
	assert_null(info->nic);
	assert_null(info->ep_attr->auth_key);
	assert_int_equal(info->ep_attr->auth_key_size, 0);
	assert_null(info->domain_attr->auth_key);
	assert_int_equal(info->domain_attr->auth_key_size, 0);
	assert_null(info->fabric_attr->name);
	assert_null(info->fabric_attr->prov_name);
	assert_null(info->domain_attr->name);
	assert_int_equal(info->domain_attr->mode, 0);
	assert_int_equal(info->domain_attr->tclass + info->tx_attr->tclass, 0);
	assert_int_equal(info->domain_attr->max_ep_auth_key, 0);
	assert_int_equal(info->domain_attr->max_group_id, 0);
	assert_int_equal(info->domain_attr->max_ep_stx_ctx, 0);
	assert_int_equal(info->domain_attr->max_ep_tx_ctx, 1);
	assert_int_equal(info->domain_attr->max_ep_rx_ctx, 1);
	assert_int_equal(info->domain_attr->max_ep_srx_ctx, 1);
	assert_int_equal(info->domain_attr->av_type, FI_AV_UNSPEC);
	assert_int_equal(info->ep_attr->type, FI_EP_RDM);
	assert_int_equal(info->ep_attr->protocol, FI_PROTO_LNX);
	assert_int_equal(info->ep_attr->protocol_version, 1);
	assert_int_equal(info->ep_attr->mem_tag_format, 0);
	assert_int_equal(info->ep_attr->msg_prefix_size, 0);
	assert_int_equal(info->ep_attr->tx_ctx_cnt, 1);
	assert_int_equal(info->ep_attr->rx_ctx_cnt, 1);
	assert_int_equal(info->tx_attr->mode + info->rx_attr->mode, 0);
	assert_true(
		info->rx_attr->op_flags == (FI_COMPLETION | FI_MULTI_RECV | FI_MORE));
	fi_freeinfo(info);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, open_members, close_members)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(the_smallest_size_counts),
		CASE(capabilities_are_those_of_all),
		CASE(directions_have_their_capabilities),
		CASE(flags_are_joined),
		CASE(several_rails_have_no_order),
		CASE(names_are_left_out),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
