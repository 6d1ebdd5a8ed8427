/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/verbs/cm/device.h"

#include <stdlib.h>
#include <string.h>

#include "providers/verbs/device/device.h"

const struct verbs_device *verbs_cm_device(const struct rdma_cm_id *id)
{
	if (!id->verbs)
		return NULL;
	return verbs_device_at(
		VERBS_IBV(get_device_name(id->verbs->device)), id->port_num);
}

int verbs_cm_same_device(const struct verbs_domain *domain, const struct rdma_cm_id *id)
{
	const char *name =
		id->verbs ? VERBS_IBV(get_device_name(id->verbs->device)) : "none";

	if (id->verbs && !strcmp(name, domain->device->name))
		return 0;
	verbs_log(FI_LOG_WARN, FI_LOG_EP_CTRL,
		"the connection needs device %s, the endpoint's domain has %s\n", name,
		domain->device->name);
	return -FI_ENODEV;
}

int verbs_cm_name_domain(const struct rdma_cm_id *id, struct fi_info *info)
{
	const struct verbs_device *device = verbs_cm_device(id);
	struct fi_domain_attr *attr = info->domain_attr;
	char *name;

	if (!device)
		return -FI_ENODEV;
	if (attr->name && !strcmp(attr->name, device->msg_domain))
		return 0;
	name = strdup(device->msg_domain);
	if (!name)
		return -FI_ENOMEM;
	free(attr->name);
	attr->name = name;
	return 0;
}
