/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/info/nic.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "objects/absent/absent.h"
#include "sys/compiler.h"

/*
 * One allocation holds the object, its attributes and their texts, so that a copy
 * copies the bytes and sets the pointers. Unknown attributes are NULL or 0.
 */
struct nic {
	struct fid_nic fid;
	struct fi_device_attr device;
	struct fi_bus_attr bus;
	struct fi_link_attr link;
	char name[IF_NAMESIZE];
	char address[3 * sizeof(((struct wf_netif *)0)->mac)];
	char network[16];
	struct wf_netif_details details;
};

static int nic_close(struct fid *fid)
{
	free(wf_container_of(fid, struct nic, fid.fid));
	return 0;
}

static char *known(char *text)
{
	return *text ? text : NULL;
}

static void set_pointers(struct nic *nic)
{
	nic->fid.device_attr = &nic->device;
	nic->fid.bus_attr = &nic->bus;
	nic->fid.link_attr = &nic->link;
	nic->device.name = nic->name;
	nic->device.device_id = known(nic->details.device_id);
	nic->device.device_version = NULL;
	nic->device.vendor_id = known(nic->details.vendor_id);
	nic->device.driver = known(nic->details.driver);
	nic->device.firmware = NULL;
	nic->link.address = known(nic->address);
	nic->link.network_type = nic->network;
}

static int nic_dup(const struct nic *nic, struct fid_nic **ret_nic)
{
	struct nic *copy = malloc(sizeof(*copy));

	if (!copy)
		return -FI_ENOMEM;
	*copy = *nic;
	set_pointers(copy);
	*ret_nic = &copy->fid;
	return 0;
}

static int nic_control(struct fid *fid, int command, void *arg)
{
	if (command != FI_DUP)
		return -FI_ENOSYS;
	return arg ? nic_dup(wf_container_of(fid, struct nic, fid.fid), arg)
		   : -FI_EINVAL;
}

/* tostr is absent: fi_tostr() then prints the NIC attributes. */
static struct fi_ops nic_ops = WF_FID_OPS(nic_close, wf_absent_bind, nic_control);

static void write_address(struct nic *nic, const struct wf_netif *link)
{
	char *at = nic->address;

	for (unsigned int i = 0; i < link->mac_len; i++)
		at += sprintf(at, i ? ":%02x" : "%02x", link->mac[i]);
}

int wf_nic_new(const struct wf_netif *link, struct fid_nic **ret_nic)
{
	struct nic *nic = calloc(1, sizeof(*nic));

	if (!nic)
		return -FI_ENOMEM;
	nic->fid.fid.fclass = FI_CLASS_NIC;
	nic->fid.fid.ops = &nic_ops;
	memcpy(nic->name, link->name, sizeof(nic->name));
	write_address(nic, link);
	strcpy(nic->network,
		link->kind == WF_NETIF_INFINIBAND ? "InfiniBand" : "Ethernet");
	wf_netif_details(link, &nic->details);
	if (link->has_pci) {
		nic->bus.bus_type = FI_BUS_PCI;
		nic->bus.attr.pci.domain_id = link->pci.domain;
		nic->bus.attr.pci.bus_id = link->pci.bus;
		nic->bus.attr.pci.device_id = link->pci.device;
		nic->bus.attr.pci.function_id = link->pci.function;
	}
	nic->link.mtu = link->mtu;
	nic->link.speed = link->speed_bps;
	nic->link.state = link->up ? FI_LINK_UP : FI_LINK_DOWN;
	set_pointers(nic);
	*ret_nic = &nic->fid;
	return 0;
}
