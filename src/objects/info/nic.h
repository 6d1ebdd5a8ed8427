/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_INFO_NIC_H
#define WF_OBJECTS_INFO_NIC_H

#include <stdbool.h>
#include <stdint.h>
#include <rdma/fabric.h>

/* Attributes of a NIC as texts and numbers. An empty text or a 0 is unknown. */
struct wf_nic_facts {
	char name[64];
	char device_id[16], vendor_id[16]; /* such as "0x8086" */
	char version[16], driver[32], firmware[64];
	char address[64]; /* link-layer address */
	char network[16]; /* such as "Ethernet" */
	size_t mtu;       /* bytes */
	uint64_t speed_bps;
	enum fi_link_state state;
	bool has_pci;
	struct {
		uint16_t domain;
		uint8_t bus, device, function;
	} pci;
};

/* Make an object with NIC attributes, for fi_info.nic; fi_nic(3). fi_freeinfo closes
 * it, fi_dupinfo copies it (FI_DUP). -FI_ENOMEM. */
int wf_nic_make(const struct wf_nic_facts *facts, struct fid_nic **ret_nic);

#endif
