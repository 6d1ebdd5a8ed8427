/* SPDX-License-Identifier: BSD-2-Clause */
/* Attempts to connect: deadlines, and attempts that end while others expire. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "objects/conn/attempt.h"
#include "sys/compiler.h"

enum { ATTEMPTS = 3, OVER_NS = 100, LATER_NS = 200 };

struct sim_attempt {
	struct wf_attempt base;
	int expired;
	struct sim_attempt *ends; /* attempt that ends when this one expires */
};

static struct wf_attempts attempts;
static struct sim_attempt *at[ATTEMPTS];

static int open_attempts(void **state)
{
	wf_attempts_init(&attempts);
	for (int i = 0; i < ATTEMPTS; i++) {
		at[i] = calloc(1, sizeof(*at[i]));
		assert_non_null(at[i]);
		wf_attempts_add(&attempts, &at[i]->base);
	}
	return 0;
}

static int close_attempts(void **state)
{
	struct wf_attempt *attempt;

	while ((attempt = wf_attempts_first(&attempts)))
		wf_attempts_end(&attempts, attempt);
	wf_attempts_free_ended(&attempts);
	return !wf_list_empty(&attempts.ended);
}

static void expired(struct wf_attempt *attempt)
{
	struct sim_attempt *sim = wf_container_of(attempt, struct sim_attempt, base);

	sim->expired++;
	if (sim->ends)
		wf_attempts_end(&attempts, &sim->ends->base);
}

static void the_earliest_deadline_is_told(void **state)
{
	assert_int_equal(wf_attempts_deadline(&attempts), UINT64_MAX);
	at[1]->base.deadline_ns = LATER_NS;
	at[2]->base.deadline_ns = OVER_NS;
	assert_int_equal(wf_attempts_deadline(&attempts), OVER_NS);
	wf_attempts_expire(&attempts, OVER_NS, expired);
	assert_int_equal(at[0]->expired, 0);
	assert_int_equal(at[1]->expired, 0);
	assert_int_equal(at[2]->expired, 1);
	assert_ptr_equal(wf_attempts_first(&attempts), &at[0]->base);
}

/* An attempt that expires may end the next one, whose callback is then not called. */
static void one_that_expires_ends_the_next(void **state)
{
	for (int i = 0; i < ATTEMPTS; i++)
		at[i]->base.deadline_ns = OVER_NS;
	at[0]->ends = at[1];
	at[2]->ends = at[2];
	wf_attempts_expire(&attempts, OVER_NS, expired);
	assert_int_equal(at[0]->expired, 1);
	assert_int_equal(at[1]->expired, 0);
	assert_int_equal(at[2]->expired, 1);
	wf_attempts_free_ended(&attempts);
	assert_ptr_equal(wf_attempts_first(&attempts), &at[0]->base);
	assert_ptr_equal(attempts.live.prev, &at[0]->base.link);
}

/* The callback of an attempt that gets another deadline, or none, is called once. */
static void one_that_goes_on_is_told_once(void **state)
{
	at[1]->base.deadline_ns = OVER_NS;
	wf_attempts_expire(&attempts, LATER_NS, expired);
	assert_int_equal(at[1]->expired, 1);
	wf_attempts_expire(&attempts, LATER_NS, expired);
	assert_int_equal(at[1]->expired, 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			the_earliest_deadline_is_told, open_attempts, close_attempts),
		cmocka_unit_test_setup_teardown(
			one_that_expires_ends_the_next, open_attempts, close_attempts),
		cmocka_unit_test_setup_teardown(
			one_that_goes_on_is_told_once, open_attempts, close_attempts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
