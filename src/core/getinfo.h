/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_CORE_GETINFO_H
#define WF_CORE_GETINFO_H

#include <rdma/fabric.h>
#include <rdma/providers/fi_prov.h>

/* fi_getinfo(3) for the current layout of struct fi_info. */
int wf_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
	const struct fi_info *hints, struct fi_info **ret_info);

/* The arguments of a call, for a provider of the core's that asks another. */
struct wf_query {
	uint32_t version;
	const char *node;
	const char *service;
	uint64_t flags;
	const struct fi_info *hints; /* may be NULL */
};

/* The results of provider @name, as if the hints of @query named it, without results of
 * layers above it. Only a provider's getinfo may call this. -FI_ENODATA: no result, or
 * no such provider. */
int wf_getinfo_from(
	const char *name, const struct wf_query *query, struct fi_info **ret_info);

/* The provider whose getinfo the calling thread is in; the innermost one. Only a
 * provider's getinfo may call this. */
const struct fi_provider *wf_getinfo_asked(void);

#endif
