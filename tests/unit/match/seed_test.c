/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include "../refuse.h"
#include "match/seed.h"

/* Where the system has no random numbers, the seed is made of clock and addresses, and
 * has the form of all seeds. It is drawn once. */
static void seed_without_random_numbers(void **state)
{
	uint64_t first;

	refuse_one("getrandom", 1, EAGAIN);
	wf_match_seed_once();
	assert_true(refuse_end());
	first = wf_match_seed[0];
	assert_true(first != 0);
	assert_true(wf_match_seed[1] != 0);
	assert_true((wf_match_seed[1] & ~UINT64_C(0x7ffffffffffffffe)) == 0);
	refuse_one("getrandom", 0, 0);
	wf_match_seed_once();
	assert_int_equal(refuse.calls, 0);
	assert_true(wf_match_seed[0] == first);
	(void)refuse_end();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(seed_without_random_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
