/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include <stdbool.h>
#include <string.h>

#include "sys/pool.h"

enum { MANY = 20000 };

/* Objects do not overlap, are aligned and keep what was written. */
static void test_distinct(void **state)
{
	const size_t sizes[] = { 1, 8, 40, 48, 333, 5000 };
	static unsigned char *object[MANY];

	for (size_t s = 0; s < WF_ARRAY_SIZE(sizes); s++) {
		struct wf_pool pool;

		wf_pool_init(&pool, sizes[s]);
		assert_int_equal(pool.slabs, 0);
		for (int i = 0; i < MANY; i++) {
			object[i] = wf_pool_get(&pool);
			assert_non_null(object[i]);
			assert_int_equal(
				(uintptr_t)object[i] % (sizes[s] % 16 ? 8 : 16), 0);
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
	const size_t kept = WF_POOL_KEPT / 65536;
	static void *object[MANY];
	struct wf_pool pool;
	size_t most;

	wf_pool_init(&pool, 1024);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < MANY; i++)
			object[i] = wf_pool_get(&pool);
		most = pool.slabs;
		assert_true(most > 2 * kept);
		/* Every other one: nothing can be freed, nothing more is needed. */
		for (int i = 0; i < MANY; i += 2)
			wf_pool_put(&pool, object[i]);
		for (int i = 0; i < MANY; i += 2)
			object[i] = wf_pool_get(&pool);
		assert_int_equal(pool.slabs, most);
		for (int i = 0; i < MANY; i++)
			wf_pool_put(&pool, object[round == 1 ? MANY - 1 - i : i]);
		assert_int_equal(pool.slabs, kept);
	}
	wf_pool_done(&pool);
	assert_int_equal(pool.slabs, 0);
	assert_int_equal(pool.own, 0);
	(void)state;
}

/* Several pools keep together what one would. */
static void test_shared(void **state)
{
	static void *object[2][MANY];
	struct wf_pool pool[2];
	size_t kept = 0;

	wf_pool_init_shared(&pool[0], 1000, &kept);
	wf_pool_init_shared(&pool[1], 2000, &kept);
	for (int p = 0; p < 2; p++)
		for (int i = 0; i < MANY; i++)
			object[p][i] = wf_pool_get(&pool[p]);
	assert_in_range(kept, 0, 0);
	for (int p = 0; p < 2; p++)
		for (int i = 0; i < MANY; i++)
			wf_pool_put(&pool[p], object[p][i]);
	assert_int_equal(kept, WF_POOL_KEPT);
	assert_int_equal(
		pool[0].slabs * pool[0].slab_size + pool[1].slabs * pool[1].slab_size,
		WF_POOL_KEPT);
	wf_pool_done(&pool[1]);
	wf_pool_done(&pool[0]);
	assert_int_equal(kept, 0);
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

/* Objects that were set aside are still the pool's: handed out again, one at a time,
 * and gone with it. */
static void test_aside(void **state)
{
	void *object[4 * WF_POOL_SPARE];
	struct wf_pool pool;

	wf_pool_init(&pool, 48);
	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < WF_ARRAY_SIZE(object); i++) {
			object[i] = round % 2 ? wf_pool_get(&pool)
					      : wf_pool_get_inline(&pool);
			assert_non_null(object[i]);
			memset(object[i], (int)i, 48);
		}
		for (size_t i = 0; i < WF_ARRAY_SIZE(object); i++) {
			for (size_t b = 0; b < 48; b++)
				assert_int_equal(((unsigned char *)object[i])[b], i);
			if (i % 3)
				wf_pool_put_inline(&pool, object[i]);
			else
				wf_pool_put(&pool, object[i]);
		}
		assert_true(pool.spare_count <= WF_POOL_SPARE);
	}
	assert_int_equal(pool.slabs, 1);
	wf_pool_done(&pool);
	(void)state;
}

/* Names lead to objects of several pools, also to those of slabs that lie too far from
 * the place that handles count from; no two are the same. */
static void test_names(void **state)
{
	static void *object[2][MANY];
	static uint32_t name[2][MANY];
	struct wf_pool pool[2];
	size_t kept = 0;

	for (int far = 0; far < 2; far++) {
		struct wf_handles handles = { .base = far ? WF_POOL_SLAB : 0 };

		wf_pool_init_handles(&pool[0], 56, &kept, &handles);
		wf_pool_init_handles(
			&pool[1], WF_POOL_HANDLE_SIZE_MAX, &kept, &handles);
		for (int i = 0; i < MANY; i++) {
			for (int p = 0; p < 2; p++) {
				object[p][i] = wf_pool_get(&pool[p]);
				assert_non_null(object[p][i]);
				name[p][i] = wf_pool_handle(&handles, object[p][i]);
			}
		}
		for (int i = 0; i < MANY; i++) {
			for (int p = 0; p < 2; p++) {
				assert_int_equal(!(name[p][i] & WF_POOL_OUTSIDE), !far);
				assert_int_not_equal(name[p][i], 0);
				assert_ptr_equal(
					wf_pool_at(&handles, name[p][i]), object[p][i]);
				wf_pool_put(&pool[p], object[p][i]);
			}
		}
		assert_int_equal(handles.slabs, pool[0].slabs + pool[1].slabs);
		wf_pool_done(&pool[0]);
		wf_pool_done(&pool[1]);
		assert_int_equal(handles.slabs, 0);
		assert_null(handles.outside.at);
		assert_int_equal(handles.base, 0);
	}
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_distinct),
		cmocka_unit_test(test_shrinks),
		cmocka_unit_test(test_shared),
		cmocka_unit_test(test_edge),
		cmocka_unit_test(test_aside),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
