/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_LNX_RESOLVE_H
#define WF_LNX_RESOLVE_H

#include "providers/lnx/links.h"

/*
 * Set the addr_format and the addresses of @info, an answer of @link, to those that
 * fi_getinfo(3) was asked for by node and service or by @hints. The members resolve
 * names. Returns 0; -FI_ENODATA, with the reason logged: no member has such an address;
 * or -FI_ENOMEM.
 */
int lnx_resolve(const struct lnx_link *link, const char *node, const char *service,
	uint64_t flags, const struct fi_info *hints, struct fi_info *info);

#endif
