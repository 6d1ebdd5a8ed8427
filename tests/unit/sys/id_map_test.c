/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include <stdbool.h>

#include "sys/id_map.h"

/* Numbers lead to what was entered, are used again, and end at the limit. */
static void test_numbers(void **state)
{
	enum { MANY = 5000, LIMIT = 3000 };
	static int thing[MANY];
	static uint32_t number[MANY];
	struct wf_id_map map = { 0 };

	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < LIMIT - 1; i++) {
			number[i] = wf_id_map_add(&map, &thing[i], LIMIT);
			assert_in_range(number[i], 1, LIMIT - 1);
		}
		assert_int_equal(wf_id_map_add(&map, &thing[0], LIMIT), 0);
		for (uint32_t i = 0; i < LIMIT - 1; i += 3) {
			wf_id_map_remove(&map, number[i]);
			number[i] = wf_id_map_add(&map, &thing[i], LIMIT);
		}
		for (uint32_t i = 0; i < LIMIT - 1; i++) {
			assert_ptr_equal(map.at[number[i]], &thing[i]);
			wf_id_map_remove(&map, number[i]);
		}
		assert_null(map.at);
	}
	(void)state;
}

/* A small one is not given back each time. */
static void test_small(void **state)
{
	struct wf_id_map map = { 0 };
	uint32_t number = wf_id_map_add(&map, &map, UINT32_MAX);

	assert_int_equal(number, 1);
	wf_id_map_remove(&map, number);
	assert_non_null(map.at);
	assert_int_equal(wf_id_map_add(&map, &map, UINT32_MAX), number);
	wf_id_map_done(&map);
	assert_null(map.at);
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_small),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
