/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/info/rule.h"

#include <string.h>
#include <strings.h>

#include "objects/fabric.h"

/* Matching the names of fabric and domain, open instances and address formats. */

bool wf_info_format_covers(uint32_t general, uint32_t format)
{
	bool ip = format == FI_SOCKADDR_IN || format == FI_SOCKADDR_IN6;

	if (general == FI_FORMAT_UNSPEC || general == format)
		return true;
	if (general == FI_SOCKADDR_IP)
		return ip;
	return general == FI_SOCKADDR &&
	       (ip || format == FI_SOCKADDR_IP || format == FI_SOCKADDR_IB);
}

bool wf_info_format_met(const struct wf_info_ctx *ctx, struct wf_info_reason *why)
{
	uint32_t asked = ctx->hint.info->addr_format, has = ctx->tmpl.info->addr_format;

	return wf_info_format_covers(asked, has) || wf_info_format_covers(has, asked) ||
	       wf_info_deny(why, asked, has, FI_TYPE_ADDR_FORMAT);
}

static bool name_same(const char *asked, const char *name)
{
	return !asked || (name && !strcasecmp(asked, name));
}

/* Hints may have a pointer to an object of another provider, or to a closed object. So
 * a pointer is only compared with the open instances, and never dereferenced. */
bool wf_info_names_met(const struct wf_info_ctx *ctx, const char *fabric,
	const char *domain, struct wf_info_reason *why)
{
	const struct fi_fabric_attr *fattr = ctx->hint.fabric;
	const struct fi_domain_attr *dattr = ctx->hint.domain;

	why->field = "fabric_attr.name";
	if (!name_same(fattr->name, fabric))
		return wf_info_deny_text(why, fattr->name, "%s", fabric);
	why->field = "domain_attr.name";
	if (!name_same(dattr->name, domain))
		return wf_info_deny_text(why, dattr->name, "%s", domain);
	why->field = "fabric_attr.fabric";
	if (fattr->fabric && !wf_fabric_is_open(ctx->prov, fattr->fabric, fabric))
		return wf_info_deny_text(
			why, "an open fabric", "the open ones of %s", fabric);
	why->field = "domain_attr.domain";
	if (dattr->domain &&
		!wf_domain_is_open(ctx->prov, dattr->domain, fabric, domain))
		return wf_info_deny_text(
			why, "an open domain", "the open ones of %s", domain);
	return true;
}

void wf_info_fill_open(const struct wf_info_ctx *ctx, struct fi_info *info)
{
	struct fi_fabric_attr *fattr = info->fabric_attr;
	struct fi_domain_attr *dattr = info->domain_attr;

	fattr->fabric = ctx->hint.fabric->fabric
				? ctx->hint.fabric->fabric
				: wf_fabric_find(ctx->prov, fattr->name);
	dattr->domain = ctx->hint.domain->domain
				? ctx->hint.domain->domain
				: wf_domain_find(ctx->prov, fattr->name, dattr->name);
}
