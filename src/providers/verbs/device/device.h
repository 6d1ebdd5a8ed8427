/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VERBS_DEVICE_H
#define VERBS_DEVICE_H

#include "objects/info/device.h"
#include "providers/verbs/verbs.h"

struct verbs_addr;

/* One port of a device that discovery found, and what endpoints over it can do. */
struct verbs_device {
	struct verbs_device *next; /* known.c */
	struct verbs_addr *addrs;  /* known.c */
	char *name;                /* of the device: "mlx5_0" */
	struct ibv_device_attr attr;
	uint8_t port;
	bool iwarp;
	bool odp; /* memory may be registered with on-demand paging */
	struct ibv_port_attr port_attr;
	union ibv_gid gid; /* at the index FI_VERBS_GID_IDX */
	/* Bytes that a send may have inline: over a connection, as datagram. */
	uint32_t inline_size, ud_inline_size;
	char *fabric; /* "IB-0xfe80000000000000" */
	/* Names of the domains: that of the device, for a second port with its number;
	 * for datagrams with "-dgram". */
	char *msg_domain, *dgram_domain;
	struct fid_nic *nic;
};

/* wf_prov.devices and wf_prov.cleanup */
const struct wf_devices *verbs_devices(bool rescan);
void verbs_devices_done(void);

/* The device of the domain with that name (msg_domain or dgram_domain); NULL: none. It
 * stays valid until verbs_devices_done. */
const struct verbs_device *verbs_device_find(const char *domain);
/* The port of the device that libibverbs calls @name; as above. */
const struct verbs_device *verbs_device_at(const char *name, uint8_t port);

/* Open a context of the device. 0 or a negative errno, logged. */
int verbs_device_open(
	const struct verbs_device *device, struct ibv_context **ret_context);

/* probe.c: append to @ret, an array of *@count from realloc, the ports of all devices.
 * 0 or -FI_ENOMEM. verbs_device_done releases what one refers to. */
int verbs_probe(struct verbs_device **ret, size_t *count);
void verbs_device_done(struct verbs_device *device);

/* nic.c: NIC attributes of a port of an open device. NULL: no memory. */
struct fid_nic *verbs_nic_new(
	const struct verbs_device *device, const struct ibv_device *ibv);

/* addr.c */
struct verbs_bound {
	char name[64]; /* of the device */
	uint8_t port;
};
/* The device that connections from the Internet address @addr use. False: none. */
bool verbs_addr_device(const union wf_sockaddr *addr, struct verbs_bound *ret);
/* wf_devices.resolve, addr_ok and addr_fits. */
int verbs_resolve(const struct wf_device *device, const char *node, const char *service,
	uint64_t flags, void **ret_addr, size_t *ret_len);
bool verbs_addr_ok(const struct wf_device *device, const void *addr, size_t len);
bool verbs_addr_fits(
	const struct wf_device *device, const void *addr, size_t len, bool source);

#endif
