/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/info/rule.h"

/*
 * Memory registration modes, fi_mr(3). A template holds the bits that the provider
 * needs. Before 1.5 the field was an enumeration of two models, whose values are still
 * accepted and answered: with FI_MR_BASIC the provider chooses keys and addresses are
 * virtual, with FI_MR_SCALABLE the application chooses keys and addresses are offsets.
 * Using those names draws a deprecation warning, so the values have other names here.
 */
enum {
	MR_BASIC = 1 << 0,
	MR_SCALABLE = 1 << 1,
	/* The bits that FI_MR_BASIC stands for. */
	MR_BASIC_BITS = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY,
	/* The bits that concern only regions which a peer reads or writes. */
	MR_TARGET = MR_BASIC_BITS | FI_MR_RAW | FI_MR_MMU_NOTIFY | FI_MR_RMA_EVENT |
		    FI_MR_ENDPOINT,
};

#define MODE_LOCAL_MR (1ULL << 55)
#define REMOTE        (FI_REMOTE_READ | FI_REMOTE_WRITE)

/* Does the caller use the old models, by its hints or its API version? */
static bool mr_is_legacy(const struct wf_info_ctx *ctx)
{
	return ctx->version < FI_VERSION(1, 5) ||
	       ctx->hint.domain->mr_mode & (MR_BASIC | MR_SCALABLE);
}

/* The bits that the provider needs of an endpoint with @caps. */
static int mr_needed(const struct wf_info_ctx *ctx, uint64_t caps)
{
	int bits = ctx->tmpl.domain->mr_mode & ~(MR_BASIC | MR_SCALABLE);

	if (!(caps & FI_HMEM))
		bits &= ~FI_MR_HMEM;
	if (!(caps & FI_COLLECTIVE))
		bits &= ~FI_MR_COLLECTIVE;
	if (!(caps & FI_XPU))
		bits &= ~FI_MR_XPU_DESC;
	if (!(caps & FI_RMA_EVENT))
		bits &= ~FI_MR_RMA_EVENT;
	if (!(caps & REMOTE))
		bits &= ~MR_TARGET;
	return bits;
}

/* The old models that include all bits that the provider needs. */
static int mr_models_for(const struct wf_info_ctx *ctx, uint64_t caps)
{
	int target = mr_needed(ctx, caps) & MR_TARGET;

	return (target & ~MR_BASIC_BITS ? 0 : MR_BASIC) | (target ? 0 : MR_SCALABLE);
}

bool wf_info_mr_target(const struct wf_info_ctx *ctx)
{
	int mode = ctx->hint.domain->mr_mode;

	if (!ctx->hinted || mr_is_legacy(ctx))
		return true;
	return !(mr_needed(ctx, ctx->tmpl.info->caps) & MR_TARGET & ~mode);
}

/* May the answer lack the capabilities of a target of RMA? True if the hints name no
 * capabilities, or have no mr_mode bits and do not ask for these explicitly. */
static bool mr_may_lose_target(const struct wf_info_ctx *ctx)
{
	if (!ctx->hint.info->caps)
		return true;
	return !ctx->hint.domain->mr_mode && !(ctx->hint.info->caps & REMOTE);
}

static bool mr_legacy_met(
	const struct wf_info_ctx *ctx, uint64_t caps, struct wf_info_reason *why)
{
	static const char *const names[] = { "none", "FI_MR_BASIC", "FI_MR_SCALABLE",
		"FI_MR_BASIC, FI_MR_SCALABLE" };
	int mode = ctx->hint.domain->mr_mode, fit = mr_models_for(ctx, caps);
	char asked[128];

	wf_info_show(asked, sizeof(asked), (unsigned int)mode, FI_TYPE_MR_MODE);
	if (mode && mode != MR_BASIC && mode != MR_SCALABLE)
		return wf_info_deny_text(why, asked, "one alone of %s", names[fit]);
	if (mode ? !(fit & mode) : !fit)
		return wf_info_deny_text(why, names[mode], "%s", names[fit]);
	if (mr_needed(ctx, caps) & FI_MR_LOCAL &&
		!(ctx->hint.info->mode & MODE_LOCAL_MR))
		return wf_info_deny_text(
			why, names[mode], "only with mode FI_LOCAL_MR");
	return true;
}

static bool mr_met(const struct wf_info_ctx *ctx, struct wf_info_reason *why)
{
	uint64_t caps =
		ctx->hint.info->caps ? wf_info_caps_asked(ctx) : ctx->tmpl.info->caps;
	int mode = ctx->hint.domain->mr_mode, need, missing;
	char asked[256], text[256];

	if (mr_is_legacy(ctx))
		return mr_legacy_met(ctx, caps, why);
	need = mr_needed(ctx, caps);
	missing = need & ~mode;
	if (mr_may_lose_target(ctx))
		missing &= ~MR_TARGET;
	if (!missing)
		return true;
	wf_info_show(asked, sizeof(asked), (unsigned int)mode, FI_TYPE_MR_MODE);
	wf_info_show(text, sizeof(text), (unsigned int)need, FI_TYPE_MR_MODE);
	return wf_info_deny_text(why, asked, "only with %s", text);
}

uint64_t wf_info_mr_mode_bit(const struct wf_info_ctx *ctx)
{
	return mr_is_legacy(ctx) && mr_needed(ctx, ctx->tmpl.info->caps) & FI_MR_LOCAL
		       ? MODE_LOCAL_MR
		       : 0;
}

static void info_mr_fill(const struct wf_info_ctx *ctx, struct fi_info *out)
{
	uint64_t caps = wf_info_caps(ctx);
	int mode = ctx->hint.domain->mr_mode;

	if (!mr_is_legacy(ctx))
		mode = mr_needed(ctx, caps);
	else if (!mode)
		mode = mr_models_for(ctx, caps) & MR_BASIC ? MR_BASIC : MR_SCALABLE;
	out->domain_attr->mr_mode = mode;
}

static const struct wf_info_rule rules[] = {
	{ .field = "domain_attr.mr_mode", .met = mr_met, .fill = info_mr_fill },
};

const struct wf_info_rules wf_info_mr_rules = WF_INFO_RULES(rules);
