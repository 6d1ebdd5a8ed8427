/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_VERBS_DEVICE_DEVICE_H
#define WF_VERBS_DEVICE_DEVICE_H

#include "objects/info/device.h"
#include "providers/verbs/verbs.h"

struct verbs_addr;

/* One port of a device that discovery found, and the properties of endpoints over
 * it. */
struct verbs_device {
	struct verbs_device *next; /* used by known.c */
	struct verbs_addr *addrs;  /* used by known.c */
	char *name;                /* name of the device, such as "mlx5_0" */
	struct ibv_device_attr attr;
	uint8_t port;
	bool iwarp;
	bool odp; /* Memory can be registered with on-demand paging. */
	struct ibv_port_attr port_attr;
	union ibv_gid gid; /* GID at the index FI_VERBS_GID_IDX */
	/* Largest inline payload of a send in bytes: over a connection, and of a
	 * datagram. */
	uint32_t inline_size, ud_inline_size;
	char *fabric; /* name of the fabric, such as "IB-0xfe80000000000000" */
	/* Names of the domains: the name of the device, with the number of the port if
	 * it is not the first, and with "-dgram" for datagrams. */
	char *msg_domain, *dgram_domain;
	struct fid_nic *nic;
};

/* wf_prov.devices and wf_prov.cleanup */
const struct wf_devices *verbs_devices(bool rescan);
void verbs_devices_done(void);

/* The device whose domain (msg_domain or dgram_domain) has that name; NULL: there is
 * none. It is valid until verbs_devices_done. */
const struct verbs_device *verbs_device_find(const char *domain);
/* The device with the name @name in libibverbs and the port @port; NULL: there is none.
 * Valid as above. */
const struct verbs_device *verbs_device_at(const char *name, uint8_t port);

/* Open a context of the device. 0 or a negative errno, which is logged. */
int verbs_device_open(
	const struct verbs_device *device, struct ibv_context **ret_context);

/* probe.c: append the ports of all devices to @ret, an array of *@count entries
 * allocated with realloc. 0 or -FI_ENOMEM. verbs_device_done frees the memory that an
 * entry points to. */
int verbs_probe(struct verbs_device **ret, size_t *count);
void verbs_device_done(struct verbs_device *device);

/* nic.c: NIC attributes of a port of an open device. NULL: no memory. */
struct fid_nic *verbs_nic_new(
	const struct verbs_device *device, const struct ibv_device *ibv);

/* addr.c: a device, found by an Internet address. */
struct verbs_bound {
	char name[64]; /* name of the device */
	uint8_t port;
};
/* Find the device that connections from the Internet address @addr use. False: there is
 * none. */
bool verbs_addr_device(const union wf_sockaddr *addr, struct verbs_bound *ret);
/* wf_devices.resolve, addr_ok and addr_fits. */
int verbs_resolve(const struct wf_device *device, const char *node, const char *service,
	uint64_t flags, void **ret_addr, size_t *ret_len);
bool verbs_addr_ok(const struct wf_device *device, const void *addr, size_t len);
bool verbs_addr_fits(
	const struct wf_device *device, const void *addr, size_t len, bool source);

#endif
