/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_CORE_FABRIC_H
#define WF_CORE_FABRIC_H

#include <rdma/fabric.h>

/* fi_fabric(3): find the provider that @attr names, open a fabric with it and wrap the
 * fabric in the hooks of FI_HOOK. */
int wf_core_fabric(const struct fi_fabric_attr *attr, struct fid_fabric **ret_fabric,
	void *context);

/* wf_core_fabric without hooks, for a stand-in, which opens the fabric of another
 * provider: the hooks wrap the fabric that the stand-in returns. */
int wf_core_fabric_below(const struct fi_fabric_attr *attr,
	struct fid_fabric **ret_fabric, void *context);

/* Tell the user of names in FI_HOOK that no hook has. Called once, by wf_core_init. */
void wf_core_check_hooks(void);

#endif
