/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/info/engine.h"
#include "objects/info/rule.h"

/*
 * Capabilities and modes. An answer has the capabilities that the hints ask for, and of
 * others only secondary ones without a cost. Modes are demands of the provider, which
 * the hints must allow.
 */

#define PRIMARY                                                                        \
	(FI_MSG | FI_RMA | FI_TAGGED | FI_ATOMIC | FI_MULTICAST | FI_NAMED_RX_CTX |    \
		FI_DIRECTED_RECV | FI_TAGGED_DIRECTED_RECV | FI_EXACT_DIRECTED_RECV |  \
		FI_HMEM | FI_COLLECTIVE | FI_XPU | FI_AV_USER_ID | FI_PEER | FI_READ | \
		FI_WRITE | FI_RECV | FI_SEND | FI_REMOTE_READ | FI_REMOTE_WRITE)
#define SECONDARY                                                                      \
	(FI_MULTI_RECV | FI_TAGGED_MULTI_RECV | FI_SOURCE | FI_RMA_EVENT |             \
		FI_SHARED_AV | FI_TRIGGER | FI_FENCE | FI_LOCAL_COMM |                 \
		FI_REMOTE_COMM | FI_SOURCE_ERR | FI_RMA_PMEM)
/* Bits that stood for FI_XPU_TRIGGER and FI_VARIABLE_MSG before 2.0. With an older API
 * version they are neither granted nor returned. */
#define REUSED (FI_XPU | FI_EXACT_DIRECTED_RECV)

/* Secondary capabilities without a cost in time or safety: granted without being asked
 * for. */
#define FREE                                                                           \
	(FI_LOCAL_COMM | FI_REMOTE_COMM | FI_MULTI_RECV | FI_RMA_EVENT | FI_RMA_PMEM | \
		FI_SHARED_AV)

#define REMOTE  (FI_REMOTE_READ | FI_REMOTE_WRITE)
#define RMA_DIR (FI_READ | FI_WRITE | REMOTE)

#define TX_CAPS                                                                        \
	(FI_MSG | FI_RMA | FI_TAGGED | FI_ATOMIC | FI_READ | FI_WRITE | FI_SEND |      \
		FI_HMEM | FI_TRIGGER | FI_FENCE | FI_MULTICAST | FI_RMA_PMEM |         \
		FI_NAMED_RX_CTX | FI_COLLECTIVE | FI_XPU)
#define RX_CAPS                                                                        \
	(FI_MSG | FI_RMA | FI_TAGGED | FI_ATOMIC | REMOTE | FI_RECV | FI_HMEM |        \
		FI_TRIGGER | FI_RMA_PMEM | FI_DIRECTED_RECV |                          \
		FI_TAGGED_DIRECTED_RECV | FI_EXACT_DIRECTED_RECV |                     \
		FI_TAGGED_MULTI_RECV | FI_MULTI_RECV | FI_SOURCE | FI_RMA_EVENT |      \
		FI_SOURCE_ERR | FI_COLLECTIVE | FI_XPU)
#define DOMAIN_CAPS                                                                    \
	(FI_DIRECTED_RECV | FI_AV_USER_ID | FI_PEER | FI_XPU | FI_LOCAL_COMM |         \
		FI_REMOTE_COMM | FI_SHARED_AV)

/* Capabilities that need one of the @partner capabilities. Hints without a partner are
 * accepted from API versions before @since, because older libraries accepted them. */
static const struct {
	uint64_t caps, partner;
	uint32_t since;
} pairs[] = {
	{ FI_MULTICAST, FI_MSG, FI_VERSION(2, 0) },
	{ RMA_DIR, FI_RMA | FI_ATOMIC, FI_VERSION(2, 0) },
	{ FI_RMA_EVENT, REMOTE, FI_VERSION(2, 0) },
	{ FI_SOURCE_ERR, FI_SOURCE, 0 },
};

static uint64_t caps_possible(const struct wf_info_ctx *ctx)
{
	uint64_t caps = ctx->tmpl.info->caps;

	return ctx->version < FI_VERSION(2, 0) ? caps & ~REUSED : caps;
}

/* FI_MSG, FI_TAGGED, FI_RMA and FI_ATOMIC without a direction stand for both
 * directions. */
static uint64_t caps_with_directions(uint64_t caps)
{
	if (caps & (FI_MSG | FI_TAGGED) && !(caps & (FI_SEND | FI_RECV)))
		caps |= FI_SEND | FI_RECV;
	if (caps & (FI_RMA | FI_ATOMIC) && !(caps & RMA_DIR))
		caps |= RMA_DIR;
	return caps;
}

uint64_t wf_info_caps_asked(const struct wf_info_ctx *ctx)
{
	return caps_with_directions(ctx->hint.info->caps);
}

uint64_t wf_info_caps(const struct wf_info_ctx *ctx)
{
	/* FI_COLLECTIVE has a cost: only hints that name it get it. */
	uint64_t possible = caps_possible(ctx), caps = possible & ~FI_COLLECTIVE;

	if (ctx->hint.info->caps)
		caps = wf_info_caps_asked(ctx) | (possible & FREE);
	if (!wf_info_mr_target(ctx))
		caps &= ~REMOTE;
	if (!(caps & REMOTE))
		caps &= ~FI_RMA_EVENT;
	if (!(caps & FI_RECV))
		caps &= ~FI_MULTI_RECV;
	return caps;
}

static bool caps_met(const struct wf_info_ctx *ctx, struct wf_info_reason *why)
{
	uint64_t asked = wf_info_caps_asked(ctx), possible = caps_possible(ctx);
	uint64_t unknown = asked & ~(PRIMARY | SECONDARY);
	char text[64], partner[64];

	if (ctx->version < FI_VERSION(2, 0))
		unknown |= asked & REUSED;
	if (unknown) {
		(void)wf_info_deny(why, 0, possible, FI_TYPE_CAPS);
		(void)wf_info_show(
			why->asked, sizeof(why->asked), unknown, WF_INFO_HEX);
		return false;
	}
	if (asked & ~possible)
		return wf_info_deny(why, asked & ~possible, possible, FI_TYPE_CAPS);
	if (asked & FI_COLLECTIVE && !wf_info_collective_met(ctx))
		return wf_info_deny_text(
			why, "FI_COLLECTIVE", "only with the provider " WF_INFO_ENGINE);
	/* An application that narrows an answer may leave bits without a partner. */
	if (ctx->opening)
		return true;
	for (size_t i = 0; i < WF_ARRAY_SIZE(pairs); i++) {
		if (!(asked & pairs[i].caps) || asked & pairs[i].partner ||
			ctx->version < pairs[i].since)
			continue;
		wf_info_show(text, sizeof(text), asked & pairs[i].caps, FI_TYPE_CAPS);
		wf_info_show(partner, sizeof(partner), pairs[i].partner, FI_TYPE_CAPS);
		return wf_info_deny_text(
			why, text, "only together with one of %s", partner);
	}
	return true;
}

static void caps_fill(const struct wf_info_ctx *ctx, struct fi_info *out)
{
	out->caps = wf_info_caps(ctx);
}

/* Are the capabilities @asked for one direction, in its attributes, possible? @own:
 * caps in the template's attributes of the direction; @mask: all capabilities that such
 * attributes may have. */
static bool caps_direction_met(const struct wf_info_ctx *ctx, uint64_t asked,
	uint64_t own, uint64_t mask, struct wf_info_reason *why)
{
	uint64_t possible =
		(own ? own : ctx->tmpl.info->caps) & mask & caps_possible(ctx);

	/* Since 2.0 a direction has only capabilities that info->caps asks for. */
	if (ctx->hint.info->caps && ctx->version >= FI_VERSION(2, 0) && !ctx->opening)
		possible &= wf_info_caps_asked(ctx) | SECONDARY;
	asked &= mask;
	return !(asked & ~possible) ||
	       wf_info_deny(why, asked & ~possible, possible, FI_TYPE_CAPS);
}

static uint64_t caps_part(
	const struct wf_info_ctx *ctx, uint64_t asked, uint64_t own, uint64_t mask)
{
	uint64_t possible = (own ? own : ctx->tmpl.info->caps) & mask;
	uint64_t caps = wf_info_caps(ctx) & possible;

	if (asked & mask)
		caps = (caps_with_directions(asked) | (caps & SECONDARY)) & possible;
	return caps;
}

static bool caps_tx_met(const struct wf_info_ctx *ctx, struct wf_info_reason *why)
{
	return caps_direction_met(
		ctx, ctx->hint.tx->caps, ctx->tmpl.tx->caps, TX_CAPS, why);
}

static void caps_tx_fill(const struct wf_info_ctx *ctx, struct fi_info *out)
{
	out->tx_attr->caps =
		caps_part(ctx, ctx->hint.tx->caps, ctx->tmpl.tx->caps, TX_CAPS);
}

static bool caps_rx_met(const struct wf_info_ctx *ctx, struct wf_info_reason *why)
{
	return caps_direction_met(
		ctx, ctx->hint.rx->caps, ctx->tmpl.rx->caps, RX_CAPS, why);
}

static void caps_rx_fill(const struct wf_info_ctx *ctx, struct fi_info *out)
{
	out->rx_attr->caps =
		caps_part(ctx, ctx->hint.rx->caps, ctx->tmpl.rx->caps, RX_CAPS);
}

static void caps_domain_fill(const struct wf_info_ctx *ctx, struct fi_info *out)
{
	uint64_t asked = ctx->hint.info->caps | ctx->hint.domain->caps;

	if (asked)
		out->domain_attr->caps &= (asked & DOMAIN_CAPS) | FREE;
}

static bool caps_modes_met(
	uint64_t needed, uint64_t allowed, struct wf_info_reason *why)
{
	char asked[256], text[256];

	if (!(needed & ~allowed))
		return true;
	wf_info_show(asked, sizeof(asked), allowed, FI_TYPE_MODE);
	wf_info_show(text, sizeof(text), needed, FI_TYPE_MODE);
	return wf_info_deny_text(why, asked, "only with %s", text);
}

static bool caps_mode_met(const struct wf_info_ctx *ctx, struct wf_info_reason *why)
{
	return caps_modes_met(ctx->tmpl.info->mode, ctx->hint.info->mode, why);
}

static void caps_mode_fill(const struct wf_info_ctx *ctx, struct fi_info *out)
{
	out->mode |= wf_info_mr_mode_bit(ctx);
}

static bool caps_tx_mode_met(const struct wf_info_ctx *ctx, struct wf_info_reason *why)
{
	uint64_t mode = ctx->hint.tx->mode;

	return caps_modes_met(
		ctx->tmpl.tx->mode, mode ? mode : ctx->hint.info->mode, why);
}

/* The receive modes that the hints allow. */
static uint64_t caps_rx_mode_allowed(const struct wf_info_ctx *ctx)
{
	uint64_t mode = ctx->hint.rx->mode;

	return mode ? mode : ctx->hint.info->mode;
}

bool wf_info_no_cq_data(const struct wf_info_ctx *ctx)
{
	return ctx->hinted &&
	       ctx->tmpl.rx->mode & ~caps_rx_mode_allowed(ctx) & FI_RX_CQ_DATA &&
	       wf_info_caps(ctx) & FI_RMA && !ctx->hint.domain->cq_data_size;
}

/* Remote CQ data arrives with writes, so FI_RX_CQ_DATA concerns only targets of RMA
 * that want such data. */
static uint64_t caps_rx_mode_needed(const struct wf_info_ctx *ctx, uint64_t caps)
{
	uint64_t needed = ctx->tmpl.rx->mode;

	return caps & FI_RMA && !wf_info_no_cq_data(ctx) ? needed
							 : needed & ~FI_RX_CQ_DATA;
}

static bool caps_rx_mode_met(const struct wf_info_ctx *ctx, struct wf_info_reason *why)
{
	uint64_t caps =
		ctx->hint.info->caps ? ctx->hint.info->caps : ctx->tmpl.info->caps;

	return caps_modes_met(
		caps_rx_mode_needed(ctx, caps), caps_rx_mode_allowed(ctx), why);
}

static void caps_rx_mode_fill(const struct wf_info_ctx *ctx, struct fi_info *out)
{
	out->rx_attr->mode = caps_rx_mode_needed(ctx, wf_info_caps(ctx));
	out->mode |= out->rx_attr->mode;
}

static bool caps_domain_mode_met(
	const struct wf_info_ctx *ctx, struct wf_info_reason *why)
{
	return caps_modes_met(ctx->tmpl.domain->mode,
		ctx->hint.domain->mode | ctx->hint.info->mode, why);
}

static void caps_handle_fill(const struct wf_info_ctx *ctx, struct fi_info *out)
{
	out->handle = ctx->hint.info->handle;
}

static const struct wf_info_rule rules[] = {
	{ WF_INFO_MEMBER(WF_INFO_EP, struct fi_ep_attr, "ep_attr.", type),
		.test = WF_INFO_EQUAL, .show = FI_TYPE_EP_TYPE },
	{ .field = "caps", .met = caps_met, .fill = caps_fill },
	{ .field = "mode", .met = caps_mode_met, .fill = caps_mode_fill },
	{ .field = "addr_format", .met = wf_info_format_met },
	{ .field = "handle", .fill = caps_handle_fill },
	{ .field = "tx_attr.caps", .met = caps_tx_met, .fill = caps_tx_fill },
	{ .field = "rx_attr.caps", .met = caps_rx_met, .fill = caps_rx_fill },
	{ WF_INFO_MEMBER(WF_INFO_TX, struct fi_tx_attr, "tx_attr.", mode),
		.met = caps_tx_mode_met },
	{ WF_INFO_MEMBER(WF_INFO_RX, struct fi_rx_attr, "rx_attr.", mode),
		.met = caps_rx_mode_met, .fill = caps_rx_mode_fill },
	{ WF_INFO_MEMBER(WF_INFO_DOMAIN, struct fi_domain_attr, "domain_attr.", caps),
		.since = FI_VERSION(1, 5), .test = WF_INFO_BITS, .show = FI_TYPE_CAPS },
	{ .field = "domain_attr.caps",
		.structure = WF_INFO_DOMAIN,
		.fill = caps_domain_fill },
	{ WF_INFO_MEMBER(WF_INFO_DOMAIN, struct fi_domain_attr, "domain_attr.", mode),
		.since = FI_VERSION(1, 5), .met = caps_domain_mode_met },
};

const struct wf_info_rules wf_info_caps_rules = WF_INFO_RULES(rules);
