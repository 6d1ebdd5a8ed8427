/* SPDX-License-Identifier: BSD-2-Clause */
/* Capabilities and modes: what is asked for, what comes back. */
#include "suites.h"

static int answer(const struct fi_info *hints, struct fi_info **info)
{
	return cf_getinfo(cf_target.version, hints, info);
}

static const uint64_t primary_caps = FI_MSG | FI_RMA | FI_TAGGED | FI_ATOMIC |
				     FI_MULTICAST | FI_NAMED_RX_CTX | FI_DIRECTED_RECV |
				     FI_HMEM | FI_COLLECTIVE;
static const uint64_t modifiers =
	FI_READ | FI_WRITE | FI_RECV | FI_SEND | FI_REMOTE_READ | FI_REMOTE_WRITE;

static const uint64_t secondary_caps = FI_MULTI_RECV | FI_TAGGED_MULTI_RECV |
				       FI_SOURCE | FI_RMA_EVENT | FI_SHARED_AV |
				       FI_TRIGGER | FI_FENCE | FI_LOCAL_COMM |
				       FI_REMOTE_COMM | FI_SOURCE_ERR | FI_RMA_PMEM;

static void asked_caps_come_back_and_no_other_primary(void)
{
	struct fi_info *hints = cf_hints(), *info;

	hints->caps = FI_MSG;
	CHECK_OK(answer(hints, &info));
	for (struct fi_info *cur = info; cur; cur = cur->next) {
		CHECK_EQ(cur->caps & primary_caps, FI_MSG);
		CHECK_EQ(cur->caps & modifiers, FI_SEND | FI_RECV);
		CHECK_EQ(cur->caps & ~(primary_caps | modifiers | secondary_caps), 0);
		CHECK_EQ(cur->tx_attr->caps & primary_caps, FI_MSG);
		CHECK_EQ(cur->rx_attr->caps & primary_caps, FI_MSG);
	}
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

static void one_direction_is_enough(void)
{
	struct fi_info *hints = cf_hints(), *info;

	hints->caps = FI_MSG | FI_SEND;
	CHECK_OK(answer(hints, &info));
	CHECK_EQ(info->caps & modifiers, FI_SEND);
	fi_freeinfo(info);
	hints->caps = FI_MSG | FI_RECV;
	CHECK_OK(answer(hints, &info));
	CHECK_EQ(info->caps & modifiers, FI_RECV);
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

static void source_only_when_asked(void)
{
	struct fi_info *hints = cf_hints(), *info;

	hints->caps = FI_MSG;
	CHECK_OK(answer(hints, &info));
	CHECK(!(info->caps & FI_SOURCE));
	fi_freeinfo(info);
	hints->caps = FI_MSG | FI_SOURCE;
	CHECK_OK(answer(hints, &info));
	CHECK(info->caps & FI_SOURCE);
	CHECK(info->rx_attr->caps & FI_SOURCE);
	CHECK(!(info->tx_attr->caps & FI_SOURCE));
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

static void no_caps_means_all_usable(void)
{
	struct fi_info *hints = cf_hints(), *info, *all;

	CHECK_OK(answer(hints, &info));
	CHECK(info->caps & FI_MSG);
	hints->caps = info->caps;
	/* What was listed can be asked for. */
	CHECK_OK(answer(hints, &all));
	CHECK_EQ(all->caps & hints->caps, hints->caps);
	fi_freeinfo(all);
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

static void rma_brings_all_modifiers(void)
{
	struct fi_info *hints = cf_hints(), *info;

	hints->caps = FI_RMA;
	CHECK_OK(answer(hints, &info));
	CHECK_EQ(info->caps & modifiers,
		FI_READ | FI_WRITE | FI_REMOTE_READ | FI_REMOTE_WRITE);
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

static void unknown_caps_match_nothing(void)
{
	struct fi_info *hints = cf_hints(), *info;

	hints->caps = FI_MSG | (1ULL << 0);
	CHECK_EQ(answer(hints, &info), -FI_ENODATA);
	fi_freeinfo(hints);
}

static void direction_caps_are_subsets(void)
{
	struct fi_info *hints = cf_hints(), *info;

	hints->caps = FI_MSG;
	hints->tx_attr->caps = FI_MSG | FI_SEND;
	hints->rx_attr->caps = FI_MSG | FI_RECV;
	CHECK_OK(answer(hints, &info));
	CHECK_EQ(info->tx_attr->caps & (FI_MSG | FI_SEND), FI_MSG | FI_SEND);
	CHECK_EQ(info->rx_attr->caps & (FI_MSG | FI_RECV), FI_MSG | FI_RECV);
	CHECK(!(info->tx_attr->caps & FI_RECV));
	CHECK(!(info->rx_attr->caps & FI_SEND));
	fi_freeinfo(info);
	/* More than the endpoint was asked to have, which once was not looked at. */
	hints->tx_attr->caps = FI_TAGGED | FI_SEND;
	if (cf_target.version >= FI_VERSION(2, 0))
		CHECK_EQ(answer(hints, &info), -FI_ENODATA);
	fi_freeinfo(hints);
}

static void modes_come_back_only_when_needed(void)
{
	struct fi_info *hints = cf_hints(), *info;

	hints->mode = ~0ULL;
	CHECK_OK(answer(hints, &info));
	for (struct fi_info *cur = info; cur; cur = cur->next) {
		CHECK(!(cur->mode & FI_MSG_PREFIX) || cur->ep_attr->msg_prefix_size);
		CHECK_EQ(cur->ep_attr->msg_prefix_size % 8, 0);
		CHECK(cur->mode != ~0ULL);
		CHECK(!(cur->tx_attr->mode & ~cur->mode));
		CHECK(!(cur->rx_attr->mode & ~cur->mode));
	}
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

/* Old programs support no modes; socket providers need none. */
static void no_mode_bits_are_needed(void)
{
	struct fi_info *hints = cf_hints(), *info;

	cf_need_no_mr_bits();
	hints->mode = 0;
	hints->domain_attr->mr_mode = 0;
	CHECK_OK(answer(hints, &info));
	for (struct fi_info *cur = info; cur; cur = cur->next) {
		CHECK_EQ(cur->mode, 0);
		CHECK_EQ(cur->ep_attr->msg_prefix_size, 0);
	}
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

static void comm_caps_reach_the_same_host(void)
{
	struct fi_info *hints = cf_hints(), *info;

	hints->caps = FI_MSG | FI_LOCAL_COMM;
	CHECK_OK(answer(hints, &info));
	CHECK(info->caps & FI_LOCAL_COMM);
	CHECK(info->domain_attr->caps & FI_LOCAL_COMM);
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

static void source_err_needs_source(void)
{
	struct fi_info *hints = cf_hints(), *info;

	NEED_API(2, 0);
	hints->caps = FI_MSG | FI_SOURCE_ERR;
	CHECK_EQ(answer(hints, &info), -FI_ENODATA);
	hints->caps |= FI_SOURCE;
	CHECK_OK(answer(hints, &info));
	CHECK_EQ(info->caps & (FI_SOURCE | FI_SOURCE_ERR), FI_SOURCE | FI_SOURCE_ERR);
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

static void capabilities_need_their_partners(void)
{
	static const uint64_t alone[] = { FI_MULTICAST, FI_READ, FI_REMOTE_WRITE };

	NEED_API(2, 0);
	for (size_t i = 0; i < CF_COUNT(alone); i++) {
		struct fi_info *hints = cf_hints(), *info;

		hints->caps = alone[i];
		CHECK_EQ(answer(hints, &info), -FI_ENODATA);
		fi_freeinfo(hints);
	}
}

CF_SUITE(info_filter,
	CF_CASE(asked_caps_come_back_and_no_other_primary,
		"GI-017 GI-020 CAP-001 CAP-003", FI_MSG),
	CF_CASE(one_direction_is_enough, "GI-020 CAP-002", FI_MSG),
	CF_CASE(source_only_when_asked, "GI-019 EPA-027 EPA-028", FI_SOURCE),
	CF_CASE(no_caps_means_all_usable, "GI-015 GI-016", 0),
	CF_CASE(rma_brings_all_modifiers, "GI-021", FI_RMA),
	CF_CASE(unknown_caps_match_nothing, "GI-013", 0),
	CF_CASE(direction_caps_are_subsets, "GI-023 EPA-027 EPA-028", FI_MSG),
	CF_CASE(modes_come_back_only_when_needed, "GI-024 CAP-025 EPA-019", 0),
	CF_CASE(no_mode_bits_are_needed, "GI-014 CAP-025", 0),
	CF_CASE(comm_caps_reach_the_same_host, "CAP-015", FI_LOCAL_COMM),
	CF_CASE(capabilities_need_their_partners, "CAP-004 CAP-005", 0),
	CF_CASE(source_err_needs_source, "CAP-008", FI_SOURCE | FI_SOURCE_ERR));
