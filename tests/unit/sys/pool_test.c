/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include <stdalign.h>
#include <stdbool.h>
#include <string.h>

#include "sys/pool.h"

enum { MANY = 5000 };

/* Objects do not overlap, are aligned and keep what was written. */
static void test_distinct(void **state)
{
	const size_t sizes[] = { 1, 8, 40, 333, 5000 };
	static unsigned char *object[MANY];

	for (size_t s = 0; s < WF_ARRAY_SIZE(sizes); s++) {
		struct wf_pool pool;

		wf_pool_init(&pool, sizes[s]);
		assert_int_equal(pool.slabs, 0);
		for (int i = 0; i < MANY; i++) {
			object[i] = wf_pool_get(&pool);
			assert_non_null(object[i]);
			assert_int_equal(
				(uintptr_t)object[i] % alignof(max_align_t), 0);
			memset(object[i], i & 0xff, sizes[s]);
		}
		for (int i = 0; i < MANY; i++) {
			for (size_t b = 0; b < sizes[s]; b++)
				assert_int_equal(object[i][b], i & 0xff);
			wf_pool_put(&pool, object[i]);
		}
		wf_pool_done(&pool);
	}
	(void)state;
}

/* What came back is handed out again, and memory goes back to the system. */
static void test_shrinks(void **state)
{
	static void *object[MANY];
	struct wf_pool pool;
	size_t most;

	wf_pool_init(&pool, 256);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < MANY; i++)
			object[i] = wf_pool_get(&pool);
		most = pool.slabs;
		assert_true(most > 10);
		/* Every other one: nothing can be freed, nothing more is needed. */
		for (int i = 0; i < MANY; i += 2)
			wf_pool_put(&pool, object[i]);
		for (int i = 0; i < MANY; i += 2)
			object[i] = wf_pool_get(&pool);
		assert_int_equal(pool.slabs, most);
		for (int i = 0; i < MANY; i++)
			wf_pool_put(&pool, object[round == 1 ? MANY - 1 - i : i]);
		assert_int_equal(pool.slabs, 1);
	}
	wf_pool_done(&pool);
	assert_int_equal(pool.slabs, 0);
	(void)state;
}

/* One object going to and fro at the edge of a slab costs no allocation. */
static void test_edge(void **state)
{
	struct wf_pool pool;
	void *object = NULL;
	size_t slabs;

	wf_pool_init(&pool, 100);
	while (pool.slabs < 2)
		object = wf_pool_get(&pool);
	for (int i = 0; i < 10; i++) {
		wf_pool_put(&pool, object);
		slabs = pool.slabs;
		object = wf_pool_get(&pool);
		assert_int_equal(slabs, 2);
		assert_int_equal(pool.slabs, 2);
	}
	/* Those that did not come back are freed with the pool. */
	wf_pool_done(&pool);
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_distinct),
		cmocka_unit_test(test_shrinks),
		cmocka_unit_test(test_edge),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
