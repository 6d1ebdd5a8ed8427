/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/endpoint/life/name.h"

#include <string.h>
#include <rdma/fi_errno.h>

#include "sys/compiler.h"

int wf_name_give(const void *name, size_t size, void *addr, size_t *len)
{
	size_t capacity = *len;

	*len = size;
	if (addr)
		memcpy(addr, name, WF_MIN(capacity, size));
	return capacity < size ? -FI_ETOOSMALL : 0;
}

static bool name_read_as(
	const void *addr, size_t len, int family, union wf_sockaddr *ret)
{
	union wf_sockaddr name;

	if (wf_sockaddr_read(addr, len, &name) || name.sa.sa_family != family)
		return false;
	*ret = name;
	return true;
}

int wf_name_first(const struct wf_prov *prov, const struct fi_info *info,
	const char *call, union wf_sockaddr *ret)
{
	int family = info->addr_format == FI_SOCKADDR_IN6 ? AF_INET6 : AF_INET;

	if (!info->src_addr) {
		*ret = wf_sockaddr_any(family);
		return 0;
	}
	if (name_read_as(info->src_addr, info->src_addrlen, family, ret))
		return 0;
	FI_LOG(prov->fi, FI_LOG_WARN, FI_LOG_EP_CTRL,
		"%s: src_addr is not an address in addr_format\n", call);
	return -FI_EINVAL;
}

int wf_name_read(const struct wf_prov *prov, const void *addr, size_t len, int family,
	union wf_sockaddr *ret)
{
	if (name_read_as(addr, len, family, ret))
		return 0;
	FI_LOG(prov->fi, FI_LOG_WARN, FI_LOG_EP_CTRL,
		"fi_setname: not an address in the endpoint's format\n");
	return -FI_EINVAL;
}
