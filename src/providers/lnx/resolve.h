/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef LNX_RESOLVE_H
#define LNX_RESOLVE_H

#include "providers/lnx/links.h"

/*
 * Give @info, an answer of @link, its addr_format and the addresses that fi_getinfo(3)
 * was asked for: node and service, or those in @hints. Members look names up.
 * -FI_ENODATA with the reason logged: no member has such an address. -FI_ENOMEM.
 */
int lnx_resolve(const struct lnx_link *link, const char *node, const char *service,
	uint64_t flags, const struct fi_info *hints, struct fi_info *info);

#endif
