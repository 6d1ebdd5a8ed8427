/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_LNX_NOTHING_BELOW_H
#define TESTS_UNIT_LNX_NOTHING_BELOW_H

/* The links that lnx looks for below have no provider. */

#include "unit.h"

#include <rdma/fabric.h>
#include <rdma/fi_errno.h>

int __wrap_fi_getinfo(uint32_t version, const char *node, const char *service,
	uint64_t flags, const struct fi_info *hints, struct fi_info **ret_info);
int __wrap_fi_fabric(
	struct fi_fabric_attr *attr, struct fid_fabric **ret_fabric, void *context);

int __wrap_fi_getinfo(uint32_t version, const char *node, const char *service,
	uint64_t flags, const struct fi_info *hints, struct fi_info **ret_info)
{
	return -FI_ENODATA;
}

int __wrap_fi_fabric(
	struct fi_fabric_attr *attr, struct fid_fabric **ret_fabric, void *context)
{
	return -FI_ENODATA;
}

#endif
