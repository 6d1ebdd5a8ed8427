/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_INFO_NIC_H
#define WF_OBJECTS_INFO_NIC_H

#include <rdma/fabric.h>

#include "sys/netif.h"

/* The NIC attributes of an interface, to hang into fi_info.nic; fi_freeinfo closes
 * them and fi_dupinfo copies them (FI_DUP). -FI_ENOMEM. */
int wf_nic_new(const struct wf_netif *link, struct fid_nic **ret_nic);

#endif
