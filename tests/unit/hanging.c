/* SPDX-License-Identifier: BSD-2-Clause */
/* Cases for watchdog.sh: the second one does not end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <unistd.h>
#include <cmocka.h>

static int group_begins(void **state)
{
	static int shared = 3;

	*state = &shared;
	return 0;
}

static void finds_the_state_of_the_group(void **state)
{
	assert_int_equal(*(int *)*state, 3);
}

static void never_ends(void **state)
{
	(void)state;
	for (;;)
		(void)pause();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_the_state_of_the_group),
		cmocka_unit_test(never_ends),
	};

	return cmocka_run_group_tests(tests, group_begins, NULL);
}
