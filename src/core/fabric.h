/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_CORE_FABRIC_H
#define WF_CORE_FABRIC_H

#include <rdma/fabric.h>

/* fi_fabric(3): find the provider that @attr names and let it open a fabric, with
 * the hooks that the user wants in front of it. */
int wf_core_fabric(const struct fi_fabric_attr *attr, struct fid_fabric **ret_fabric,
	void *context);

/* The same without hooks, for a provider of the core's that opens the fabric of another
 * provider; hooks wrap the fabric that it returns. */
int wf_core_fabric_below(const struct fi_fabric_attr *attr,
	struct fid_fabric **ret_fabric, void *context);

#endif
