/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_INFO_DEVICE_H
#define WF_OBJECTS_INFO_DEVICE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <rdma/fabric.h>

struct wf_prov;

/*
 * One device that a provider found, with one kind of address. It is a domain of its
 * own. A device that is reached by several kinds of addresses, or at several, stands in
 * the list once for each.
 */
struct wf_device {
	const char *fabric, *domain; /* names */
	/* What the device can do: NULL-terminated, the best first. Complete attributes
	 * with the device's limits and the address format; no addresses, no names. */
	const struct fi_info *const *templates;
	/* Attributes that each answer gets a copy of (FI_DUP); NULL: none. */
	struct fid_nic *nic;
	/* Address of an endpoint for which no source is asked, in the templates'
	 * format; NULL: the endpoint gets its address when it is enabled. */
	const void *addr;
	size_t addr_len;
};

/*
 * All devices of a provider. The list and all that it refers to stay valid until
 * wf_prov.cleanup, also after a rescan that returned another list.
 */
struct wf_devices {
	const struct wf_device *list;
	size_t count;

	/*
	 * Turn @node and @service, of which one may be NULL, into an address in the
	 * format of @device's templates: of a local endpoint with FI_SOURCE in @flags,
	 * else of a peer. The caller frees *ret_addr. 0; -FI_ENODATA: the device has no
	 * such address or does not reach it; -FI_ENOMEM. NULL: addresses come by hints
	 * only, and a node or service is refused.
	 */
	int (*resolve)(const struct wf_device *device, const char *node,
		const char *service, uint64_t flags, void **ret_addr, size_t *ret_len);

	/* Is this an address in the format of @device's templates? */
	bool (*addr_ok)(const struct wf_device *device, const void *addr, size_t len);

	/* Is @addr of the hints, which addr_ok accepted, an address of @device
	 * (@source), or of a peer that @device reaches? NULL: always. */
	bool (*addr_fits)(const struct wf_device *device, const void *addr, size_t len,
		bool source);
};

/*
 * The whole fi_provider.getinfo of a provider with devices (wf_prov.devices): for each
 * device, the answers of its templates that the hints allow, with the device's names,
 * addresses and NIC attributes. As fi_getinfo(3).
 */
int wf_device_getinfo(const struct wf_prov *prov, uint32_t version, const char *node,
	const char *service, uint64_t flags, const struct fi_info *hints,
	struct fi_info **ret_info);

#endif
