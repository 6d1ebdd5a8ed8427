/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_CORE_GETINFO_H
#define WF_CORE_GETINFO_H

#include <rdma/fabric.h>

/* fi_getinfo(3) for the current layout of struct fi_info. */
int wf_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
	const struct fi_info *hints, struct fi_info **ret_info);

#endif
