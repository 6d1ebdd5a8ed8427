/* SPDX-License-Identifier: BSD-2-Clause */
#include <rdma/fabric.h>
#include <rdma/fi_errno.h>
#include <rdma/providers/fi_prov.h>

#include "../bare_fabric.h"

/* A provider that answers with its hints, so that a caller sees what arrived here. */

static int echo_getinfo(uint32_t version, const char *node, const char *service,
	uint64_t flags, const struct fi_info *hints, struct fi_info **ret_info)
{
	struct fi_info *info;

	if (!hints)
		return -FI_ENODATA;
	info = fi_dupinfo(hints);
	if (!info)
		return -FI_ENOMEM;
	/* Overwritten by the library; here it shows what the hints held. */
	info->addr_format = hints->fabric_attr ? hints->fabric_attr->api_version : 0;
	*ret_info = info;
	return 0;
}

static struct fi_provider echo = {
	.version = FI_VERSION(1, 0),
	.fi_version = FI_VERSION(2, 6),
	.name = "echo",
	.getinfo = echo_getinfo,
	.fabric = bare_fabric,
};

struct fi_provider *fi_prov_ini(void);

FI_EXT_INI
{
	return &echo;
}
