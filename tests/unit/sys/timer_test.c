/* SPDX-License-Identifier: BSD-2-Clause */
#include "../../readable.h"
#include "sys/clock.h"
#include "sys/timer.h"
#include "unit.h"

/* A deadline that has passed, the first instant too, is reported until it is drained;
 * one that was postponed, or cancelled, is not. */
static void deadlines(void **state)
{
	struct wf_timer timer;

	(void)state;
	wf_timer_init(&timer);
	assert_false(wf_timer_set(&timer, UINT64_MAX));
	assert_int_equal(timer.fd, -1);
	assert_true(wf_timer_set(&timer, 0));
	assert_true(is_readable(timer.fd, -1));
	wf_timer_drain(&timer);
	assert_false(is_readable(timer.fd, 0));
	/* One that is over stands in the way of none that comes. */
	assert_true(timer.deadline_ns == UINT64_MAX);
	assert_false(wf_timer_set(&timer, wf_now_ns() + 1000000));
	assert_true(is_readable(timer.fd, -1));
	assert_false(wf_timer_set(&timer, wf_deadline_ns(1000000)));
	assert_false(is_readable(timer.fd, 0));
	wf_timer_drain(&timer);
	assert_true(timer.deadline_ns != UINT64_MAX);
	assert_false(wf_timer_set(&timer, 0));
	assert_false(wf_timer_set(&timer, UINT64_MAX));
	assert_false(is_readable(timer.fd, 0));
	wf_timer_done(&timer);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(deadlines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
