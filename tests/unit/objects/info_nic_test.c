/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <string.h>

#include "objects/info/nic.h"

static const struct wf_nic_facts card = {
	.name = "no-such-card",
	.address = "02:fc:00:00:00:ff",
	.network = "InfiniBand",
	.mtu = 9000,
	.speed_bps = 200000000000,
	.state = FI_LINK_UP,
	.has_pci = true,
	.pci = { 0x12, 0x34, 0x1f, 7 },
};

static void assert_card(const struct fid_nic *nic)
{
	assert_int_equal(nic->fid.fclass, FI_CLASS_NIC);
	assert_string_equal(nic->device_attr->name, "no-such-card");
	assert_null(nic->device_attr->device_id);
	assert_null(nic->device_attr->device_version);
	assert_null(nic->device_attr->vendor_id);
	assert_null(nic->device_attr->driver);
	assert_null(nic->device_attr->firmware);
	assert_int_equal(nic->bus_attr->bus_type, FI_BUS_PCI);
	assert_int_equal(nic->bus_attr->attr.pci.domain_id, 0x12);
	assert_int_equal(nic->bus_attr->attr.pci.bus_id, 0x34);
	assert_int_equal(nic->bus_attr->attr.pci.device_id, 0x1f);
	assert_int_equal(nic->bus_attr->attr.pci.function_id, 7);
	assert_string_equal(nic->link_attr->address, "02:fc:00:00:00:ff");
	assert_int_equal(nic->link_attr->mtu, 9000);
	assert_true(nic->link_attr->speed == 200000000000);
	assert_int_equal(nic->link_attr->state, FI_LINK_UP);
	assert_string_equal(nic->link_attr->network_type, "InfiniBand");
	assert_null(nic->prov_attr);
}

/* STR-017 STR-018 */
static void attributes(void **state)
{
	const struct wf_nic_facts bare = { .name = "x", .state = FI_LINK_DOWN };
	struct fid_nic *nic;

	assert_int_equal(wf_nic_make(&card, &nic), 0);
	assert_card(nic);
	assert_int_equal(fi_close(&nic->fid), 0);
	assert_int_equal(wf_nic_make(&bare, &nic), 0);
	assert_int_equal(nic->bus_attr->bus_type, FI_BUS_UNKNOWN);
	assert_null(nic->link_attr->address);
	assert_int_equal(nic->link_attr->state, FI_LINK_DOWN);
	assert_null(nic->link_attr->network_type);
	assert_int_equal(fi_close(&nic->fid), 0);
}

/* STR-019: the copy stands alone */
static void copies(void **state)
{
	struct fid_nic *nic, *copy = NULL;

	assert_int_equal(wf_nic_make(&card, &nic), 0);
	assert_int_equal(fi_control(&nic->fid, FI_DUP, &copy), 0);
	assert_ptr_not_equal(nic, copy);
	memset(nic->device_attr->name, 'x', 3);
	assert_int_equal(fi_close(&nic->fid), 0);
	assert_card(copy);
	assert_int_equal(fi_close(&copy->fid), 0);
}

static void other_calls_are_refused(void **state)
{
	struct fid_nic *nic;
	char text[8];

	assert_int_equal(wf_nic_make(&card, &nic), 0);
	assert_int_equal(fi_control(&nic->fid, FI_DUP, NULL), -FI_EINVAL);
	assert_int_equal(fi_control(&nic->fid, FI_GETWAIT, text), -FI_ENOSYS);
	assert_int_equal(nic->fid.ops->bind(&nic->fid, NULL, 0), -FI_ENOSYS);
	assert_int_equal(
		nic->fid.ops->ops_open(&nic->fid, "x", 0, NULL, NULL), -FI_ENOSYS);
	assert_int_equal(
		nic->fid.ops->ops_set(&nic->fid, "x", 0, NULL, NULL), -FI_ENOSYS);
	assert_int_equal(fi_close(&nic->fid), 0);
}

/* fi_dupinfo and fi_freeinfo know nothing but the calls above. */
static void in_an_info(void **state)
{
	struct fi_info *info = fi_allocinfo(), *copy;
	char text[4096];

	assert_non_null(info);
	assert_int_equal(wf_nic_make(&card, &info->nic), 0);
	copy = fi_dupinfo(info);
	assert_non_null(copy);
	fi_freeinfo(info);
	assert_card(copy->nic);
	(void)fi_tostr_r(text, sizeof(text), copy, FI_TYPE_INFO);
	assert_non_null(strstr(text, "name: no-such-card\n"));
	assert_non_null(strstr(text, "bus_id: 52\n"));
	assert_non_null(strstr(text, "speed: 200000000000\n"));
	fi_freeinfo(copy);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(attributes),
		cmocka_unit_test(copies),
		cmocka_unit_test(other_calls_are_refused),
		cmocka_unit_test(in_an_info),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
