/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/info/rule.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static const struct fi_info no_info;
static const struct fi_tx_attr no_tx;
static const struct fi_rx_attr no_rx;
static const struct fi_ep_attr no_ep;
static const struct fi_domain_attr no_domain;
static const struct fi_fabric_attr no_fabric;

static const struct wf_info_rules *const all_rules[] = {
	&wf_info_caps_rules,
	&wf_info_ep_rules,
	&wf_info_xfer_rules,
	&wf_info_domain_rules,
	&wf_info_mr_rules,
	NULL,
};

static void match_set_attrs(struct wf_info_attrs *attrs, const struct fi_info *info)
{
	attrs->info = info ? info : &no_info;
	info = attrs->info;
	attrs->tx = info->tx_attr ? info->tx_attr : &no_tx;
	attrs->rx = info->rx_attr ? info->rx_attr : &no_rx;
	attrs->ep = info->ep_attr ? info->ep_attr : &no_ep;
	attrs->domain = info->domain_attr ? info->domain_attr : &no_domain;
	attrs->fabric = info->fabric_attr ? info->fabric_attr : &no_fabric;
}

void wf_info_ctx_init(struct wf_info_ctx *ctx, const struct wf_prov *prov,
	uint32_t version, const struct fi_info *tmpl, const struct fi_info *hints)
{
	ctx->prov = prov;
	ctx->version = version;
	ctx->hinted = hints != NULL;
	match_set_attrs(&ctx->tmpl, tmpl);
	match_set_attrs(&ctx->hint, hints);
}

static const void *match_structure_of(
	const struct wf_info_attrs *attrs, enum wf_info_struct structure)
{
	switch (structure) {
	case WF_INFO_TX:
		return attrs->tx;
	case WF_INFO_RX:
		return attrs->rx;
	case WF_INFO_EP:
		return attrs->ep;
	case WF_INFO_DOMAIN:
		return attrs->domain;
	case WF_INFO_INFO:
		break;
	}
	return attrs->info;
}

static uint64_t match_value_of(
	const struct wf_info_attrs *attrs, const struct wf_info_rule *rule)
{
	const char *at =
		(const char *)match_structure_of(attrs, rule->structure) + rule->offset;
	uint32_t narrow;
	uint64_t wide;

	if (rule->size == sizeof(narrow)) {
		memcpy(&narrow, at, sizeof(narrow));
		return narrow;
	}
	memcpy(&wide, at, sizeof(wide));
	return wide;
}

static bool match_applies(
	const struct wf_info_ctx *ctx, const struct wf_info_rule *rule)
{
	return ctx->version >= rule->since &&
	       (!rule->until || ctx->version < rule->until);
}

static bool match_plain_met(const struct wf_info_ctx *ctx,
	const struct wf_info_rule *rule, struct wf_info_reason *why)
{
	uint64_t asked, has;

	if (rule->test == WF_INFO_ANY)
		return true;
	asked = match_value_of(&ctx->hint, rule);
	has = match_value_of(&ctx->tmpl, rule);
	if (!asked || (rule->when && !rule->when(ctx)))
		return true;
	switch (rule->test) {
	case WF_INFO_ANY:
		break;
	case WF_INFO_EQUAL:
		return asked == has || wf_info_deny(why, asked, has, rule->show);
	case WF_INFO_MOST:
		return asked <= has || wf_info_deny(why, asked, has, rule->show);
	case WF_INFO_BITS:
		return !(asked & ~has) ||
		       wf_info_deny(why, asked & ~has, has, rule->show);
	case WF_INFO_GONE:
		return wf_info_deny(why, asked, 0, rule->show);
	}
	return true;
}

bool wf_info_met(const struct wf_info_ctx *ctx, struct wf_info_reason *why)
{
	if (!ctx->hinted)
		return true;
	for (size_t t = 0; all_rules[t]; t++) {
		for (size_t i = 0; i < all_rules[t]->count; i++) {
			const struct wf_info_rule *rule = &all_rules[t]->rules[i];

			if (!match_applies(ctx, rule))
				continue;
			why->field = rule->field;
			if (!(rule->met ? rule->met(ctx, why)
					: match_plain_met(ctx, rule, why)))
				return false;
		}
	}
	return true;
}

static void match_reply(const struct wf_info_ctx *ctx, const struct wf_info_rule *rule,
	const struct wf_info_attrs *out, struct fi_info *info)
{
	char *at = (char *)match_structure_of(out, rule->structure) + rule->offset;
	uint64_t asked, value;
	uint32_t narrow;

	if (rule->fill) {
		rule->fill(ctx, info);
		return;
	}
	if (rule->reply == WF_INFO_TEMPLATE)
		return;
	asked = match_value_of(&ctx->hint, rule);
	value = match_value_of(&ctx->tmpl, rule);
	switch (rule->reply) {
	case WF_INFO_TEMPLATE:
		break;
	case WF_INFO_HINT:
		value = asked ? asked : value;
		break;
	case WF_INFO_LOWER:
		value = asked && asked < value ? asked : value;
		break;
	case WF_INFO_EXACT:
		value = asked;
		break;
	case WF_INFO_ZERO:
		value = 0;
		break;
	}
	narrow = (uint32_t)value;
	if (rule->size == sizeof(narrow))
		memcpy(at, &narrow, sizeof(narrow));
	else
		memcpy(at, &value, sizeof(value));
}

struct fi_info *wf_info_narrow(const struct wf_info_ctx *ctx)
{
	struct fi_info *info = fi_dupinfo(ctx->tmpl.info);
	struct wf_info_attrs out;

	if (!info)
		return NULL;
	match_set_attrs(&out, info);
	for (size_t t = 0; all_rules[t]; t++)
		for (size_t i = 0; i < all_rules[t]->count; i++)
			if (match_applies(ctx, &all_rules[t]->rules[i]))
				match_reply(ctx, &all_rules[t]->rules[i], &out, info);
	return info;
}

char *wf_info_show(char *buf, size_t len, uint64_t value, int show)
{
	uint32_t narrow = (uint32_t)value;
	const void *data = &narrow;

	switch (show) {
	case WF_INFO_NUMBER:
		(void)snprintf(buf, len, "%" PRIu64, value);
		return buf;
	case WF_INFO_HEX:
		(void)snprintf(buf, len, "0x%" PRIx64, value);
		return buf;
	case FI_TYPE_CAPS:
	case FI_TYPE_OP_FLAGS:
	case FI_TYPE_MSG_ORDER:
	case FI_TYPE_MODE:
		data = &value;
		break;
	default:
		break;
	}
	*buf = '\0';
	if (value)
		(void)fi_tostr_r(buf, len, data, (enum fi_type)show);
	else
		(void)snprintf(buf, len, "none");
	/* A value without a name is shown as a number. */
	if (!*buf || !strcmp(buf, "Unknown"))
		(void)snprintf(buf, len, "0x%" PRIx64, value);
	return buf;
}

bool wf_info_deny(
	struct wf_info_reason *why, uint64_t asked, uint64_t possible, int show)
{
	(void)wf_info_show(why->asked, sizeof(why->asked), asked, show);
	(void)wf_info_show(why->possible, sizeof(why->possible), possible, show);
	return false;
}

bool wf_info_deny_text(
	struct wf_info_reason *why, const char *asked, const char *possible_fmt, ...)
{
	va_list args;

	(void)snprintf(why->asked, sizeof(why->asked), "%s", asked);
	va_start(args, possible_fmt);
	(void)vsnprintf(why->possible, sizeof(why->possible), possible_fmt, args);
	va_end(args);
	return false;
}

static bool match_is_new(struct wf_info_log *log, const char *line)
{
	uint64_t hash = UINT64_C(0xcbf29ce484222325);

	while (*line)
		hash = (hash ^ (unsigned char)*line++) * UINT64_C(0x100000001b3);
	for (size_t i = 0; i < log->count; i++)
		if (log->seen[i] == hash)
			return false;
	if (log->count < WF_ARRAY_SIZE(log->seen))
		log->seen[log->count++] = hash;
	return true;
}

void wf_info_refuse(const struct wf_info_ctx *ctx, const char *iface,
	const struct wf_info_reason *why)
{
	char type[64], line[sizeof(*why) + 256];

	if (!fi_log_enabled(ctx->prov->fi, FI_LOG_INFO, FI_LOG_CORE))
		return;
	(void)wf_info_show(type, sizeof(type), ctx->tmpl.ep->type, FI_TYPE_EP_TYPE);
	(void)snprintf(line, sizeof(line), "%s: asked %s, possible %s (%s%s%s)",
		why->field, why->asked, why->possible, type, iface ? ", " : "",
		iface ? iface : "");
	if (!ctx->log || match_is_new(ctx->log, line))
		FI_INFO(ctx->prov->fi, FI_LOG_CORE, "refused: %s\n", line);
}

int wf_info_match(const struct wf_prov *prov, uint32_t version,
	const struct fi_info *tmpl, const struct fi_info *hints)
{
	struct wf_info_reason why;
	struct wf_info_ctx ctx = { .log = NULL };

	wf_info_ctx_init(&ctx, prov, version, tmpl, hints);
	if (wf_info_met(&ctx, &why) &&
		/* With interfaces, names are compared for each interface. */
		(prov->iface_param || wf_info_names_met(&ctx, prov->default_fabric,
					      prov->default_domain, &why)))
		return 0;
	wf_info_refuse(&ctx, NULL, &why);
	return -FI_ENODATA;
}
