/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/info/call.h"

#include <stdlib.h>

int wf_info_call_match(struct wf_info_call *call, const struct wf_info_ask *ask,
	const struct fi_info *const *templates)
{
	struct wf_info_reason why;
	size_t count = 0;

	while (templates[count])
		count++;
	free(call->matched);
	call->matched_count = 0;
	call->matched = calloc(count + 1, sizeof(*call->matched));
	if (!call->matched)
		return -FI_ENOMEM;
	for (size_t i = 0; i < count; i++) {
		struct wf_info_ctx *ctx = &call->matched[call->matched_count];

		ctx->log = &call->log;
		wf_info_ctx_init(
			ctx, ask->prov, ask->version, templates[i], ask->hints);
		if (wf_info_met(ctx, &why))
			call->matched_count++;
		else
			wf_info_refuse(ctx, NULL, &why);
	}
	return call->matched_count ? 0 : -FI_ENODATA;
}

void wf_info_call_init(struct wf_info_call *call)
{
	*call = (struct wf_info_call){ .tail = &call->head };
}

int wf_info_call_begin(struct wf_info_call *call, const struct wf_prov *prov,
	uint32_t version, const struct fi_info *hints)
{
	const struct wf_info_ask ask = {
		.prov = prov,
		.version = version,
		.hints = hints,
	};

	wf_info_call_init(call);
	return wf_info_call_match(call, &ask, prov->templates);
}

void wf_info_call_add(
	struct wf_info_call *call, const struct wf_info_ctx *ctx, struct fi_info *info)
{
	wf_info_fill_open(ctx, info);
	*call->tail = info;
	call->tail = &info->next;
}

int wf_info_call_end(struct wf_info_call *call, int err, struct fi_info **ret_info)
{
	free(call->matched);
	if (!err && !call->head)
		err = -FI_ENODATA;
	if (!err)
		*ret_info = call->head;
	else
		fi_freeinfo(call->head);
	return err;
}

int wf_info_ends(const struct wf_info_ctx *ctx, const char *node, const char *service,
	uint64_t flags, struct wf_info_ends *ret, struct wf_info_reason *why)
{
	const struct fi_info *hint = ctx->hint.info;
	struct wf_info_ends ends = {
		.named = node || service,
		.source = flags & FI_SOURCE,
	};

	if (ends.source && !ends.named) {
		why->field = "flags";
		(void)wf_info_deny_text(
			why, "FI_SOURCE alone", "with a node or a service");
		return -FI_EINVAL;
	}
	if (!ends.source) {
		ends.src = hint->src_addr;
		ends.src_len = hint->src_addrlen;
	}
	if (ends.source || !ends.named) {
		ends.dest = hint->dest_addr;
		ends.dest_len = hint->dest_addrlen;
	}
	*ret = ends;
	return 0;
}

int wf_info_lone_node(const char *service, struct wf_info_reason *why)
{
	if (!service)
		return 0;
	why->field = "service";
	(void)wf_info_deny_text(
		why, service, "none, as node is an address with a service of its own");
	return -FI_EINVAL;
}
