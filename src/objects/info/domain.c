/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/info/rule.h"

#include <stdio.h>

/* Attributes of domain and fabric; name.c has their names. */

#define DOMAIN(member)                                                                 \
	WF_INFO_MEMBER(WF_INFO_DOMAIN, struct fi_domain_attr, "domain_attr.", member)

#define V2 FI_VERSION(2, 0)

/*
 * A threading model includes the promises of every model of a lower rank. Since 2.0
 * FI_THREAD_FID and FI_THREAD_ENDPOINT have no rank; callers of older API versions may
 * ask for them and get FI_THREAD_SAFE, which includes both.
 */
static const int thread_ranks[] = {
	[FI_THREAD_UNSPEC] = 0,
	[FI_THREAD_SAFE] = 3,
	[FI_THREAD_FID] = 3,
	[FI_THREAD_DOMAIN] = 1,
	[FI_THREAD_COMPLETION] = 2,
	[FI_THREAD_ENDPOINT] = 3,
};

static const int progress_ranks[] = {
	[FI_PROGRESS_UNSPEC] = 0,
	[FI_PROGRESS_AUTO] = 3,
	[FI_PROGRESS_MANUAL] = 2,
	[FI_PROGRESS_CONTROL_UNIFIED] = 1,
};

static const char *const rm_names[] = {
	[FI_RM_UNSPEC] = "FI_RM_UNSPEC",
	[FI_RM_DISABLED] = "FI_RM_DISABLED",
	[FI_RM_ENABLED] = "FI_RM_ENABLED",
};

static bool domain_threading_met(
	const struct wf_info_ctx *ctx, struct wf_info_reason *why)
{
	unsigned int asked = ctx->hint.domain->threading;
	unsigned int has = ctx->tmpl.domain->threading;
	bool old = asked == FI_THREAD_FID || asked == FI_THREAD_ENDPOINT;

	if (asked < WF_ARRAY_SIZE(thread_ranks) && !(old && ctx->version >= V2) &&
		thread_ranks[asked] <= thread_ranks[has])
		return true;
	return wf_info_deny(why, asked, has, FI_TYPE_THREADING);
}

/* Does the progress model @most of the template include @asked? */
static bool domain_covers_progress(const struct wf_info_ctx *ctx, unsigned int asked,
	unsigned int most, struct wf_info_reason *why)
{
	/* FI_PROGRESS_CONTROL_UNIFIED is new in 2.0. */
	unsigned int last =
		ctx->version < V2 ? FI_PROGRESS_MANUAL : FI_PROGRESS_CONTROL_UNIFIED;

	return (asked <= last && progress_ranks[asked] <= progress_ranks[most]) ||
	       wf_info_deny(why, asked, most, FI_TYPE_PROGRESS);
}

/* Automatic progress needs a thread, so it is granted only if asked for. */
static enum fi_progress domain_grant_progress(
	enum fi_progress asked, enum fi_progress most)
{
	if (asked)
		return asked;
	return progress_ranks[most] > progress_ranks[FI_PROGRESS_MANUAL]
		       ? FI_PROGRESS_MANUAL
		       : most;
}

static bool domain_control_met(
	const struct wf_info_ctx *ctx, struct wf_info_reason *why)
{
	return domain_covers_progress(ctx, ctx->hint.domain->control_progress,
		ctx->tmpl.domain->control_progress, why);
}

static bool domain_data_met(const struct wf_info_ctx *ctx, struct wf_info_reason *why)
{
	return domain_covers_progress(
		ctx, ctx->hint.domain->progress, ctx->tmpl.domain->progress, why);
}

static void domain_control_fill(const struct wf_info_ctx *ctx, struct fi_info *out)
{
	out->domain_attr->control_progress = domain_grant_progress(
		ctx->hint.domain->control_progress, ctx->tmpl.domain->control_progress);
}

static void domain_data_fill(const struct wf_info_ctx *ctx, struct fi_info *out)
{
	out->domain_attr->progress = domain_grant_progress(
		ctx->hint.domain->progress, ctx->tmpl.domain->progress);
}

/* Since 2.0 control and data progress are one attribute. */
static void domain_progress_fill(const struct wf_info_ctx *ctx, struct fi_info *out)
{
	domain_data_fill(ctx, out);
	out->domain_attr->control_progress = out->domain_attr->progress;
}

static bool domain_rm_met(const struct wf_info_ctx *ctx, struct wf_info_reason *why)
{
	unsigned int asked = ctx->hint.domain->resource_mgmt;
	unsigned int has = ctx->tmpl.domain->resource_mgmt;

	if (asked >= WF_ARRAY_SIZE(rm_names))
		return wf_info_deny(why, asked, has, WF_INFO_NUMBER);
	return asked != FI_RM_ENABLED || has == FI_RM_ENABLED ||
	       wf_info_deny_text(why, rm_names[asked], "%s", rm_names[has]);
}

/* FI_AV_TABLE includes FI_AV_MAP, whose addresses are any numbers. */
static bool domain_av_type_met(
	const struct wf_info_ctx *ctx, struct wf_info_reason *why)
{
	unsigned int asked = ctx->hint.domain->av_type;
	unsigned int has = ctx->tmpl.domain->av_type;

	if (asked <= FI_AV_TABLE &&
		(!asked || !has || asked == has || has == FI_AV_TABLE))
		return true;
	return wf_info_deny(why, asked, has ? has : FI_AV_TABLE, FI_TYPE_AV_TYPE);
}

static uint64_t domain_limit(uint64_t most)
{
	return most ? most : UINT64_MAX;
}

static bool domain_cntr_met(const struct wf_info_ctx *ctx, struct wf_info_reason *why)
{
	uint64_t asked = ctx->hint.domain->max_cntr_value;
	uint64_t most = domain_limit(ctx->tmpl.domain->max_cntr_value);

	return asked <= most || wf_info_deny(why, asked, most, WF_INFO_NUMBER);
}

static bool domain_err_cntr_met(
	const struct wf_info_ctx *ctx, struct wf_info_reason *why)
{
	uint64_t asked = ctx->hint.domain->max_err_cntr_value;
	uint64_t most = domain_limit(ctx->tmpl.domain->max_err_cntr_value);

	return asked <= most || wf_info_deny(why, asked, most, WF_INFO_NUMBER);
}

static void domain_cq_data_fill(const struct wf_info_ctx *ctx, struct fi_info *out)
{
	if (wf_info_no_cq_data(ctx))
		out->domain_attr->cq_data_size = 0;
}

static void domain_cntr_fill(const struct wf_info_ctx *ctx, struct fi_info *out)
{
	out->domain_attr->max_cntr_value =
		domain_limit(ctx->tmpl.domain->max_cntr_value);
}

static void domain_err_cntr_fill(const struct wf_info_ctx *ctx, struct fi_info *out)
{
	out->domain_attr->max_err_cntr_value =
		domain_limit(ctx->tmpl.domain->max_err_cntr_value);
}

static bool domain_prov_version_met(
	const struct wf_info_ctx *ctx, struct wf_info_reason *why)
{
	uint32_t asked = ctx->hint.fabric->prov_version, has = ctx->prov->fi->version;
	char text[24];

	if (asked <= has)
		return true;
	(void)snprintf(text, sizeof(text), "%u.%u", FI_MAJOR(asked), FI_MINOR(asked));
	return wf_info_deny_text(
		why, text, "up to %u.%u", FI_MAJOR(has), FI_MINOR(has));
}

static void domain_versions_fill(const struct wf_info_ctx *ctx, struct fi_info *out)
{
	out->fabric_attr->prov_version = ctx->prov->fi->version;
	out->fabric_attr->api_version = ctx->version;
}

/*
 * Fields without a row, because no hint for them is refused: the numbers of queues,
 * endpoints and contexts (cq_cnt, ep_cnt, tx_ctx_cnt, rx_ctx_cnt, max_ep_*_ctx), which
 * report optimal numbers or, for contexts, depend on ep_attr; mr_key_size, which
 * reports the size of keys; max_xpu_ctx_cnt, which is output only.
 */
static const struct wf_info_rule rules[] = {
	{ DOMAIN(threading), .reply = WF_INFO_HINT, .met = domain_threading_met },
	{ .field = "domain_attr.control_progress",
		.until = V2,
		.met = domain_control_met,
		.fill = domain_control_fill },
	{ .field = "domain_attr.data_progress",
		.until = V2,
		.met = domain_data_met,
		.fill = domain_data_fill },
	{ .field = "domain_attr.progress",
		.since = V2,
		.met = domain_data_met,
		.fill = domain_progress_fill },
	{ DOMAIN(resource_mgmt), .met = domain_rm_met },
	{ DOMAIN(av_type), .met = domain_av_type_met, .reply = WF_INFO_HINT },
	{ DOMAIN(cq_data_size), .test = WF_INFO_MOST, .show = WF_INFO_NUMBER },
	{ DOMAIN(cq_data_size), .fill = domain_cq_data_fill },
	{ DOMAIN(cntr_cnt), .since = FI_VERSION(1, 5), .test = WF_INFO_MOST,
		.show = WF_INFO_NUMBER },
	{ DOMAIN(mr_iov_limit), .since = FI_VERSION(1, 5), .test = WF_INFO_MOST,
		.show = WF_INFO_NUMBER },
	{ DOMAIN(max_err_data), .since = FI_VERSION(1, 5), .test = WF_INFO_MOST,
		.show = WF_INFO_NUMBER },
	{ DOMAIN(mr_cnt), .since = FI_VERSION(1, 5), .test = WF_INFO_MOST,
		.show = WF_INFO_NUMBER },
	{ DOMAIN(max_ep_auth_key), .since = FI_VERSION(1, 20), .test = WF_INFO_MOST,
		.show = WF_INFO_NUMBER },
	{ DOMAIN(max_group_id), .since = V2, .test = WF_INFO_MOST,
		.show = WF_INFO_NUMBER },
	{ DOMAIN(max_cntr_value), .since = FI_VERSION(2, 5), .met = domain_cntr_met },
	{ DOMAIN(max_cntr_value), .fill = domain_cntr_fill },
	{ DOMAIN(max_err_cntr_value), .since = FI_VERSION(2, 5),
		.met = domain_err_cntr_met },
	{ DOMAIN(max_err_cntr_value), .fill = domain_err_cntr_fill },
	{ .field = "fabric_attr.prov_version",
		.met = domain_prov_version_met,
		.fill = domain_versions_fill },
};

const struct wf_info_rules wf_info_domain_rules = WF_INFO_RULES(rules);
