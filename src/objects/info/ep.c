/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/info/rule.h"

#include <strings.h>

/* Attributes of the endpoint, and traffic classes, which tx_attr and domain_attr
 * have. */

#define EP(member) WF_INFO_MEMBER(WF_INFO_EP, struct fi_ep_attr, "ep_attr.", member)

/* Does the caller ask for RMA or atomics? Data ordering concerns only these. */
static bool ep_wants_rma(const struct wf_info_ctx *ctx)
{
	return wf_info_caps_asked(ctx) & (FI_RMA | FI_ATOMIC);
}

/* False: an object is opened with an info of a stand-in, whose name and protocol are
 * not those of the provider; fi_getinfo has compared them. */
static bool ep_own_name(const struct wf_info_ctx *ctx)
{
	const char *name = ctx->hint.fabric->prov_name;

	return !ctx->opening || !name || !strcasecmp(name, ctx->prov->fi->name);
}

static void ep_prefix_fill(const struct wf_info_ctx *ctx, struct fi_info *out)
{
	if (!(ctx->tmpl.info->mode & FI_MSG_PREFIX))
		out->ep_attr->msg_prefix_size = 0;
}

/* Is the hint @asked for a number of contexts met? @own: the template's number;
 * @most: the most contexts of an endpoint; @shared: the most shared contexts. */
static bool ep_contexts_met(size_t asked, size_t own, size_t most, size_t shared,
	struct wf_info_reason *why)
{
	char text[32];

	if (asked == FI_SHARED_CONTEXT)
		return shared || own == FI_SHARED_CONTEXT ||
		       wf_info_deny_text(why, "FI_SHARED_CONTEXT", "%zu", most);
	wf_info_show(text, sizeof(text), asked, WF_INFO_NUMBER);
	if (own == FI_SHARED_CONTEXT)
		return wf_info_deny_text(why, text, "FI_SHARED_CONTEXT");
	return asked <= most || wf_info_deny_text(why, text, "%zu", most);
}

static bool ep_tx_contexts_met(
	const struct wf_info_ctx *ctx, struct wf_info_reason *why)
{
	return ep_contexts_met(ctx->hint.ep->tx_ctx_cnt, ctx->tmpl.ep->tx_ctx_cnt,
		ctx->tmpl.domain->max_ep_tx_ctx, ctx->tmpl.domain->max_ep_stx_ctx, why);
}

static bool ep_rx_contexts_met(
	const struct wf_info_ctx *ctx, struct wf_info_reason *why)
{
	return ep_contexts_met(ctx->hint.ep->rx_ctx_cnt, ctx->tmpl.ep->rx_ctx_cnt,
		ctx->tmpl.domain->max_ep_rx_ctx, ctx->tmpl.domain->max_ep_srx_ctx, why);
}

static void ep_tx_contexts_fill(const struct wf_info_ctx *ctx, struct fi_info *out)
{
	if (ctx->hint.ep->tx_ctx_cnt)
		out->ep_attr->tx_ctx_cnt = ctx->hint.ep->tx_ctx_cnt;
}

static void ep_rx_contexts_fill(const struct wf_info_ctx *ctx, struct fi_info *out)
{
	if (ctx->hint.ep->rx_ctx_cnt)
		out->ep_attr->rx_ctx_cnt = ctx->hint.ep->rx_ctx_cnt;
}

static bool ep_by_av(const struct wf_info_ctx *ctx)
{
	return ctx->version >= FI_VERSION(1, 20) &&
	       ctx->hint.domain->auth_key_size == FI_AV_AUTH_KEY;
}

static bool ep_key_size_met(size_t asked, size_t own, struct wf_info_reason *why)
{
	return !asked || asked == own || wf_info_deny(why, asked, own, WF_INFO_NUMBER);
}

static bool ep_key_met(const struct wf_info_ctx *ctx, struct wf_info_reason *why)
{
	const struct fi_ep_attr *ep = ctx->hint.ep;

	if (ep_by_av(ctx) && (ep->auth_key_size || ep->auth_key))
		return wf_info_deny_text(
			why, "a key", "none, the domain has FI_AV_AUTH_KEY");
	return ep_key_size_met(ep->auth_key_size, ctx->tmpl.ep->auth_key_size, why);
}

/* A template whose AV may hold keys has a nonzero max_ep_auth_key. */
static bool ep_domain_key_met(const struct wf_info_ctx *ctx, struct wf_info_reason *why)
{
	const struct fi_domain_attr *domain = ctx->hint.domain;

	if (!ep_by_av(ctx))
		return ep_key_size_met(
			domain->auth_key_size, ctx->tmpl.domain->auth_key_size, why);
	if (!ctx->tmpl.domain->max_ep_auth_key)
		return wf_info_deny_text(
			why, "FI_AV_AUTH_KEY", "%zu", ctx->tmpl.domain->auth_key_size);
	return !domain->auth_key ||
	       wf_info_deny_text(why, "FI_AV_AUTH_KEY with a key", "without a key");
}

static void ep_xpu_fill(const struct wf_info_ctx *ctx, struct fi_info *out)
{
	out->ep_attr->xpu_ctx = NULL;
}

/* Is the traffic class valid: a DSCP value (FI_TC_DSCP_SET) or one of the labels? */
static bool ep_tclass_met(uint32_t tclass, struct wf_info_reason *why)
{
	char text[16];

	if (!tclass || (tclass & ~0xffu) == FI_TC_DSCP ||
		(tclass >= FI_TC_LABEL && tclass <= FI_TC_NETWORK_CTRL))
		return true;
	return wf_info_deny_text(why,
		wf_info_show(text, sizeof(text), tclass, WF_INFO_HEX),
		"0x%x to 0x%x, 0x%x to 0x%x", FI_TC_DSCP, FI_TC_DSCP + 0xff,
		FI_TC_LABEL, FI_TC_NETWORK_CTRL);
}

static bool ep_tx_tclass_met(const struct wf_info_ctx *ctx, struct wf_info_reason *why)
{
	return ep_tclass_met(ctx->hint.tx->tclass, why);
}

static bool ep_domain_tclass_met(
	const struct wf_info_ctx *ctx, struct wf_info_reason *why)
{
	return ep_tclass_met(ctx->hint.domain->tclass, why);
}

/* A template without a class belongs to a provider that does not mark its traffic:
 * the hint is met by best effort, and the answer says so. */
static void ep_tx_tclass_fill(const struct wf_info_ctx *ctx, struct fi_info *out)
{
	uint32_t own = ctx->hint.tx->tclass, domain = ctx->hint.domain->tclass;

	if (ctx->tmpl.tx->tclass && (own || domain))
		out->tx_attr->tclass = own ? own : domain;
}

static void ep_domain_tclass_fill(const struct wf_info_ctx *ctx, struct fi_info *out)
{
	if (ctx->tmpl.domain->tclass && ctx->hint.domain->tclass)
		out->domain_attr->tclass = ctx->hint.domain->tclass;
}

static const struct wf_info_rule rules[] = {
	{ EP(protocol), .test = WF_INFO_EQUAL, .show = FI_TYPE_PROTOCOL,
		.when = ep_own_name },
	{ EP(protocol_version), .test = WF_INFO_MOST, .show = WF_INFO_NUMBER,
		.when = ep_own_name },
	{ EP(max_msg_size), .test = WF_INFO_MOST, .show = WF_INFO_NUMBER },
	{ EP(msg_prefix_size), .fill = ep_prefix_fill },
	{ EP(max_order_raw_size), .test = WF_INFO_MOST, .reply = WF_INFO_LOWER,
		.show = WF_INFO_NUMBER, .when = ep_wants_rma },
	{ EP(max_order_war_size), .test = WF_INFO_MOST, .reply = WF_INFO_LOWER,
		.show = WF_INFO_NUMBER, .when = ep_wants_rma },
	{ EP(max_order_waw_size), .test = WF_INFO_MOST, .reply = WF_INFO_LOWER,
		.show = WF_INFO_NUMBER, .when = ep_wants_rma },
	{ EP(mem_tag_format), .met = wf_info_tag_met, .fill = wf_info_tag_fill },
	{ EP(tx_ctx_cnt), .met = ep_tx_contexts_met, .fill = ep_tx_contexts_fill },
	{ EP(rx_ctx_cnt), .met = ep_rx_contexts_met, .fill = ep_rx_contexts_fill },
	{ EP(auth_key_size), .since = FI_VERSION(1, 5), .met = ep_key_met },
	{ .field = "ep_attr.xpu_ctx", .fill = ep_xpu_fill },
	{ .field = "tx_attr.tclass",
		.since = FI_VERSION(1, 9),
		.met = ep_tx_tclass_met,
		.fill = ep_tx_tclass_fill },
	{ .field = "domain_attr.tclass",
		.since = FI_VERSION(1, 9),
		.met = ep_domain_tclass_met,
		.fill = ep_domain_tclass_fill },
	{ .field = "domain_attr.auth_key_size",
		.since = FI_VERSION(1, 5),
		.met = ep_domain_key_met },
};

const struct wf_info_rules wf_info_ep_rules = WF_INFO_RULES(rules);
