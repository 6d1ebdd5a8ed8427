/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_VERBS_CM_DEVICE_H
#define WF_VERBS_CM_DEVICE_H

#include "providers/verbs/verbs.h"

/* The device that librdmacm chose for an identifier; NULL: none, or a device that
 * discovery did not find. */
const struct verbs_device *verbs_cm_device(const struct rdma_cm_id *id);

/* Is the identifier's device that of @domain? 0, or -FI_ENODEV, which is logged: the
 * connection needs another domain. */
int verbs_cm_same_device(
	const struct verbs_domain *domain, const struct rdma_cm_id *id);

/* Set the domain name in @info to that of the device over which @id arrived. 0,
 * -FI_ENODEV or -FI_ENOMEM. */
int verbs_cm_name_domain(const struct rdma_cm_id *id, struct fi_info *info);

#endif
