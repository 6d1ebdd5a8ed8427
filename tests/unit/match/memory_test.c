/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The engine when memory is short: its sources are compiled in this file with
 * allocators that fail at random, or always, and it must agree with the model
 * nevertheless.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "../../time_limits.h"
#include "sys/pages.h"

static unsigned int fail_percent;
static uint64_t fail_state = 1;
static unsigned long asked, refused;
static int plenty;

/* For what is not the engine's. */
#define PLENTY(what)                                                                   \
	do {                                                                           \
		plenty = 1;                                                            \
		what;                                                                  \
		plenty = 0;                                                            \
	} while (0)

static int refuse(void)
{
	if (plenty)
		return 0;
	asked++;
	fail_state = fail_state * 6364136223846793005u + 1442695040888963407u;
	if ((fail_state >> 33) % 100 >= fail_percent)
		return 0;
	refused++;
	return 1;
}

static void *scarce_malloc(size_t size)
{
	return refuse() ? NULL : malloc(size);
}

static void *scarce_calloc(size_t count, size_t size)
{
	return refuse() ? NULL : calloc(count, size);
}

static void *scarce_realloc(void *mem, size_t size)
{
	return refuse() ? NULL : realloc(mem, size);
}

static void *scarce_pages_get(size_t size)
{
	return refuse() ? NULL : wf_pages_get(size);
}

#define malloc       scarce_malloc
#define calloc       scarce_calloc
#define realloc      scarce_realloc
#define wf_pages_get scarce_pages_get
#include "../../../src/match/table.c" /* before what includes table.h alone */
#include "../../../src/match/mark.c"
#include "../../../src/match/match.c"
#include "../../../src/match/posted.c"
#include "../../../src/match/seed.c"
#include "../../../src/sys/id_map.c"
#define grow grow_slabs
#include "../../../src/sys/pool.c"
#include "../../../src/match/unexpected.c"
#undef malloc
#undef calloc
#undef realloc
#undef wf_pages_get

#include "model.h"

static uint64_t generate(struct source *src)
{
	static uint64_t state = 7;
	uint64_t z = state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

#define OPS (limit_amount() ? 60000 : 300000)

static void run(unsigned int percent)
{
	struct source src = { generate };
	struct world w;

	fail_percent = percent;
	asked = refused = 0;
	world_init(&w, &src);
	for (int i = 0; i < OPS && !w.wrong; i++) {
		if (i % 2048 == 0)
			op_season(&w);
		if (i % 16384 == 16383)
			op_drain(&w);
		world_step(&w);
	}
	if (w.wrong)
		fail_msg("%s differs, %u%% of the allocations refused", w.wrong,
			percent);
	assert_true(refused > 0 && (percent == 100 || refused < asked));
	world_done(&w);
}

static void test_sometimes(void **state)
{
	run(10);
	run(60);
}

static void test_always(void **state)
{
	run(100);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sometimes),
		cmocka_unit_test(test_always),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
