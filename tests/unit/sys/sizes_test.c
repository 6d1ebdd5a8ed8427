/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include <stdalign.h>
#include <string.h>
#include <sys/mman.h>

#include "sys/pages.h"
#include "sys/sizes.h"

enum { HEAD = 16, MANY = 3000 };

/* What a length costs: of many, all of them in one pool. */
static size_t cost_of(size_t len)
{
	static void *mem[MANY];
	struct wf_sizes sizes;
	size_t bytes = 0;

	wf_sizes_init(&sizes, HEAD);
	for (int i = 0; i < MANY; i++)
		assert_non_null(mem[i] = wf_sizes_get(&sizes, len));
	for (size_t k = 0; k < WF_SIZES_CLASSES; k++)
		if (sizes.pools && sizes.pools[k])
			bytes += sizes.pools[k]->slabs * sizes.pools[k]->slab_size;
	for (int i = 0; i < MANY; i++)
		wf_sizes_put(&sizes, mem[i], len);
	assert_in_range(sizes.kept, 0, WF_POOL_KEPT);
	wf_sizes_done(&sizes);
	assert_int_equal(sizes.kept, 0);
	return bytes / MANY;
}

/* Powers of two fit, and nothing costs much more than it is. */
static void test_cost(void **state)
{
	assert_in_range(cost_of(512), HEAD + 512, (HEAD + 512) * 104 / 100);
	assert_in_range(cost_of(4096), HEAD + 4096, (HEAD + 4096) * 108 / 100);
	for (size_t len = 100; len < 8192; len = len * 9 / 8)
		assert_in_range(cost_of(len), HEAD + len,
			(HEAD + len) * 112 / 100 + WF_SIZES_STEP);
	(void)state;
}

/* Each length has room for itself, next to all others, and beyond the largest class. */
static void test_lengths(void **state)
{
	enum { STEP = 61, COUNT = 3 * WF_SIZES_MAX / 2 / STEP };
	static unsigned char *mem[COUNT];
	struct wf_sizes sizes;

	wf_sizes_init(&sizes, HEAD);
	for (size_t i = 0; i < COUNT; i++) {
		mem[i] = wf_sizes_get(&sizes, i * STEP);
		assert_non_null(mem[i]);
		assert_int_equal((uintptr_t)mem[i] % alignof(max_align_t), 0);
		memset(mem[i], (int)i & 0xff, HEAD + i * STEP);
	}
	for (size_t i = 0; i < COUNT; i++) {
		assert_int_equal(mem[i][0], i & 0xff);
		assert_int_equal(mem[i][HEAD + i * STEP - 1], i & 0xff);
		wf_sizes_put(&sizes, mem[i], i * STEP);
	}
	wf_sizes_done(&sizes);
	(void)state;
}

/* What is short enough has a name that leads to it, and needs no length to go. */
static void test_names(void **state)
{
	static void *mem[MANY];
	struct wf_sizes sizes;

	wf_sizes_init(&sizes, HEAD);
	for (size_t i = 0; i < MANY; i++) {
		mem[i] = wf_sizes_get(&sizes, i * 7 % (WF_SIZES_HANDLE_MAX + 1));
		assert_non_null(mem[i]);
	}
	for (size_t i = 0; i < MANY; i++) {
		uint32_t name = wf_pool_handle(&sizes.handles, mem[i]);

		assert_int_not_equal(name, 0);
		assert_ptr_equal(wf_pool_at(&sizes.handles, name), mem[i]);
		wf_sizes_put_handled(mem[i]);
	}
	assert_in_range(sizes.kept, 1, WF_POOL_KEPT);
	wf_sizes_done(&sizes);
	assert_int_equal(sizes.handles.slabs, 0);
	(void)state;
}

static void test_edges(void **state)
{
	struct wf_sizes sizes;
	void *mem;

	wf_sizes_init(&sizes, HEAD);
	assert_null(wf_sizes_get(&sizes, SIZE_MAX));
	for (size_t len = WF_SIZES_MAX - 1; len <= WF_SIZES_MAX + 1; len++) {
		mem = wf_sizes_get(&sizes, len);
		memset(mem, 1, HEAD + len);
		wf_sizes_put(&sizes, mem, len);
	}
	mem = wf_sizes_get(&sizes, 0);
	memset(mem, 1, HEAD);
	/* Freed with the rest. */
	wf_sizes_done(&sizes);
	(void)state;
}

/* Aligned to their size, whatever lies around. */
static void test_pages(void **state)
{
	char *mem[64], *between[64];

	for (size_t size = 4096; size <= 1 << 20; size *= 2) {
		for (size_t i = 0; i < WF_ARRAY_SIZE(mem); i++) {
			mem[i] = wf_pages_get(size);
			assert_non_null(mem[i]);
			assert_int_equal((uintptr_t)mem[i] % size, 0);
			assert_int_equal(mem[i][size - 1], 0);
			mem[i][0] = mem[i][size - 1] = 1;
			/* The kernel maps the next one below this page. */
			between[i] = mmap(mem[i] - 4096, 4096, PROT_NONE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1,
				0);
		}
		for (size_t i = 0; i < WF_ARRAY_SIZE(mem); i++)
			wf_pages_put(mem[i], size);
		for (size_t i = 0; i < WF_ARRAY_SIZE(mem); i++)
			if (between[i] != MAP_FAILED)
				assert_int_equal(munmap(between[i], 4096), 0);
	}
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cost),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_edges),
		cmocka_unit_test(test_pages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
