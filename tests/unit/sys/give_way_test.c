/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <sched.h>
#include <time.h>

#include "sys/clock.h"
#include "sys/give_way.h"
#include "sys/pause.h"
#include "unit.h"

static unsigned int yields, sleeps;
static long slept_ns; /* in the last sleep */
/* Yields let other threads run, which takes time. */
static bool shared;

/* These two instead of the system's. */
int sched_yield(void)
{
	uint64_t end_ns = wf_now_ns() + 20000;

	yields++;
	while (shared && wf_now_ns() < end_ns)
		;
	return 0;
}

int nanosleep(const struct timespec *time, struct timespec *left)
{
	assert_int_equal(time->tv_sec, 0);
	assert_null(left);
	slept_ns = time->tv_nsec;
	sleeps++;
	errno = EINTR;
	return -1;
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
	unsigned int polls = 0;

	(void)state;
	yields = 0;
	/* Between two checks there is always one that finds something, also where this
	 * process loses its processor, and they are more frequent then. */
	while (!wf_expired(deadline_ns))
		poll(&patience, polls++ / 8, false);
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

/* Poll until the yields and sleeps are @end. */
static void poll_until(
	struct wf_patience *patience, unsigned int stamp, unsigned int end)
{
	uint64_t deadline_ns = wf_deadline_ns(60000);

	while (yields + sleeps < end && !wf_expired(deadline_ns))
		poll(patience, stamp, false);
	assert_int_equal(yields + sleeps, end);
}

/* Where other threads want the processor for long, each second pause is a sleep, until
 * the poller finds something, or the others are gone. */
static void among_others(void **state)
{
	struct wf_patience patience = { 0 };

	(void)state;
	for (int i = 0; i < 2; i++) {
		yields = sleeps = 0;
		shared = true;
		poll_until(&patience, (unsigned int)i, WF_PAUSE_YIELDS);
		assert_int_equal(sleeps, 0);
		poll_until(&patience, (unsigned int)i, WF_PAUSE_YIELDS + 5);
		assert_int_equal(sleeps, 3);
		assert_int_equal(slept_ns, 40000);
	}
	shared = false;
	poll_until(&patience, 1, 2 * WF_PAUSE_YIELDS + 5);
	assert_in_range(sleeps, 3, 4);
}

/* The first pauses yield, later ones sleep, twice as long after as many again, up to a
 * limit. errno is kept. */
static void pauses(void **state)
{
	long expected = 40000;

	(void)state;
	yields = sleeps = 0;
	errno = ENOENT;
	for (unsigned int i = 0; i < 8 * WF_PAUSE_YIELDS; i++) {
		wf_pause(i);
		assert_int_equal(yields + sleeps, i + 1);
		assert_int_equal(yields, i < WF_PAUSE_YIELDS ? i + 1 : WF_PAUSE_YIELDS);
		if (i >= 2 * WF_PAUSE_YIELDS && i % WF_PAUSE_YIELDS == 0 &&
			expected < 1280000)
			expected *= 2;
		if (sleeps)
			assert_int_equal(slept_ns, expected);
	}
	wf_pause(-1u);
	assert_int_equal(slept_ns, 1280000);
	assert_int_equal(errno, ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_vain),
		cmocka_unit_test(in_vain_and_slowly),
		cmocka_unit_test(with_luck),
		cmocka_unit_test(with_a_long_message),
		cmocka_unit_test(at_the_beginning),
		cmocka_unit_test(among_others),
		cmocka_unit_test(pauses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
