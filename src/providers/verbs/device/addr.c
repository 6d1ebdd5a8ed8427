/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "providers/verbs/device/device.h"
#include "providers/verbs/ud/ns.h"
#include "sys/route.h"

/* Internet addresses of devices: an address of this host belongs to the device that the
 * connection manager binds it to. */

bool verbs_addr_device(const union wf_sockaddr *addr, struct verbs_bound *ret)
{
	struct rdma_event_channel *channel = verbs_lib.rdma.create_event_channel();
	union wf_sockaddr copy = *addr;
	struct rdma_cm_id *id = NULL;
	bool found = false;

	if (!channel)
		return false;
	if (!verbs_lib.rdma.create_id(channel, &id, NULL, RDMA_PS_TCP)) {
		found = !verbs_lib.rdma.bind_addr(id, &copy.sa) && id->verbs;
		if (found) {
			(void)snprintf(ret->name, sizeof(ret->name), "%s",
				verbs_lib.ibv.get_device_name(id->verbs->device));
			ret->port = id->port_num;
		}
		(void)verbs_lib.rdma.destroy_id(id);
	}
	verbs_lib.rdma.destroy_event_channel(channel);
	return found;
}

static const union wf_sockaddr *own(const struct wf_device *device)
{
	return device->addr;
}

/* Do packets to @dest leave by the device's address? Also true for addresses of this
 * host that are the device's own. */
static bool reaches(const struct wf_device *device, const union wf_sockaddr *dest)
{
	union wf_sockaddr source;

	return !wf_route_source(dest, &source) &&
	       wf_sockaddr_same_host(&source, own(device));
}

static bool fits(
	const struct wf_device *device, const union wf_sockaddr *addr, bool source)
{
	if (addr->sa.sa_family != own(device)->sa.sa_family)
		return false;
	if (source)
		return wf_sockaddr_is_wildcard(addr) ||
		       wf_sockaddr_same_host(addr, own(device));
	return reaches(device, addr);
}

static int give(const union wf_sockaddr *addr, void **ret_addr, size_t *ret_len)
{
	size_t len = wf_sockaddr_len(addr);

	*ret_addr = malloc(len);
	if (!*ret_addr)
		return -FI_ENOMEM;
	memcpy(*ret_addr, addr, len);
	*ret_len = len;
	return 0;
}

/* The first of @list that fits the device. */
static int choose(const struct wf_device *device, const struct addrinfo *list,
	bool source, void **ret_addr, size_t *ret_len)
{
	union wf_sockaddr addr;

	for (; list; list = list->ai_next) {
		if (wf_sockaddr_read(list->ai_addr, list->ai_addrlen, &addr) ||
			!fits(device, &addr, source))
			continue;
		if (source && wf_sockaddr_is_wildcard(&addr)) {
			uint16_t port = wf_sockaddr_port(&addr);

			addr = *own(device);
			wf_sockaddr_set_port(&addr, port);
		}
		return give(&addr, ret_addr, ret_len);
	}
	return -FI_ENODATA;
}

/* The device's own address with the port @service. */
static int resolve_service(const struct wf_device *device, const char *service,
	void **ret_addr, size_t *ret_len)
{
	struct addrinfo ask = {
		.ai_family = own(device)->sa.sa_family,
		.ai_socktype = SOCK_STREAM,
		.ai_flags = AI_PASSIVE,
	};
	struct addrinfo *list = NULL;
	int err;

	if (getaddrinfo(NULL, service, &ask, &list))
		return -FI_ENODATA;
	err = choose(device, list, true, ret_addr, ret_len);
	freeaddrinfo(list);
	return err;
}

static bool is_dgram(const struct wf_device *device)
{
	return device->templates[0]->ep_attr->type == FI_EP_DGRAM;
}

static int resolve_node(const struct wf_device *device, const char *node,
	const char *service, uint64_t flags, void **ret_addr, size_t *ret_len)
{
	struct addrinfo ask = {
		.ai_family = own(device)->sa.sa_family,
		.ai_socktype = SOCK_STREAM,
		.ai_flags = flags & FI_NUMERICHOST ? AI_NUMERICHOST : 0,
	};
	struct addrinfo *list = NULL;
	int err;

	if (getaddrinfo(node, service, &ask, &list))
		return -FI_ENODATA;
	err = choose(device, list, flags & FI_SOURCE, ret_addr, ret_len);
	freeaddrinfo(list);
	return err;
}

int verbs_resolve(const struct wf_device *device, const char *node, const char *service,
	uint64_t flags, void **ret_addr, size_t *ret_len)
{
	if (is_dgram(device))
		return verbs_ud_resolve(node, service, flags, ret_addr, ret_len);
	if (!node)
		return resolve_service(device, service, ret_addr, ret_len);
	return resolve_node(device, node, service, flags, ret_addr, ret_len);
}

bool verbs_addr_ok(const struct wf_device *device, const void *addr, size_t len)
{
	union wf_sockaddr sa;

	if (is_dgram(device))
		return len == sizeof(struct verbs_ud_name);
	return !wf_sockaddr_read(addr, len, &sa) &&
	       sa.sa.sa_family == own(device)->sa.sa_family;
}

bool verbs_addr_fits(
	const struct wf_device *device, const void *addr, size_t len, bool source)
{
	union wf_sockaddr sa;

	if (is_dgram(device))
		return true;
	return !wf_sockaddr_read(addr, len, &sa) && fits(device, &sa, source);
}
