/* SPDX-License-Identifier: BSD-2-Clause */
#include "sys/copy.h"
#include "unit.h"

enum { MOST = 130, ROOM = MOST + 32 };

/* Every length, from and to every alignment: what is asked for, and not a byte beside.
 */
static void test_every_length(void **state)
{
	uint8_t from[ROOM], to[ROOM];

	(void)state;
	for (size_t i = 0; i < ROOM; i++)
		from[i] = (uint8_t)(i + 1);
	for (size_t len = 0; len <= MOST; len++) {
		for (size_t at = 0; at < 16; at++) {
			memset(to, 0xee, sizeof(to));
			wf_copy_small(to + at, from + (at * 7) % 16, len);
			assert_memory_equal(to + at, from + (at * 7) % 16, len);
			for (size_t i = 0; i < ROOM; i++)
				if (i < at || i >= at + len)
					assert_int_equal(to[i], 0xee);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_length),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
