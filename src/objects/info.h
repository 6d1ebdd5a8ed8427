/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_INFO_H
#define WF_OBJECTS_INFO_H

#include <rdma/fabric.h>

#include "objects/provider.h"

/*
 * Matching hints against what a provider offers, and producing the answer.
 *
 * Every refusal is one log line at FI_LOG_INFO, subsystem FI_LOG_CORE:
 *   refused: <field>: asked <what>, possible <what> (<endpoint type>[, <interface>])
 * so that FI_LOG_LEVEL=info and fi_info --why can tell the reason.
 */

/* 0, or -FI_ENODATA with the reason logged. @hints may be NULL. */
int wf_info_match(const struct wf_prov *prov, uint32_t version,
	const struct fi_info *tmpl, const struct fi_info *hints);

/* A copy of @tmpl narrowed and filled as fi_getinfo(3) answers to @hints. */
struct fi_info *wf_info_answer(const struct wf_prov *prov, uint32_t version,
	const struct fi_info *tmpl, const struct fi_info *hints);

/* The whole fi_provider.getinfo of an IP provider: interfaces, name resolution,
 * sources and routes, NIC attributes, names of fabric and domain, open instances. */
int wf_ip_getinfo(const struct wf_prov *prov, uint32_t version, const char *node,
	const char *service, uint64_t flags, const struct fi_info *hints,
	struct fi_info **ret_info);

/* Is @info (from fi_getinfo, perhaps narrowed by the application) something that
 * @prov can open now? 0, or -FI_EINVAL / -FI_ENODATA with the reason logged. */
int wf_info_check(
	const struct wf_prov *prov, uint32_t version, const struct fi_info *info);

#endif
