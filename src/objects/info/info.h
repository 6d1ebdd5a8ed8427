/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_INFO_H
#define WF_OBJECTS_INFO_H

#include <rdma/fabric.h>

#include "objects/provider.h"

/*
 * Matching hints against what a provider offers, and producing the answer.
 *
 * Every refusal is one log line at FI_LOG_INFO, subsystem FI_LOG_CORE:
 *   refused: <field>: asked <what>, possible <what> (<endpoint type>[, <interfaces>])
 * so that FI_LOG_LEVEL=info and fi_info --why can tell the reason.
 */

/*
 * How templates are read, beyond their plain values:
 * - control_progress and data_progress: the most that is offered. Hints that leave
 *   progress open get FI_PROGRESS_MANUAL, because automatic progress takes a thread.
 * - comp_order, total_buffered_recv: only for callers of API versions below 2.0.
 * - mr_mode: the bits that the provider needs, never the two old models; those are
 *   offered where the needed bits allow.
 * - tclass: a class, if the provider marks its traffic; then hints are echoed.
 * - mem_tag_format: 0 for 64 bits of which any may be ignored.
 * - max_ep_auth_key: not 0, if authorization keys may come with addresses.
 * - tx_ctx_cnt, rx_ctx_cnt of FI_SHARED_CONTEXT: only endpoints with a shared context.
 * - addr_format: FI_SOCKADDR_IP for both versions of IP, or one of them; FI_ADDR_STR.
 */

/* 0, or -FI_ENODATA with the reason logged. @hints may be NULL. */
int wf_info_match(const struct wf_prov *prov, uint32_t version,
	const struct fi_info *tmpl, const struct fi_info *hints);

/* A copy of @tmpl narrowed and filled as fi_getinfo(3) answers to @hints. */
struct fi_info *wf_info_answer(const struct wf_prov *prov, uint32_t version,
	const struct fi_info *tmpl, const struct fi_info *hints);

/* What @tmpl answers to @hints for a fabric and a domain of these names, without
 * addresses. -FI_ENODATA with the reason logged, -FI_ENOMEM. */
int wf_info_named(const struct wf_prov *prov, uint32_t version,
	const struct fi_info *tmpl, const struct fi_info *hints, const char *fabric,
	const char *domain, struct fi_info **ret_info);

/* The whole fi_provider.getinfo of an IP provider: interfaces, name resolution,
 * sources and routes, NIC attributes, names of fabric and domain, open instances. */
int wf_ip_getinfo(const struct wf_prov *prov, uint32_t version, const char *node,
	const char *service, uint64_t flags, const struct fi_info *hints,
	struct fi_info **ret_info);

/* The same for a provider of this machine only, whose endpoints have names
 * (FI_ADDR_STR). One without a source is called after the process. */
int wf_str_getinfo(const struct wf_prov *prov, uint32_t version, const char *node,
	const char *service, uint64_t flags, const struct fi_info *hints,
	struct fi_info **ret_info);

/* Is @info (from fi_getinfo, perhaps narrowed by the application) something that
 * @prov can open now? 0, or -FI_EINVAL / -FI_ENODATA with the reason logged. */
int wf_info_check(
	const struct wf_prov *prov, uint32_t version, const struct fi_info *info);

#endif
