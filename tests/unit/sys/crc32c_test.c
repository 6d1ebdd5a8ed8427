/* SPDX-License-Identifier: BSD-2-Clause */
#include "sys/crc32c.h"
#include "unit.h"

/* The examples of RFC 3720, appendix B.4, and the check value of the algorithm. */
static void known_values(void **state)
{
	uint8_t zeros[32] = { 0 }, ones[32], up[32], down[32];

	(void)state;
	for (uint8_t i = 0; i < 32; i++) {
		ones[i] = 0xff;
		up[i] = i;
		down[i] = (uint8_t)(31 - i);
	}
	assert_int_equal(wf_crc32c(0, zeros, sizeof(zeros)), 0x8a9136aa);
	assert_int_equal(wf_crc32c(0, ones, sizeof(ones)), 0x62a8ab43);
	assert_int_equal(wf_crc32c(0, up, sizeof(up)), 0x46dd794e);
	assert_int_equal(wf_crc32c(0, down, sizeof(down)), 0x113fdb5c);
	assert_int_equal(wf_crc32c(0, "123456789", 9), 0xe3069283);
	assert_int_equal(wf_crc32c_tables(0, "123456789", 9), 0xe3069283);
	assert_int_equal(wf_crc32c(0, NULL, 0), 0);
}

/* Every length, alignment and division gives what the tables give for the whole. */
static void all_ways_agree(void **state)
{
	enum { SIZE = 3000 };
	static uint8_t bytes[SIZE];
	uint32_t random = 1;

	(void)state;
	for (size_t i = 0; i < SIZE; i++) {
		random = random * 1664525 + 1013904223;
		bytes[i] = (uint8_t)(random >> 24);
	}
	for (size_t len = 0; len < SIZE - 8; len += len < 900 ? 1 : 97) {
		size_t from = len % 8, cut = len * 7 % (len + 1);
		uint32_t whole = wf_crc32c_tables(0, bytes + from, len), parts;

		assert_int_equal(wf_crc32c(0, bytes + from, len), whole);
		parts = wf_crc32c(0, bytes + from, cut);
		parts = wf_crc32c(parts, bytes + from + cut, len - cut);
		assert_int_equal(parts, whole);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(known_values),
		cmocka_unit_test(all_ways_agree),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
