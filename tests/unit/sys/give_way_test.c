/* SPDX-License-Identifier: BSD-2-Clause */
#include <sched.h>

#include "sys/clock.h"
#include "sys/give_way.h"
#include "unit.h"

static unsigned int yields;

/* Instead of the system's. */
int sched_yield(void)
{
	yields++;
	return 0;
}

static void poll(struct wf_patience *patience, unsigned int stamp, bool moved)
{
	if (wf_patience_ends(patience))
		wf_give_way(patience, stamp, moved);
}

/* Polls that find nothing yield after a while, and go on yielding. */
static void in_vain(void **state)
{
	struct wf_patience patience = { 0 };
	uint64_t deadline_ns = wf_deadline_ns(60000);

	(void)state;
	yields = 0;
	while (yields < 3 && !wf_expired(deadline_ns))
		poll(&patience, 5, false);
	assert_int_equal(yields, 3);
}

/* Polls that take long are fewer until the next yield. */
static void in_vain_and_slowly(void **state)
{
	struct wf_patience patience = { 0 };
	uint64_t deadline_ns = wf_deadline_ns(60000);
	unsigned int polls = 0;

	(void)state;
	yields = 0;
	while (yields < 10 && !wf_expired(deadline_ns)) {
		uint64_t end_ns = wf_now_ns() + 20000;

		while (wf_now_ns() < end_ns)
			;
		polls = yields < 9 ? 0 : polls + 1;
		poll(&patience, 5, false);
	}
	assert_int_equal(yields, 10);
	assert_in_range(polls, 1, WF_PATIENCE_MISSES / 8);
}

/* A poller that finds something now and then keeps its processor, however long it
 * polls. */
static void with_luck(void **state)
{
	struct wf_patience patience = { 0 };
	uint64_t deadline_ns = wf_deadline_ns(5);
	unsigned int found = 0;

	(void)state;
	yields = 0;
	while (!wf_expired(deadline_ns)) {
		found++;
		for (int i = 0; i < WF_PATIENCE_MISSES - 1; i++)
			poll(&patience, found, false);
	}
	assert_int_equal(yields, 0);
}

/* So does one that waits for something long, which moves. */
static void with_a_long_message(void **state)
{
	struct wf_patience patience = { 0 };
	uint64_t deadline_ns = wf_deadline_ns(5);

	(void)state;
	yields = 0;
	while (!wf_expired(deadline_ns))
		poll(&patience, 0, true);
	assert_int_equal(yields, 0);
}

/* The first poll starts to count the time: an old poll is no reason to yield. */
static void at_the_beginning(void **state)
{
	struct wf_patience patience = { 0 };

	(void)state;
	yields = 0;
	for (int i = 0; i < WF_PATIENCE_MISSES; i++)
		poll(&patience, 0, false);
	assert_int_equal(yields, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_vain),
		cmocka_unit_test(in_vain_and_slowly),
		cmocka_unit_test(with_luck),
		cmocka_unit_test(with_a_long_message),
		cmocka_unit_test(at_the_beginning),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
