/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_INFO_CALL_H
#define WF_OBJECTS_INFO_CALL_H

#include "objects/info/rule.h"

/*
 * One call of fi_getinfo(3) for any address format. First the templates are matched, so
 * that hints that match none cost no name resolution; then the code for the address
 * format (ip.c, str.c) adds answers.
 */
struct wf_info_call {
	struct wf_info_ctx *matched; /* templates that meet the hints */
	size_t matched_count;
	struct wf_info_log log;       /* lines that the call has logged */
	struct fi_info *head, **tail; /* the list of answers; NULL: none yet */
};

/* Arguments of fi_getinfo that concern templates. */
struct wf_info_ask {
	const struct wf_prov *prov;
	uint32_t version;            /* API version of the caller */
	const struct fi_info *hints; /* may be NULL */
};

/* Begin a call. wf_info_call_end ends it. The flags of fi_getinfo are checked in the
 * core: layers of other libraries call providers with flags of their own. */
void wf_info_call_init(struct wf_info_call *call);

/* Match the hints with @templates (NULL-terminated) anew. -FI_ENODATA: none meets them,
 * and the reasons are logged; -FI_ENOMEM. */
int wf_info_call_match(struct wf_info_call *call, const struct wf_info_ask *ask,
	const struct fi_info *const *templates);

/* wf_info_call_init and wf_info_call_match, for a provider with one set of templates
 * (wf_prov.templates). */
int wf_info_call_begin(struct wf_info_call *call, const struct wf_prov *prov,
	uint32_t version, const struct fi_info *hints);

/* Append @info, an answer with all its addresses and names, and take ownership of
 * it. */
void wf_info_call_add(
	struct wf_info_call *call, const struct wf_info_ctx *ctx, struct fi_info *info);

/* End the call: return the answers in *ret_info, or free them if @err is not 0. Returns
 * the result of fi_getinfo. */
int wf_info_call_end(struct wf_info_call *call, int err, struct fi_info **ret_info);

/*
 * Check the node of a peer that fi_getinfo was asked for, in a provider whose endpoints
 * have names. A node without a format prefix has to be a number, the name of an
 * endpoint (wf_prov.node_known), or a host name, whose resolution may take long. 0, or
 * -FI_ENODATA, logged: no endpoint can have that name.
 */
int wf_info_node_known(const struct wf_prov *prov, const char *node, uint64_t flags);

/* The sources of an answer's addresses: node and service, or addresses of the hints. */
struct wf_info_ends {
	bool named;  /* a node or a service is given */
	bool source; /* node and service name the local address (FI_SOURCE) */
	const void *src, *dest; /* addresses in the hints that apply; NULL: none */
	size_t src_len, dest_len;
};

/* Fill *ret. -FI_EINVAL, with @why filled: FI_SOURCE without node and service. */
int wf_info_ends(const struct wf_info_ctx *ctx, const char *node, const char *service,
	uint64_t flags, struct wf_info_ends *ret, struct wf_info_reason *why);

/* Check the service beside a node fmt://..., which includes one: it must be NULL, else
 * -FI_EINVAL with @why filled. */
int wf_info_lone_node(const char *service, struct wf_info_reason *why);

#endif
