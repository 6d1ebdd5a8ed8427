/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/strings/strings.h"

#define DEV(...)  WF_FIELD(struct fi_device_attr, __VA_ARGS__)
#define BUS(...)  WF_FIELD(struct fi_bus_attr, __VA_ARGS__)
#define PCI(...)  WF_FIELD(struct fi_pci_attr, __VA_ARGS__)
#define LINK(...) WF_FIELD(struct fi_link_attr, __VA_ARGS__)

static const struct wf_field device_fields[] = {
	DEV(name, STR),
	DEV(device_id, STR),
	DEV(device_version, STR),
	DEV(vendor_id, STR),
	DEV(driver, STR),
	DEV(firmware, STR),
};
static const struct wf_struct device_attr = WF_STRUCT(fi_device_attr, device_fields);

static const struct wf_field bus_fields[] = {
	BUS(bus_type, ENUM, .names = &wf_names_bus_type),
};
static const struct wf_struct bus_attr = WF_STRUCT(fi_bus_attr, bus_fields);

static const struct wf_field pci_fields[] = {
	PCI(domain_id, U16),
	PCI(bus_id, U8),
	PCI(device_id, U8),
	PCI(function_id, U8),
};
static const struct wf_struct pci_attr = WF_STRUCT(fi_pci_attr, pci_fields);

static const struct wf_field link_fields[] = {
	LINK(address, STR),
	LINK(mtu, SIZE),
	LINK(speed, SIZE),
	LINK(state, ENUM, .names = &wf_names_link_state),
	LINK(network_type, STR),
};
static const struct wf_struct link_attr = WF_STRUCT(fi_link_attr, link_fields);

void wf_nic_print(struct wf_strbuf *sb, const struct fid_nic *nic, unsigned int level)
{
	const struct fi_bus_attr *bus = nic->bus_attr;

	wf_indent(sb, level);
	wf_strbuf_printf(sb, "nic:\n");
	wf_struct_print(sb, &device_attr, nic->device_attr, level + 1);
	wf_struct_print(sb, &bus_attr, bus, level + 1);
	if (bus && bus->bus_type == FI_BUS_PCI)
		wf_struct_print(sb, &pci_attr, &bus->attr.pci, level + 2);
	wf_struct_print(sb, &link_attr, nic->link_attr, level + 1);
}
