/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VERBS_CM_DEVICE_H
#define VERBS_CM_DEVICE_H

#include "providers/verbs/verbs.h"

/* The device that librdmacm chose for an identifier; NULL: none, or one that discovery
 * did not find. */
const struct verbs_device *verbs_cm_device(const struct rdma_cm_id *id);

/* Has the identifier the device of @domain? -FI_ENODEV, logged: a connection would need
 * another domain. */
int verbs_cm_same_device(
	const struct verbs_domain *domain, const struct rdma_cm_id *id);

/* Name the domain of the device that @id came by in @info. -FI_ENODEV, -FI_ENOMEM. */
int verbs_cm_name_domain(const struct rdma_cm_id *id, struct fi_info *info);

#endif
