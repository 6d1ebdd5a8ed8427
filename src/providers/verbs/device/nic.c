/* SPDX-License-Identifier: BSD-2-Clause */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "objects/info/nic.h"
#include "providers/verbs/device/device.h"

/* NIC attributes of a port: fi_nic(3). */

/* Bits per second of one lane, by the encoding of ibv_port_attr.active_speed; 0:
 * unknown. */
static double nic_lane_speed(uint8_t speed)
{
	switch (speed) {
	case 1:
		return 2.5e9;
	case 2:
		return 5e9;
	case 4:
	case 8:
		return 10e9;
	case 16:
		return 14e9;
	case 32:
		return 25e9;
	case 64:
		return 50e9;
	case 128:
		return 100e9;
	default:
		return 0;
	}
}

static unsigned int nic_lanes(uint8_t width)
{
	switch (width) {
	case 1:
		return 1;
	case 2:
		return 4;
	case 4:
		return 8;
	case 8:
		return 12;
	case 16:
		return 2;
	default:
		return 0;
	}
}

static enum fi_link_state nic_state_of(enum ibv_port_state state)
{
	switch (state) {
	case IBV_PORT_ACTIVE:
		return FI_LINK_UP;
	case IBV_PORT_DOWN:
	case IBV_PORT_INIT:
	case IBV_PORT_ARMED:
		return FI_LINK_DOWN;
	default:
		return FI_LINK_UNKNOWN;
	}
}

static const char *nic_network_of(const struct verbs_device *device)
{
	switch (device->port_attr.link_layer) {
	case IBV_LINK_LAYER_INFINIBAND:
		return "InfiniBand";
	case IBV_LINK_LAYER_ETHERNET:
		return "Ethernet";
	default:
		return "Unknown";
	}
}

/* The last component of the target of the link @name in the device's sysfs folder. */
static void nic_read_link(
	const struct ibv_device *ibv, const char *name, char *ret, size_t len)
{
	char path[sizeof(ibv->ibdev_path) + 32], target[512], *last;
	ssize_t n;

	(void)snprintf(path, sizeof(path), "%s/%s", ibv->ibdev_path, name);
	n = readlink(path, target, sizeof(target) - 1);
	if (n <= 0)
		return;
	target[n] = '\0';
	last = strrchr(target, '/') ? strrchr(target, '/') + 1 : target;
	(void)snprintf(ret, len, "%.*s", (int)len - 1, last);
}

static void nic_read_bus(const struct ibv_device *ibv, struct wf_nic_facts *facts)
{
	unsigned int domain, bus, device, function;
	char name[64] = "";

	nic_read_link(ibv, "device/driver", facts->driver, sizeof(facts->driver));
	nic_read_link(ibv, "device", name, sizeof(name));
	if (sscanf(name, "%x:%x:%x.%x", &domain, &bus, &device, &function) != 4)
		return;
	facts->has_pci = true;
	facts->pci.domain = (uint16_t)domain;
	facts->pci.bus = (uint8_t)bus;
	facts->pci.device = (uint8_t)device;
	facts->pci.function = (uint8_t)function;
}

struct fid_nic *verbs_nic_new(
	const struct verbs_device *device, const struct ibv_device *ibv)
{
	const struct ibv_port_attr *port = &device->port_attr;
	struct wf_nic_facts facts = {
		.mtu = (size_t)128 << port->active_mtu,
		.speed_bps = (uint64_t)(nic_lane_speed(port->active_speed) *
					nic_lanes(port->active_width)),
		.state = nic_state_of(port->state),
	};
	struct fid_nic *nic = NULL;

	(void)snprintf(facts.name, sizeof(facts.name), "%s", device->name);
	(void)snprintf(facts.vendor_id, sizeof(facts.vendor_id), "0x%04x",
		device->attr.vendor_id);
	(void)snprintf(facts.device_id, sizeof(facts.device_id), "%u",
		device->attr.vendor_part_id);
	(void)snprintf(facts.version, sizeof(facts.version), "%u", device->attr.hw_ver);
	(void)snprintf(
		facts.firmware, sizeof(facts.firmware), "%.63s", device->attr.fw_ver);
	(void)snprintf(
		facts.network, sizeof(facts.network), "%s", nic_network_of(device));
	(void)snprintf(facts.address, sizeof(facts.address), "%016llx:%016llx",
		(unsigned long long)be64toh(device->gid.global.subnet_prefix),
		(unsigned long long)be64toh(device->gid.global.interface_id));
	nic_read_bus(ibv, &facts);
	return wf_nic_make(&facts, &nic) ? NULL : nic;
}
