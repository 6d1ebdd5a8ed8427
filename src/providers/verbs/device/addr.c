/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "objects/info/addr.h"
#include "providers/verbs/device/device.h"
#include "providers/verbs/ud/ns.h"
#include "sys/route.h"

/* Internet addresses of devices: an address of this host belongs to the device that
 * librdmacm binds it to. */

bool verbs_addr_device(const union wf_sockaddr *addr, struct verbs_bound *ret)
{
	struct rdma_event_channel *channel = VERBS_RDMA(create_event_channel());
	union wf_sockaddr copy = *addr;
	struct rdma_cm_id *id = NULL;
	bool found = false;

	if (!channel)
		return false;
	if (!VERBS_RDMA(create_id(channel, &id, NULL, RDMA_PS_TCP))) {
		found = !VERBS_RDMA(bind_addr(id, &copy.sa)) && id->verbs;
		if (found) {
			(void)snprintf(ret->name, sizeof(ret->name), "%s",
				VERBS_IBV(get_device_name(id->verbs->device)));
			ret->port = id->port_num;
		}
		(void)VERBS_RDMA(destroy_id(id));
	}
	VERBS_RDMA(destroy_event_channel(channel));
	return found;
}

static bool addr_is_dgram(const struct wf_device *device)
{
	return device->templates[0]->ep_attr->type == FI_EP_DGRAM;
}

static const union wf_sockaddr *addr_own(const struct wf_device *device)
{
	return device->addr;
}

/* Are packets to @dest sent from the device's address? Also true for the device's own
 * addresses. */
static bool addr_reaches(const struct wf_device *device, const union wf_sockaddr *dest)
{
	union wf_sockaddr source;

	return !wf_route_source(dest, &source) &&
	       wf_sockaddr_same_host(&source, addr_own(device));
}

static bool verbs_device_addr_fits(
	const struct wf_device *device, const union wf_sockaddr *addr, bool source)
{
	if (addr->sa.sa_family != addr_own(device)->sa.sa_family)
		return false;
	if (source)
		return wf_sockaddr_is_wildcard(addr) ||
		       wf_sockaddr_same_host(addr, addr_own(device));
	return addr_reaches(device, addr);
}

static int addr_give(const union wf_sockaddr *addr, void **ret_addr, size_t *ret_len)
{
	size_t len = wf_sockaddr_len(addr);

	*ret_addr = malloc(len);
	if (!*ret_addr)
		return -FI_ENOMEM;
	memcpy(*ret_addr, addr, len);
	*ret_len = len;
	return 0;
}

/* Choose the first address of @list that fits the device. */
static int addr_choose(const struct wf_device *device, const struct wf_info_addrs *list,
	bool source, void **ret_addr, size_t *ret_len)
{
	for (size_t i = 0; i < list->count; i++) {
		union wf_sockaddr addr = list->addr[i];

		if (!verbs_device_addr_fits(device, &addr, source))
			continue;
		if (source && wf_sockaddr_is_wildcard(&addr)) {
			uint16_t port = wf_sockaddr_port(&addr);

			addr = *addr_own(device);
			wf_sockaddr_set_port(&addr, port);
		}
		return addr_give(&addr, ret_addr, ret_len);
	}
	return -FI_ENODATA;
}

int verbs_resolve(const struct wf_device *device, const char *node, const char *service,
	uint64_t flags, void **ret_addr, size_t *ret_len)
{
	/* A service without a node belongs to this device. */
	bool source = !node || flags & FI_SOURCE;
	struct wf_info_reason why;
	struct wf_info_addrs list;
	struct wf_info_ctx ctx;
	int err;

	if (addr_is_dgram(device))
		return verbs_ud_resolve(node, service, flags, ret_addr, ret_len);
	wf_info_ctx_init(&ctx, &verbs_prov, FI_VERSION(2, 0), device->templates[0],
		device->templates[0]);
	err = wf_info_lookup(
		&ctx, node, service, source ? flags | FI_SOURCE : flags, &list, &why);
	if (err)
		return err == -FI_ENOMEM ? err : -FI_ENODATA;
	return addr_choose(device, &list, source, ret_addr, ret_len);
}

bool verbs_addr_ok(const struct wf_device *device, const void *addr, size_t len)
{
	struct verbs_ud_name name;
	union wf_sockaddr sa;

	if (addr_is_dgram(device))
		return verbs_ud_name_read(addr, len, &name);

	return !wf_sockaddr_read(addr, len, &sa) &&
	       sa.sa.sa_family == addr_own(device)->sa.sa_family;
}

bool verbs_addr_fits(
	const struct wf_device *device, const void *addr, size_t len, bool source)
{
	union wf_sockaddr sa;

	if (addr_is_dgram(device))
		return true;

	return !wf_sockaddr_read(addr, len, &sa) &&
	       verbs_device_addr_fits(device, &sa, source);
}
