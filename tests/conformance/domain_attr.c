/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Domain attributes in hints. Behaviour changed at 1.5, 1.20, 2.0 and 2.5; a caller
 * gets what the version that it asks for promised.
 */
#include "suites.h"

static int ask(uint32_t version, struct fi_info *hints, struct fi_info **info)
{
	if (version > fi_version())
		SKIP("the library is older than API %u.%u", FI_MAJOR(version),
			FI_MINOR(version));
	*info = NULL;
	return cf_getinfo(version, hints, info);
}

static void threading_is_granted(void)
{
	static const enum fi_threading models[] = { FI_THREAD_SAFE, FI_THREAD_DOMAIN,
		FI_THREAD_COMPLETION };

	for (size_t i = 0; i < CF_COUNT(models); i++) {
		struct fi_info *hints = cf_hints(), *info;

		hints->domain_attr->threading = models[i];
		CHECK_OK(ask(cf_target.version, hints, &info));
		for (struct fi_info *cur = info; cur; cur = cur->next)
			CHECK(cur->domain_attr->threading != FI_THREAD_UNSPEC);
		if (models[i] == FI_THREAD_SAFE)
			CHECK_EQ(info->domain_attr->threading, FI_THREAD_SAFE);
		fi_freeinfo(info);
		fi_freeinfo(hints);
	}
}

static void threading_defaults_to_the_most_parallel(void)
{
	struct fi_info *hints = cf_hints(), *info;

	CHECK_OK(ask(cf_target.version, hints, &info));
	CHECK_EQ(info->domain_attr->threading, FI_THREAD_SAFE);
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

static void retired_threading_depends_on_the_version(void)
{
	static const enum fi_threading models[] = { FI_THREAD_FID, FI_THREAD_ENDPOINT };

	for (size_t i = 0; i < CF_COUNT(models); i++) {
		struct fi_info *hints = cf_hints(), *info;
		struct fid_fabric *fabric;
		struct fid_domain *domain;

		hints->domain_attr->threading = models[i];
		CHECK_OK(ask(FI_VERSION(1, 17), hints, &info));
		CHECK_OK(fi_fabric(info->fabric_attr, &fabric, NULL));
		CHECK_OK(fi_domain(fabric, info, &domain, NULL));
		CF_CLOSE(domain);
		CF_CLOSE(fabric);
		fi_freeinfo(info);
		if (fi_version() >= FI_VERSION(2, 0))
			CHECK_EQ(ask(FI_VERSION(2, 0), hints, &info), -FI_ENODATA);
		fi_freeinfo(hints);
	}
}

static void manual_progress_is_granted(void)
{
	struct fi_info *hints = cf_hints(), *info;

	NEED_API(2, 0);
	hints->domain_attr->progress = FI_PROGRESS_MANUAL;
	CHECK_OK(ask(cf_target.version, hints, &info));
	CHECK_EQ(info->domain_attr->progress, FI_PROGRESS_MANUAL);
	CHECK_EQ(info->domain_attr->control_progress, FI_PROGRESS_MANUAL);
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

/* Since 2.0 the one field counts for both; before, there were two. */
static void progress_fields_by_version(void)
{
	struct fi_info *hints = cf_hints(), *info;

	hints->domain_attr->control_progress = FI_PROGRESS_AUTO;
	hints->domain_attr->data_progress = FI_PROGRESS_MANUAL;
	CHECK_OK(ask(FI_VERSION(1, 17), hints, &info));
	CHECK_EQ(info->domain_attr->control_progress, FI_PROGRESS_AUTO);
	CHECK_EQ(info->domain_attr->data_progress, FI_PROGRESS_MANUAL);
	fi_freeinfo(info);
	CHECK_OK(ask(FI_VERSION(2, 0), hints, &info));
	CHECK_EQ(info->domain_attr->control_progress, FI_PROGRESS_MANUAL);
	CHECK_EQ(info->domain_attr->progress, FI_PROGRESS_MANUAL);
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

static void resource_management_is_granted(void)
{
	struct fi_info *hints = cf_hints(), *info;

	hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
	CHECK_OK(ask(cf_target.version, hints, &info));
	CHECK_EQ(info->domain_attr->resource_mgmt, FI_RM_ENABLED);
	fi_freeinfo(info);
	hints->domain_attr->resource_mgmt = FI_RM_DISABLED;
	CHECK_OK(ask(cf_target.version, hints, &info));
	CHECK(info->domain_attr->resource_mgmt != FI_RM_UNSPEC);
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

static void av_type_is_echoed(void)
{
	static const enum fi_av_type types[] = { FI_AV_MAP, FI_AV_TABLE };

	for (size_t i = 0; i < CF_COUNT(types); i++) {
		struct fi_info *hints = cf_hints(), *info;

		hints->domain_attr->av_type = types[i];
		CHECK_OK(ask(cf_target.version, hints, &info));
		CHECK_EQ(info->domain_attr->av_type, types[i]);
		fi_freeinfo(info);
		fi_freeinfo(hints);
	}
}

/* The values of before 1.5; their names warn now. */
enum { MR_BASIC = 1, MR_SCALABLE = 2 };

static void mr_mode_before_1_5(void)
{
	struct fi_info *hints = cf_hints(), *info;
	static const int refused[] = { MR_BASIC | MR_SCALABLE, FI_MR_VIRT_ADDR };

	cf_need_no_mr_bits();
	hints->domain_attr->mr_mode = 0;
	CHECK_OK(ask(FI_VERSION(1, 4), hints, &info));
	CHECK_EITHER(info->domain_attr->mr_mode, MR_BASIC, MR_SCALABLE);
	fi_freeinfo(info);
	for (int mode = MR_BASIC; mode <= MR_SCALABLE; mode++) {
		hints->domain_attr->mr_mode = mode;
		CHECK_OK(ask(FI_VERSION(1, 4), hints, &info));
		CHECK_EQ(info->domain_attr->mr_mode, mode);
		fi_freeinfo(info);
	}
	for (size_t i = 0; i < CF_COUNT(refused); i++) {
		hints->domain_attr->mr_mode = refused[i];
		CHECK_EQ(ask(FI_VERSION(1, 4), hints, &info), -FI_ENODATA);
	}
	fi_freeinfo(hints);
}

static void mr_mode_bits(void)
{
	struct fi_info *hints = cf_hints(), *info;

	NEED_API(1, 5);
	cf_need_no_mr_bits();
	hints->domain_attr->mr_mode = 0;
	CHECK_OK(ask(cf_target.version, hints, &info));
	CHECK_EQ(info->domain_attr->mr_mode, 0);
	fi_freeinfo(info);
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED |
				      FI_MR_PROV_KEY | FI_MR_MMU_NOTIFY |
				      FI_MR_ENDPOINT;
	CHECK_OK(ask(cf_target.version, hints, &info));
	CHECK(!(info->domain_attr->mr_mode & ~hints->domain_attr->mr_mode));
	CHECK(!(info->domain_attr->mr_mode & FI_MR_MMU_NOTIFY));
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

static void old_mr_modes_stand_alone(void)
{
	struct fi_info *hints = cf_hints(), *info;

	cf_need_no_mr_bits();
	for (int mode = MR_BASIC; mode <= MR_SCALABLE; mode++) {
		hints->domain_attr->mr_mode = mode;
		CHECK_OK(ask(cf_target.version, hints, &info));
		CHECK_EQ(info->domain_attr->mr_mode, mode);
		fi_freeinfo(info);
		hints->domain_attr->mr_mode = mode | FI_MR_LOCAL;
		CHECK_EQ(ask(cf_target.version, hints, &info), -FI_ENODATA);
	}
	fi_freeinfo(hints);
}

/* ---- limits: one more than offered does not match ---- */

#define EXCESS(field)                                                                  \
	static bool excess_##field(                                                    \
		struct fi_domain_attr *hints, const struct fi_domain_attr *offer)      \
	{                                                                              \
		if (offer->field == (__typeof__(offer->field))-1)                      \
			return false;                                                  \
		hints->field = offer->field + 1;                                       \
		return true;                                                           \
	}

EXCESS(cq_data_size)
EXCESS(cntr_cnt)
EXCESS(mr_iov_limit)
EXCESS(max_err_data)
EXCESS(mr_cnt)
EXCESS(max_ep_auth_key)
EXCESS(max_cntr_value)
EXCESS(max_err_cntr_value)

static bool excess_caps(
	struct fi_domain_attr *hints, const struct fi_domain_attr *offer)
{
	hints->caps = FI_RMA_PMEM;
	return true;
}

static bool excess_auth_key_size(
	struct fi_domain_attr *hints, const struct fi_domain_attr *offer)
{
	hints->auth_key_size = offer->auth_key_size + 3;
	hints->auth_key = calloc(1, hints->auth_key_size);
	CHECK(hints->auth_key);
	return true;
}

/* Refused from @since on; below, the field was not looked at. */
static const struct {
	const char *field;
	uint32_t since;
	bool (*exceed)(
		struct fi_domain_attr *hints, const struct fi_domain_attr *offer);
} limits[] = {
	{ "cq_data_size", FI_VERSION(1, 0), excess_cq_data_size },
	{ "cntr_cnt", FI_VERSION(1, 5), excess_cntr_cnt },
	{ "mr_iov_limit", FI_VERSION(1, 5), excess_mr_iov_limit },
	{ "caps", FI_VERSION(1, 5), excess_caps },
	{ "max_err_data", FI_VERSION(1, 5), excess_max_err_data },
	{ "mr_cnt", FI_VERSION(1, 5), excess_mr_cnt },
	{ "auth_key_size", FI_VERSION(1, 5), excess_auth_key_size },
	{ "max_ep_auth_key", FI_VERSION(1, 20), excess_max_ep_auth_key },
	{ "max_cntr_value", FI_VERSION(2, 5), excess_max_cntr_value },
	{ "max_err_cntr_value", FI_VERSION(2, 5), excess_max_err_cntr_value },
};

static void check_limit(size_t row, uint32_t version)
{
	struct fi_info *hints = cf_hints(), *offer, *info = NULL;
	int wanted = version >= limits[row].since ? -FI_ENODATA : 0, ret;

	cf_fewest_mr_bits(hints, version);
	hints->mode |= version < FI_VERSION(1, 5) ? CF_LOCAL_MR : 0;
	CHECK_OK(cf_getinfo(version, hints, &offer));
	if (limits[row].exceed(hints->domain_attr, offer->domain_attr)) {
		ret = cf_getinfo(version, hints, &info);
		if (ret != wanted)
			cf_fail(__FILE__, __LINE__,
				"too large %s at API %u.%u: %d, wanted %d",
				limits[row].field, FI_MAJOR(version), FI_MINOR(version),
				ret, wanted);
		fi_freeinfo(info);
	}
	fi_freeinfo(offer);
	fi_freeinfo(hints);
}

static void limits_are_checked_from_their_version_on(void)
{
	static const uint32_t versions[] = { FI_VERSION(1, 4), FI_VERSION(1, 5),
		FI_VERSION(1, 17), FI_VERSION(1, 20), FI_VERSION(2, 0),
		FI_VERSION(2, 5), FI_VERSION(2, 6) };

	for (size_t i = 0; i < CF_COUNT(limits); i++) {
		for (size_t v = 0; v < CF_COUNT(versions); v++) {
			/* Fields that the library's structs lack cannot be tried. */
			if (limits[i].since <= fi_version() &&
				versions[v] <= fi_version())
				check_limit(i, versions[v]);
		}
	}
}

static void shared_context_limits_do_not_filter(void)
{
	struct fi_info *hints = cf_hints(), *info;

	hints->domain_attr->max_ep_stx_ctx = 1000000;
	hints->domain_attr->max_ep_srx_ctx = 1000000;
	CHECK_OK(ask(cf_target.version, hints, &info));
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

static void counter_limits_are_reported(void)
{
	struct fi_info *hints = cf_hints(), *info;

	NEED_API(2, 5);
	CHECK_OK(ask(cf_target.version, hints, &info));
	CHECK(info->domain_attr->max_cntr_value != 0);
	CHECK(info->domain_attr->max_err_cntr_value != 0);
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

static void cq_data_size_is_usable(void)
{
	struct fi_info *hints = cf_hints(), *info;

	CHECK_OK(ask(cf_target.version, hints, &info));
	for (struct fi_info *cur = info; cur; cur = cur->next)
		CHECK(!cur->domain_attr->cq_data_size ||
			cur->domain_attr->cq_data_size >= 4);
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

static void av_auth_key_without_key(void)
{
	struct fi_info *hints = cf_hints(), *info;

	NEED_API(1, 20);
	hints->domain_attr->auth_key_size = FI_AV_AUTH_KEY;
	hints->domain_attr->auth_key = malloc(8);
	CHECK(hints->domain_attr->auth_key);
	CHECK_EQ(ask(cf_target.version, hints, &info), -FI_ENODATA);
	free(hints->domain_attr->auth_key);
	hints->domain_attr->auth_key = NULL;
	hints->domain_attr->auth_key_size = 0;
	fi_freeinfo(hints);
}

CF_SUITE(domain_attr, CF_CASE(threading_is_granted, "DAT-001 DAT-003", 0),
	CF_CASE(threading_defaults_to_the_most_parallel, "DAT-004", 0),
	CF_CASE(retired_threading_depends_on_the_version, "DAT-002 THR-004", 0),
	CF_CASE(manual_progress_is_granted, "DAT-006 DAT-007", 0),
	CF_CASE(progress_fields_by_version, "DAT-005 DAT-007", 0),
	CF_CASE(resource_management_is_granted, "DAT-009", 0),
	CF_CASE(av_type_is_echoed, "DAT-010 DAT-011", 0),
	CF_CASE(mr_mode_before_1_5, "DAT-015", 0),
	CF_CASE(mr_mode_bits, "DAT-013 DAT-016", 0),
	CF_CASE(old_mr_modes_stand_alone, "DAT-014", 0),
	CF_CASE(limits_are_checked_from_their_version_on,
		"DAT-021 DAT-022 DAT-024 DAT-026 DAT-028 VER-005", 0),
	CF_CASE(shared_context_limits_do_not_filter, "DAT-023", 0),
	CF_CASE(counter_limits_are_reported, "DAT-028", 0),
	CF_CASE(cq_data_size_is_usable, "DAT-021", 0),
	CF_CASE(av_auth_key_without_key, "DAT-025", 0));
