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

/*
 * The name that an endpoint with names of text (FI_ADDR_STR) begins with:
 * info->src_addr, or one made up after the process. As many endpoints may come from one
 * info, what begins with "fi_shm://" is followed by ":<user>:<number>", with another
 * number at each call: a caller that finds the name taken asks again. @ret_name has
 * WF_ADDRSTR_MAX bytes, and gets the one spelling of sys/addrstr.h. -FI_EINVAL:
 * src_addr is no name, or too long then.
 */
int wf_name_text_first(
	const struct fi_provider *prov, const struct fi_info *info, char *ret_name);

/* fi_getname's answer: wf_name_give of the name with its NUL. */
int wf_name_text_give(const char *name, void *addr, size_t *len);

/* fi_setname's argument, as it is: spelled into @ret_name, of the same length.
 * -FI_EINVAL, logged: no name. */
int wf_name_text_read(
	const struct fi_provider *prov, const void *addr, size_t len, char *ret_name);

#endif
