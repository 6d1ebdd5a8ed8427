/* SPDX-License-Identifier: BSD-2-Clause */
#include "sys/copy.h"
#include "unit.h"

enum { MOST = 130, ROOM = MOST + 32 };

/* Every length, from and to every alignment: what is asked for, and not a byte
 * beside. */
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

enum { BLOCK_MOST = 5000, BLOCK_ROOM = BLOCK_MOST + 2 * 4096 };

/* Blocks at every distance of the two page offsets, around where string instructions
 * are avoided. */
static void test_blocks(void **state)
{
	static uint8_t from[BLOCK_ROOM] __attribute__((aligned(4096)));
	static uint8_t to[BLOCK_ROOM] __attribute__((aligned(4096)));
	static const size_t lens[] = { 1023, 1024, 1025, 1087, 1088, 2049, 4096, 4999 };

	(void)state;
	for (size_t i = 0; i < BLOCK_ROOM; i++)
		from[i] = (uint8_t)(i * 7 + i / 256);
	for (size_t l = 0; l < WF_ARRAY_SIZE(lens); l++) {
		for (size_t distance = 0; distance < 70; distance++) {
			size_t in = distance * 5 % 64, out = in + distance;

			memset(to, 0xee, sizeof(to));
			wf_copy(to + out, from + in, lens[l]);
			assert_memory_equal(to + out, from + in, lens[l]);
			for (size_t i = 0; i < out; i++)
				assert_int_equal(to[i], 0xee);
			for (size_t i = out + lens[l]; i < BLOCK_ROOM; i++)
				if (to[i] != 0xee)
					fail_msg("byte %zu past the block", i);
		}
	}
}

/* Lengths around those of whole lines, to every place in a line. */
static void test_streams(void **state)
{
	static uint8_t from[ROOM * 4], to[ROOM * 4] __attribute__((aligned(64)));
	static const size_t lens[] = { 0, 1, 63, 64, 127, 128, 129, 191, 192, 300,
		400 };

	(void)state;
	for (size_t i = 0; i < sizeof(from); i++)
		from[i] = (uint8_t)(i * 7 + i / 256);
	for (size_t l = 0; l < WF_ARRAY_SIZE(lens); l++)
		for (size_t at = 0; at < 130; at++) {
			memset(to, 0xee, sizeof(to));
			wf_copy_stream(to + at, from + at * 5 % 64, lens[l]);
			assert_memory_equal(to + at, from + at * 5 % 64, lens[l]);
			for (size_t i = 0; i < sizeof(to); i++)
				if (i < at || i >= at + lens[l])
					assert_int_equal(to[i], 0xee);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_length),
		cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_streams),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
