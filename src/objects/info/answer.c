/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/info/rule.h"

#include <stdlib.h>
#include <string.h>

/* Builds an answer of fi_getinfo: copies the template, narrows it rule by rule, then
 * allocates keys and names. */

static int info_answer_copy_text(char **to, const char *from)
{
	char *copy = from ? strdup(from) : NULL;

	if (from && !copy)
		return -FI_ENOMEM;
	free(*to);
	*to = copy;
	return 0;
}

/* Copy an authorization key. With the size FI_AV_AUTH_KEY there is no key to copy. */
static int answer_copy_key(
	uint8_t **to, size_t *to_size, const uint8_t *key, size_t size)
{
	uint8_t *copy = NULL;

	if (key && size && size != FI_AV_AUTH_KEY) {
		copy = malloc(size);
		if (!copy)
			return -FI_ENOMEM;
		memcpy(copy, key, size);
	}
	free(*to);
	*to = copy;
	*to_size = size;
	return 0;
}

static int answer_copy_keys(const struct wf_info_ctx *ctx, struct fi_info *out)
{
	const struct fi_domain_attr *domain = ctx->hint.domain;
	const struct fi_ep_attr *ep = ctx->hint.ep;
	int err = 0;

	/* The structures of API versions before 1.5 lack these fields. */
	if (ctx->version < FI_VERSION(1, 5))
		return 0;
	if (domain->auth_key_size)
		err = answer_copy_key(&out->domain_attr->auth_key,
			&out->domain_attr->auth_key_size, domain->auth_key,
			domain->auth_key_size);
	if (!err && ep->auth_key_size)
		err = answer_copy_key(&out->ep_attr->auth_key,
			&out->ep_attr->auth_key_size, ep->auth_key, ep->auth_key_size);
	return err;
}

int wf_info_set_names(struct fi_info *info, const char *fabric, const char *domain)
{
	int err = info_answer_copy_text(&info->fabric_attr->name, fabric);

	return err ? err : info_answer_copy_text(&info->domain_attr->name, domain);
}

struct fi_info *wf_info_build(const struct wf_info_ctx *ctx)
{
	struct fi_info *info = wf_info_narrow(ctx);

	if (!info)
		return NULL;
	if (answer_copy_keys(ctx, info) ||
		wf_info_set_names(
			info, ctx->prov->default_fabric, ctx->prov->default_domain)) {
		fi_freeinfo(info);
		return NULL;
	}
	return info;
}

struct fi_info *wf_info_answer(const struct wf_prov *prov, uint32_t version,
	const struct fi_info *tmpl, const struct fi_info *hints)
{
	struct wf_info_ctx ctx = { .log = NULL };
	struct fi_info *info;

	wf_info_ctx_init(&ctx, prov, version, tmpl, hints);
	info = wf_info_build(&ctx);
	if (info)
		wf_info_fill_open(&ctx, info);
	return info;
}

int wf_info_named(const struct wf_prov *prov, uint32_t version,
	const struct fi_info *tmpl, const struct fi_info *hints, const char *fabric,
	const char *domain, struct fi_info **ret_info)
{
	struct wf_info_ctx ctx = { .log = NULL };
	struct wf_info_reason why;
	struct fi_info *info;

	wf_info_ctx_init(&ctx, prov, version, tmpl, hints);
	if (!wf_info_met(&ctx, &why) ||
		!wf_info_names_met(&ctx, fabric, domain, &why)) {
		wf_info_refuse(&ctx, NULL, &why);
		return -FI_ENODATA;
	}
	info = wf_info_build(&ctx);
	if (!info)
		return -FI_ENOMEM;
	if (wf_info_set_names(info, fabric, domain)) {
		fi_freeinfo(info);
		return -FI_ENOMEM;
	}
	wf_info_fill_open(&ctx, info);
	*ret_info = info;
	return 0;
}
