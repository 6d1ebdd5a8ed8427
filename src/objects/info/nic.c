/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/info/nic.h"

#include <assert.h>
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
	struct wf_nic_facts facts;
};

static int nic_close(struct fid *fid)
{
	free(wf_container_of(fid, struct nic, fid.fid));
	return 0;
}

static char *nic_known(char *text)
{
	return *text ? text : NULL;
}

static void nic_set_pointers(struct nic *nic)
{
	struct wf_nic_facts *facts = &nic->facts;

	nic->fid.device_attr = &nic->device;
	nic->fid.bus_attr = &nic->bus;
	nic->fid.link_attr = &nic->link;
	nic->device.name = facts->name;
	nic->device.device_id = nic_known(facts->device_id);
	nic->device.device_version = nic_known(facts->version);
	nic->device.vendor_id = nic_known(facts->vendor_id);
	nic->device.driver = nic_known(facts->driver);
	nic->device.firmware = nic_known(facts->firmware);
	nic->link.address = nic_known(facts->address);
	nic->link.network_type = nic_known(facts->network);
}

static int nic_dup(const struct nic *nic, struct fid_nic **ret_nic)
{
	struct nic *copy = malloc(sizeof(*copy));

	if (!copy)
		return -FI_ENOMEM;
	*copy = *nic;
	nic_set_pointers(copy);
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

int wf_nic_make(const struct wf_nic_facts *facts, struct fid_nic **ret_nic)
{
	struct nic *nic = calloc(1, sizeof(*nic));

	if (!nic)
		return -FI_ENOMEM;
	nic->fid.fid.fclass = FI_CLASS_NIC;
	nic->fid.fid.ops = &nic_ops;
	nic->facts = *facts;
	if (facts->has_pci) {
		nic->bus.bus_type = FI_BUS_PCI;
		nic->bus.attr.pci.domain_id = facts->pci.domain;
		nic->bus.attr.pci.bus_id = facts->pci.bus;
		nic->bus.attr.pci.device_id = facts->pci.device;
		nic->bus.attr.pci.function_id = facts->pci.function;
	}
	nic->link.mtu = facts->mtu;
	nic->link.speed = facts->speed_bps;
	nic->link.state = facts->state;
	nic_set_pointers(nic);
	*ret_nic = &nic->fid;
	return 0;
}
