/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_INFO_INFO_H
#define WF_OBJECTS_INFO_INFO_H

#include <rdma/fabric.h>

#include "objects/provider.h"

/*
 * Matching hints with the templates of a provider and building the answers of
 * fi_getinfo(3). Every function here may be called by any thread; none takes a lock of
 * the caller's objects.
 *
 * Every refusal is one log line at FI_LOG_INFO, subsystem FI_LOG_CORE:
 *   refused: <field>: asked <what>, possible <what> (<endpoint type>[, <interfaces>])
 * so that FI_LOG_LEVEL=info and fi_info --why can tell the reason.
 */

/*
 * Fields of a template with a special meaning:
 * - control_progress, data_progress: the strongest model that the provider offers.
 * Hints that name no model get FI_PROGRESS_MANUAL, because automatic progress takes a
 * thread.
 * - comp_order, total_buffered_recv: used only for callers of API versions below 2.0.
 * - mr_mode: the bits that the provider needs, not FI_MR_BASIC or FI_MR_SCALABLE; those
 *   are offered if the needed bits allow it.
 * - tclass: nonzero if the provider marks its traffic; then the answer repeats the
 * hint.
 * - mem_tag_format: 0 stands for 64 bits, each of which may be ignored.
 * - max_ep_auth_key: nonzero if the AV may hold authorization keys.
 * - tx_ctx_cnt, rx_ctx_cnt: FI_SHARED_CONTEXT if every endpoint needs a shared context.
 * - prov_name: none. The core fills it in each answer, other libraries append the name
 * to what is there.
 * - addr_format: FI_SOCKADDR_IP for IPv4 and IPv6, one of the two, or FI_ADDR_STR.
 */

/* Does @tmpl meet @hints (NULL: none)? 0, or -FI_ENODATA with the reason logged. */
int wf_info_match(const struct wf_prov *prov, uint32_t version,
	const struct fi_info *tmpl, const struct fi_info *hints);

/* A copy of @tmpl, narrowed and filled as the answer to @hints, which @tmpl must meet;
 * without addresses. NULL: no memory. Freed by fi_freeinfo. */
struct fi_info *wf_info_answer(const struct wf_prov *prov, uint32_t version,
	const struct fi_info *tmpl, const struct fi_info *hints);

/* Match @tmpl with @hints and build the answer for the fabric and domain of these
 * names, without addresses. -FI_ENODATA with the reason logged, -FI_ENOMEM. */
int wf_info_named(const struct wf_prov *prov, uint32_t version,
	const struct fi_info *tmpl, const struct fi_info *hints, const char *fabric,
	const char *domain, struct fi_info **ret_info);

/* Complete implementation of fi_provider.getinfo for a provider with Internet
 * addresses: interfaces, name resolution, source addresses, NIC attributes, names of
 * fabric and domain, open instances. Name resolution may block. Errors as
 * fi_getinfo(3). */
int wf_ip_getinfo(const struct wf_prov *prov, uint32_t version, const char *node,
	const char *service, uint64_t flags, const struct fi_info *hints,
	struct fi_info **ret_info);

/* Complete implementation of fi_provider.getinfo for a provider whose endpoints are on
 * this machine and have names (FI_ADDR_STR). If no source address is asked for, the
 * source is a name made of the process id. */
int wf_str_getinfo(const struct wf_prov *prov, uint32_t version, const char *node,
	const char *service, uint64_t flags, const struct fi_info *hints,
	struct fi_info **ret_info);

/* May an object be opened with @info, an answer of fi_getinfo that the application may
 * have changed? 0, or -FI_EINVAL / -FI_ENODATA with the reason logged. */
int wf_info_check(
	const struct wf_prov *prov, uint32_t version, const struct fi_info *info);

#endif
