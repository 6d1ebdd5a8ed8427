/* SPDX-License-Identifier: BSD-2-Clause */
#include <sched.h>

#include "providers/coll/node/locality.h"
#include "unit.h"

/* Whether the members of a group are more processes than they have processors. */

enum { MANY = 600 };

static uint32_t processors(void)
{
	cpu_set_t set;

	assert_int_equal(sched_getaffinity(0, sizeof(set), &set), 0);
	return (uint32_t)CPU_COUNT(&set);
}

static void test_processes(void **state)
{
	struct coll_locality localities[MANY], own = coll_locality_own();
	uint32_t count = processors();

	(void)state;
	if (count >= MANY)
		skip();
	assert_int_not_equal(own.processors, 0);
	for (uint32_t i = 0; i < MANY; i++)
		localities[i] =
			(struct coll_locality){ own.processors, own.process + i };
	assert_false(coll_is_oversubscribed(localities, count));
	assert_true(coll_is_oversubscribed(localities, count + 1));
	assert_true(coll_is_oversubscribed(localities, MANY));
}

/* Members of one process need one processor. */
static void test_members_of_one_process(void **state)
{
	struct coll_locality localities[MANY];

	(void)state;
	for (uint32_t i = 0; i < MANY; i++)
		localities[i] = coll_locality_own();
	assert_false(coll_is_oversubscribed(localities, MANY));
}

static void test_other_processors(void **state)
{
	struct coll_locality localities[MANY], own = coll_locality_own();

	(void)state;
	for (uint32_t i = 0; i < MANY; i++)
		localities[i] = (struct coll_locality){ own.processors ^ 1, i };
	assert_false(coll_is_oversubscribed(localities, MANY));
	for (uint32_t i = 0; i < MANY; i++)
		localities[i].processors = 0;
	assert_false(coll_is_oversubscribed(localities, MANY));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_processes),
		cmocka_unit_test(test_members_of_one_process),
		cmocka_unit_test(test_other_processors),
	};

	return cmocka_run_group_tests_name("coll_locality", tests, NULL, NULL);
}
