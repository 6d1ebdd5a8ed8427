/* SPDX-License-Identifier: BSD-2-Clause */
#include "device_fake.h"

/* The list of devices, asked for again and again. */

static void test_same(void **state)
{
	const struct wf_devices *first = verbs_devices(false);

	(void)state;
	assert_true(first->count > 0);
	for (int i = 0; i < 10; i++)
		assert_ptr_equal(verbs_devices(true), first);
	assert_ptr_equal(verbs_devices(false), first);
}

/* A port that goes down and comes back makes two lists, however often it does. */
static void test_port_flaps(void **state)
{
	const struct wf_devices *up = verbs_devices(true), *down;
	const struct verbs_device *device = verbs_device_at("fake0", 1);

	(void)state;
	assert_int_equal(device->port_attr.state, IBV_PORT_ACTIVE);
	fake_port_state = IBV_PORT_DOWN;
	assert_ptr_equal(verbs_devices(false), up);
	down = verbs_devices(true);
	assert_ptr_not_equal(down, up);
	assert_int_equal(down->count, up->count);
	assert_int_equal(
		verbs_device_find("fake0")->nic->link_attr->state, FI_LINK_DOWN);
	for (int i = 0; i < 10; i++) {
		fake_port_state = IBV_PORT_ACTIVE;
		assert_ptr_equal(verbs_devices(true), up);
		assert_ptr_equal(verbs_device_find("fake0"), device);
		assert_ptr_equal(verbs_devices(false), up);
		fake_port_state = IBV_PORT_DOWN;
		assert_ptr_equal(verbs_devices(true), down);
	}
	fake_port_state = IBV_PORT_ACTIVE;
}

/* What did not change is the same in another list. */
static void test_gone(void **state)
{
	const struct wf_devices *here = verbs_devices(true), *gone;
	const struct verbs_device *device = verbs_device_find("fake0");

	(void)state;
	fake_present = false;
	gone = verbs_devices(true);
	assert_int_equal(gone->count, 0);
	assert_null(verbs_device_find("fake0"));
	fake_present = true;
	assert_ptr_equal(verbs_devices(true), here);
	assert_ptr_equal(verbs_device_find("fake0"), device);
	assert_string_equal(here->list[here->count - 1].domain, "fake0-dgram");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same),
		cmocka_unit_test(test_port_flaps),
		cmocka_unit_test(test_gone),
	};

	return cmocka_run_group_tests(tests, fake_setup, fake_teardown);
}
