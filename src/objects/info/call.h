/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_INFO_CALL_H
#define WF_OBJECTS_INFO_CALL_H

#include "objects/info/rule.h"

/*
 * One call of fi_getinfo, whatever the addresses look like. First the templates are
 * matched, so that hints that fit none cost no look-up; then whoever knows about
 * addresses adds answers.
 */
struct wf_info_call {
	struct wf_info_ctx *matched; /* templates that meet the hints */
	size_t matched_count;
	struct wf_info_log log;
	struct fi_info *head, **tail;
};

/* Looks at flags and hints. -FI_EBADFLAGS and -FI_ENODATA with the reason logged,
 * -FI_ENOMEM. On failure, too, _end. */
int wf_info_call_begin(struct wf_info_call *call, const struct wf_prov *prov,
	uint32_t version, uint64_t flags, const struct fi_info *hints);

/* Takes @info, an answer with all its addresses and names. */
void wf_info_call_add(
	struct wf_info_call *call, const struct wf_info_ctx *ctx, struct fi_info *info);

/* What the call returns, given how it went. */
int wf_info_call_end(struct wf_info_call *call, int err, struct fi_info **ret_info);

/*
 * Is @node, as fi_getinfo was given it for a peer, on a machine that there is, so that
 * it may be a name of this one? An address without a format has to be a number, what an
 * endpoint goes by (wf_prov.node_known), or a host's name, which may take long to look
 * up. -FI_ENODATA, logged: no endpoint can be there.
 */
int wf_info_node_known(const struct wf_prov *prov, const char *node, uint64_t flags);

/* What node and service are about, and the addresses of hints that count. */
struct wf_info_ends {
	bool named;             /* there is a node or a service */
	bool source;            /* they name our side */
	const void *src, *dest; /* NULL: none */
	size_t src_len, dest_len;
};

/* -FI_EINVAL with a reason: FI_SOURCE without a name. */
int wf_info_ends(const struct wf_info_ctx *ctx, const char *node, const char *service,
	uint64_t flags, struct wf_info_ends *ret, struct wf_info_reason *why);

/* Where @node is fmt://..., it has a service of its own. -FI_EINVAL with a reason. */
int wf_info_lone_node(const char *service, struct wf_info_reason *why);

#endif
