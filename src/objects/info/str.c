/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/info/call.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sys/addrstr.h"

/*
 * fi_getinfo of a provider whose endpoints have names. A fixed rule makes a name from
 * node and service, without name resolution. All endpoints are on this machine, so
 * there is one answer for each matching template.
 */
struct str_names {
	char src[WF_ADDRSTR_MAX], dest[WF_ADDRSTR_MAX]; /* "": none */
};

#define SERVICE_FORMAT "fi_ns://"

static const char possible[] =
	"a name of 1 to 246 characters, none of them a control character";

static bool str_is_name(const char *text, size_t len)
{
	char spelled[WF_ADDRSTR_MAX];

	return wf_addrstr_spell(spelled, text, len);
}

/* Make a name from node and service. False: it is too long. */
static bool str_join(char *name, const char *node, const char *service)
{
	int len;

	if (service)
		len = snprintf(name, WF_ADDRSTR_MAX, SERVICE_FORMAT "%s%s%s",
			node ? node : "", node ? ":" : "", service);
	else
		len = snprintf(name, WF_ADDRSTR_MAX, "%s%s",
			wf_addrstr_name(node) == node ? WF_ADDRSTR_LOCAL : "", node);
	return len >= 0 && len < WF_ADDRSTR_MAX;
}

static int str_name_of(
	const char *node, const char *service, char *name, struct wf_info_reason *why)
{
	if (node && wf_addrstr_name(node) != node && wf_info_lone_node(service, why))
		return -FI_EINVAL;
	if (str_join(name, node, service) && str_is_name(name, WF_ADDRSTR_MAX))
		return 0;
	why->field = node ? "node" : "service";
	(void)wf_info_deny_text(why, node ? node : service, "%s", possible);
	return -FI_ENODATA;
}

/* Copy a name in the hints, with its format prefix. */
static int str_copy_hint(const char *field, const void *addr, size_t len, char *name,
	struct wf_info_reason *why)
{
	if (str_is_name(addr, len)) {
		(void)snprintf(name, WF_ADDRSTR_MAX, "%s", (const char *)addr);
		return 0;
	}
	why->field = field;
	(void)wf_info_deny_text(why, "another address", "%s, and a NUL", possible);
	return -FI_EINVAL;
}

static int str_resolve(const struct wf_info_ctx *ctx, const char *node,
	const char *service, uint64_t flags, struct str_names *ret)
{
	struct wf_info_reason why;
	struct wf_info_ends ends;
	int err;

	ret->dest[0] = '\0';
	(void)snprintf(
		ret->src, sizeof(ret->src), WF_ADDRSTR_LOCAL "%ld", (long)getpid());
	err = wf_info_ends(ctx, node, service, flags, &ends, &why);
	if (!err && ends.named)
		err = str_name_of(
			node, service, ends.source ? ret->src : ret->dest, &why);
	if (!err && ends.src)
		err = str_copy_hint("src_addr", ends.src, ends.src_len, ret->src, &why);
	if (!err && ends.dest)
		err = str_copy_hint(
			"dest_addr", ends.dest, ends.dest_len, ret->dest, &why);
	if (err)
		wf_info_refuse(ctx, NULL, &why);
	return err;
}

static int str_give_name(const char *name, void **ret_addr, size_t *ret_len)
{
	if (!*name)
		return 0;
	*ret_addr = strdup(name);
	if (!*ret_addr)
		return -FI_ENOMEM;
	*ret_len = strlen(name) + 1;
	return 0;
}

static int str_emit(struct wf_info_call *call, const struct wf_info_ctx *ctx,
	const struct str_names *names)
{
	struct fi_info *info = wf_info_build(ctx);
	int err;

	if (!info)
		return -FI_ENOMEM;
	err = str_give_name(names->src, &info->src_addr, &info->src_addrlen);
	if (!err)
		err = str_give_name(names->dest, &info->dest_addr, &info->dest_addrlen);
	if (err)
		fi_freeinfo(info);
	else
		wf_info_call_add(call, ctx, info);
	return err;
}

static int str_answer(struct wf_info_call *call, const struct str_names *names)
{
	struct wf_info_reason why;
	int err = 0;

	for (size_t i = 0; i < call->matched_count && !err; i++) {
		const struct wf_info_ctx *ctx = &call->matched[i];

		if (wf_info_names_met(ctx, ctx->prov->default_fabric,
			    ctx->prov->default_domain, &why))
			err = str_emit(call, ctx, names);
		else
			wf_info_refuse(ctx, NULL, &why);
	}
	return err;
}

int wf_str_getinfo(const struct wf_prov *prov, uint32_t version, const char *node,
	const char *service, uint64_t flags, const struct fi_info *hints,
	struct fi_info **ret_info)
{
	struct wf_info_call call;
	struct str_names names;
	int err;

	err = wf_info_call_begin(&call, prov, version, hints);
	if (!err)
		err = str_resolve(call.matched, node, service, flags, &names);
	if (!err)
		err = str_answer(&call, &names);
	/* Last, because name resolution may take seconds. */
	if (!err)
		err = wf_info_node_known(prov, node, flags);
	return wf_info_call_end(&call, err, ret_info);
}
