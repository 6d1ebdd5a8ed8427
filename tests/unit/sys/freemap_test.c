/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "sys/freemap.h"

static void map_new(struct wf_freemap *map, size_t bits)
{
	uint64_t *words = calloc(wf_freemap_words(bits), sizeof(*words));

	assert_non_null(words);
	wf_freemap_attach(map, words, bits);
}

static void map_free(struct wf_freemap *map)
{
	free(map->level[WF_FREEMAP_LEVELS - 1]);
}

static void sizes(void **state)
{
	/* A word on each level for up to 64. */
	assert_int_equal(wf_freemap_words(1), WF_FREEMAP_LEVELS);
	assert_int_equal(wf_freemap_words(64), WF_FREEMAP_LEVELS);
	assert_int_equal(wf_freemap_words(65), WF_FREEMAP_LEVELS + 1);
	assert_int_equal(wf_freemap_upper_words(65), WF_FREEMAP_LEVELS - 1);
	assert_int_equal(wf_freemap_words(WF_FREEMAP_MAX_BITS),
		(1u << 24) + (1u << 18) + (1u << 12) + (1u << 6) + 1);
}

/* Taking the lowest each time counts up; each number of bits ends where it should. */
static void counts_up(void **state)
{
	static const size_t bits[] = { 1, 63, 64, 65, 4096, 4097, 300000 };

	for (size_t b = 0; b < sizeof(bits) / sizeof(bits[0]); b++) {
		struct wf_freemap map;

		map_new(&map, bits[b]);
		for (size_t i = 0; i < bits[b]; i++) {
			assert_int_equal(wf_freemap_lowest(&map), i);
			wf_freemap_take(&map, i);
		}
		assert_int_equal(wf_freemap_lowest(&map), bits[b]);
		wf_freemap_give(&map, bits[b] / 2);
		assert_int_equal(wf_freemap_lowest(&map), bits[b] / 2);
		map_free(&map);
	}
}

/* The first from @from on that is not taken; @bits when all are. */
static size_t first_free(const bool *taken, size_t from, size_t bits)
{
	while (from < bits && taken[from])
		from++;
	return from;
}

/* Against a plain array. */
static void random_use(void **state)
{
	enum { BITS = 9000, STEPS = 100000 };
	static bool taken[BITS];
	struct wf_freemap map;
	size_t lowest = 0;

	srandom(1);
	map_new(&map, BITS);
	for (int step = 0; step < STEPS; step++) {
		size_t i = (size_t)random() % BITS;

		if (random() % 4 || taken[i])
			i = lowest;
		if (i < BITS && !taken[i]) {
			wf_freemap_take(&map, i);
			taken[i] = true;
			if (i == lowest)
				lowest = first_free(taken, lowest, BITS);
		} else {
			i = (size_t)random() % BITS;
			wf_freemap_give(&map, i);
			taken[i] = false;
			lowest = i < lowest ? i : lowest;
		}
		assert_int_equal(wf_freemap_lowest(&map), lowest);
	}
	map_free(&map);
}

static void growth(void **state)
{
	struct wf_freemap small, big;

	map_new(&small, 64);
	map_new(&big, 8192);
	for (size_t i = 0; i < 64; i++)
		wf_freemap_take(&small, i);
	wf_freemap_copy(&big, &small);
	assert_int_equal(wf_freemap_lowest(&big), 64);
	wf_freemap_take(&big, 64);
	wf_freemap_give(&big, 3);
	assert_int_equal(wf_freemap_lowest(&big), 3);
	map_free(&small);
	map_free(&big);
}

/* Levels that contradict each other, as another process may leave them. */
static void broken(void **state)
{
	struct wf_freemap map;

	map_new(&map, 8192);
	map.level[0][0] = UINT64_MAX;
	assert_true(wf_freemap_lowest(&map) == WF_FREEMAP_BROKEN);
	map.level[1][0] = 1;
	assert_int_equal(wf_freemap_lowest(&map), 64);
	map.level[2][0] = UINT64_MAX;
	assert_true(wf_freemap_lowest(&map) == WF_FREEMAP_BROKEN);
	map.level[3][0] = 3;
	map.level[4][0] = 1;
	assert_int_equal(wf_freemap_lowest(&map), 8192);
	map.level[4][0] = UINT64_MAX;
	assert_int_equal(wf_freemap_lowest(&map), 8192);
	map_free(&map);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes),
		cmocka_unit_test(counts_up),
		cmocka_unit_test(random_use),
		cmocka_unit_test(growth),
		cmocka_unit_test(broken),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
