/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_INFO_ADDR_H
#define WF_OBJECTS_INFO_ADDR_H

#include "objects/info/rule.h"
#include "sys/sockaddr.h"

/* Resolving the node, service and addresses of fi_getinfo(3) to Internet addresses. */

enum { WF_INFO_ADDRS_MAX = 32 };

struct wf_info_addrs {
	union wf_sockaddr addr[WF_INFO_ADDRS_MAX];
	size_t count;
};

/* The address format of @sa: FI_SOCKADDR_IN or FI_SOCKADDR_IN6. */
uint32_t wf_info_format_of(const union wf_sockaddr *sa);

/* Resolve @node and @service (one of them may be NULL) to addresses, the most suitable
 * first. @flags: with FI_SOURCE, addresses to bind to, else addresses of peers; with
 * FI_NUMERICHOST, no name resolution, which otherwise may block for seconds.
 * -FI_ENODATA and -FI_EINVAL fill @why, -FI_ENOMEM does not. */
int wf_info_lookup(const struct wf_info_ctx *ctx, const char *node, const char *service,
	uint64_t flags, struct wf_info_addrs *ret, struct wf_info_reason *why);

/* Take over an address of the hints, @len bytes at @addr; @field is its name in @why.
 * -FI_EINVAL, with @why filled: not an Internet address. */
int wf_info_hint_addr(const char *field, const void *addr, size_t len,
	struct wf_info_addrs *ret, struct wf_info_reason *why);

#endif
