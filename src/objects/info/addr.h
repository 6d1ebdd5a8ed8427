/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_INFO_ADDR_H
#define WF_OBJECTS_INFO_ADDR_H

#include "objects/info/rule.h"
#include "sys/sockaddr.h"

/* Node, service and addresses in hints, turned into Internet addresses. */

enum { WF_INFO_ADDRS_MAX = 32 };

struct wf_info_addrs {
	union wf_sockaddr addr[WF_INFO_ADDRS_MAX];
	size_t count;
};

uint32_t wf_info_format_of(const union wf_sockaddr *sa);

/* Resolve @node and @service (one of them may be NULL) to addresses, best first.
 * @flags: FI_SOURCE for addresses to bind to instead of addresses to reach,
 * FI_NUMERICHOST for no name resolution. Numbers are never resolved. -FI_ENODATA,
 * -FI_EINVAL, -FI_ENOMEM; the first two with a reason. */
int wf_info_lookup(const struct wf_info_ctx *ctx, const char *node, const char *service,
	uint64_t flags, struct wf_info_addrs *ret, struct wf_info_reason *why);

/* The address of hints alone. -FI_EINVAL with a reason. */
int wf_info_hint_addr(const char *field, const void *addr, size_t len,
	struct wf_info_addrs *ret, struct wf_info_reason *why);

#endif
