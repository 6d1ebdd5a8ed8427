/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_ENDPOINT_NAME_H
#define WF_OBJECTS_ENDPOINT_NAME_H

#include "objects/provider.h"
#include "sys/sockaddr.h"

/* Names of endpoints, as calls take and give them. Refusals are logged. */

/* fi_getname's answer: as much of @size bytes at @name as *len has room for, and *len
 * is @size then. -FI_ETOOSMALL: that was not all. */
int wf_name_give(const void *name, size_t size, void *addr, size_t *len);

/* The name that an endpoint begins with: @info->src_addr, or no particular one. */
int wf_name_first(const struct wf_prov *prov, const struct fi_info *info,
	const char *call, union wf_sockaddr *ret);

/* fi_setname's argument, which has to be of @family. */
int wf_name_read(const struct wf_prov *prov, const void *addr, size_t len, int family,
	union wf_sockaddr *ret);

#endif
