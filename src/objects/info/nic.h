/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_INFO_NIC_H
#define WF_OBJECTS_INFO_NIC_H

#include <rdma/fabric.h>

#include "sys/netif.h"

/* Make an object with the NIC attributes of an interface, for fi_info.nic; fi_nic(3).
 * fi_freeinfo closes it, fi_dupinfo copies it (FI_DUP). -FI_ENOMEM. */
int wf_nic_new(const struct wf_netif *link, struct fid_nic **ret_nic);

#endif
