/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VERBS_DEVICE_H
#define VERBS_DEVICE_H

#include "objects/info/device.h"
#include "providers/verbs/verbs.h"

/* One port of a device that discovery found, and what endpoints over it can do. */
struct verbs_device {
	char *name; /* of the device: "mlx5_0" */
	struct ibv_device_attr attr;
	uint8_t port;
	struct ibv_port_attr port_attr;
	union ibv_gid gid;    /* at the index FI_VERBS_GID_IDX */
	uint32_t inline_size; /* bytes that a send may have inline */
	char *netif;          /* its network interface, or NULL */
	char *fabric;         /* "IB-0xfe80000000000000" */
	char *msg_domain, *dgram_domain;
	struct fid_nic *nic;
};

/* wf_prov.devices and wf_prov.cleanup */
const struct wf_devices *verbs_devices(bool rescan);
void verbs_devices_done(void);

/* The device of the domain with that name (msg_domain or dgram_domain); NULL: none. */
const struct verbs_device *verbs_device_find(const char *domain);

/* Open a context of the device. 0 or a negative errno, logged. */
int verbs_device_open(
	const struct verbs_device *device, struct ibv_context **ret_context);

#endif
