/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A million random operations against the reference model of model.h, a third of
 * them with limit_amount. WEFT_MATCH_OPS and WEFT_MATCH_SEED choose how many and which;
 * a failure prints what to set.
 */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <cmocka.h>

#include "../../time_limits.h"
#include "model.h"

#define DEFAULT_OPS (limit_amount() ? 100000u : 1000000u)

struct generator {
	struct source src;
	uint64_t state;
};

/* splitmix64 */
static uint64_t generate(struct source *src)
{
	struct generator *g = wf_container_of(src, struct generator, src);
	uint64_t z = g->state += 0x9e3779b97f4a7c15u;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
	z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
	return z ^ (z >> 31);
}

static uint64_t from_env(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

static void run(struct world *w, uint64_t seed, uint64_t ops)
{
	for (uint64_t i = 0; i < ops && !w->wrong; i++) {
		if (i % 8192 == 0)
			op_season(w);
		if (i % 8192 == 5000)
			op_walk(w);
		if (i % 65536 == 65535)
			op_drain(w);
		world_step(w);
		if (w->wrong)
			fail_msg("%s differs at operation %" PRIu64
				 "; WEFT_MATCH_SEED=%" PRIu64,
				w->wrong, i, seed);
	}
}

/* TAG-001 TAG-002 TAG-005 TAG-008 TAG-010 TAG-011 TAG-015 MSG-009 MSG-010 MSG-011
 * MSG-012 MRV-008 MRV-009 EP-034 */
static void test_model(void **state)
{
	uint64_t seed = from_env("WEFT_MATCH_SEED", 1);
	struct generator g = { .src.next = generate, .state = seed };
	struct world w;

	world_init(&w, &g.src);
	run(&w, seed, from_env("WEFT_MATCH_OPS", DEFAULT_OPS));
	world_done(&w);
}

/* Messages in memory that lies too far away for short handles, and marks, too. */
static void test_far(void **state)
{
	uint64_t seed = from_env("WEFT_MATCH_SEED", 2);
	struct generator g = { .src.next = generate, .state = seed };
	struct world w;

	world_init(&w, &g.src);
	w.handles.base = WF_POOL_SLAB;
	run(&w, seed, from_env("WEFT_MATCH_OPS", DEFAULT_OPS) / 10);
	assert_true(w.handles.outside.used > 0);
	world_done(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_model),
		cmocka_unit_test(test_far),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
