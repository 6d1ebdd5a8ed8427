/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_ENDPOINT_LIFE_NAME_H
#define WF_OBJECTS_ENDPOINT_LIFE_NAME_H

#include "objects/provider.h"
#include "sys/sockaddr.h"

/* Addresses of endpoints, as arguments and results of calls (fi_cm(3)). Invalid ones
 * are logged. */

/* fi_getname: copy as much of @size bytes at @name as *@len allows to @addr, and set
 * *@len to @size. -FI_ETOOSMALL: only a part was copied. */
int wf_name_give(const void *name, size_t size, void *addr, size_t *len);

/* The first address of an endpoint: @info->src_addr, or the wildcard address.
 * -FI_EINVAL, logged under the name @call. */
int wf_name_first(const struct wf_prov *prov, const struct fi_info *info,
	const char *call, union wf_sockaddr *ret);

/* fi_setname: read an address, which must be of @family. -FI_EINVAL, logged. */
int wf_name_read(const struct wf_prov *prov, const void *addr, size_t len, int family,
	union wf_sockaddr *ret);

/*
 * The first name of an endpoint whose names are text (FI_ADDR_STR): info->src_addr, or
 * a name made of the process id. As many endpoints may come from one info,
 * ":<user>:<number>" is appended to a name that begins with "fi_shm://", with another
 * number at each call: a caller that finds the name in use calls again. @ret_name has
 * WF_ADDRSTR_MAX bytes, and gets the normal form of sys/addrstr.h. -FI_EINVAL, logged:
 * src_addr is no name, or the result is too long.
 */
int wf_name_text_first(
	const struct fi_provider *prov, const struct fi_info *info, char *ret_name);

/* fi_getname: wf_name_give for the name with its NUL. */
int wf_name_text_give(const char *name, void *addr, size_t *len);

/* fi_setname: write the normal form of the name @addr, without a suffix, to @ret_name.
 * -FI_EINVAL, logged: it is no name. */
int wf_name_text_read(
	const struct fi_provider *prov, const void *addr, size_t len, char *ret_name);

#endif
