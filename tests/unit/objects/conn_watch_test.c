/* SPDX-License-Identifier: BSD-2-Clause */
/* An endpoint's epoll set and its timer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <cmocka.h>

#include "objects/conn/watch.h"
#include "sys/clock.h"
#include "sys/compiler.h"

/* A descriptor that counts the calls of its handler, and may close others. */
struct source {
	struct wf_watch watch;
	int calls;
	uint32_t events;
	struct source *closes;
};

static struct wf_watches watches;

static void close_source(struct source *source)
{
	assert_int_equal(wf_watch_set(&watches, &source->watch, 0), 0);
	assert_int_equal(close(source->watch.fd), 0);
	source->watch.fd = -1;
}

static void ready(struct wf_watch *watch, uint32_t events)
{
	struct source *source = wf_container_of(watch, struct source, watch);

	source->calls++;
	source->events = events;
	if (source->closes && source->closes->watch.fd >= 0)
		close_source(source->closes);
}

static void open_source(struct source *source, unsigned int count)
{
	*source = (struct source){ .watch = { .ready = ready } };
	source->watch.fd = eventfd(count, EFD_NONBLOCK | EFD_CLOEXEC);
	assert_true(source->watch.fd >= 0);
}

static int setup(void **state)
{
	(void)state;
	wf_watches_init(&watches);
	return wf_watches_open(&watches);
}

static int teardown(void **state)
{
	(void)state;
	wf_watches_done(&watches);
	return 0;
}

/* Does a thread that sleeps on the set wake up? */
static bool wakes(int timeout_ms)
{
	struct pollfd fd = { .fd = watches.epfd, .events = POLLIN };

	return poll(&fd, 1, timeout_ms) == 1;
}

static void opening_twice_is_once(void **state)
{
	int epfd = watches.epfd;

	(void)state;
	assert_int_equal(wf_watches_open(&watches), 0);
	assert_int_equal(watches.epfd, epfd);
}

static void only_watched_events_are_told(void **state)
{
	struct source full, empty;

	(void)state;
	open_source(&full, 1);
	open_source(&empty, 0);
	assert_int_equal(wf_watch_set(&watches, &full.watch, EPOLLIN), 0);
	assert_int_equal(wf_watch_set(&watches, &empty.watch, EPOLLIN), 0);
	assert_int_equal(watches.count, 2);
	assert_int_equal(wf_watches_poll(&watches), 1);
	assert_int_equal(full.calls, 1);
	assert_int_equal(full.events, EPOLLIN);
	assert_int_equal(empty.calls, 0);
	/* It can be written to. */
	assert_int_equal(wf_watch_set(&watches, &empty.watch, EPOLLIN | EPOLLOUT), 0);
	assert_int_equal(watches.count, 2);
	assert_int_equal(wf_watches_poll(&watches), 2);
	assert_int_equal(empty.events, EPOLLOUT);
	assert_int_equal(wf_watch_set(&watches, &full.watch, 0), 0);
	assert_int_equal(wf_watch_set(&watches, &empty.watch, 0), 0);
	assert_int_equal(wf_watch_set(&watches, &empty.watch, 0), 0);
	assert_int_equal(watches.count, 0);
	assert_int_equal(wf_watches_poll(&watches), 0);
	assert_false(wakes(0));
	close_source(&full);
	close_source(&empty);
}

static void what_a_handler_closed_is_not_called(void **state)
{
	struct source one, two;

	(void)state;
	open_source(&one, 1);
	open_source(&two, 1);
	one.closes = &two;
	two.closes = &one;
	assert_int_equal(wf_watch_set(&watches, &one.watch, EPOLLIN), 0);
	assert_int_equal(wf_watch_set(&watches, &two.watch, EPOLLIN), 0);
	(void)wf_watches_poll(&watches);
	assert_int_equal(one.calls + two.calls, 1);
	assert_int_equal(watches.count, 1);
	close_source(one.calls ? &one : &two);
}

static void what_cannot_be_watched_is_not_in_the_set(void **state)
{
	struct source source = { .watch = { .ready = ready, .fd = -1 } };

	(void)state;
	assert_int_equal(wf_watch_set(&watches, &source.watch, EPOLLIN), -EBADF);
	assert_int_equal(watches.count, 0);
	assert_int_equal(source.watch.events, 0);
}

static void the_timer_ends_a_sleep(void **state)
{
	(void)state;
	wf_watches_set_timer(&watches, wf_deadline_ns(60000));
	assert_false(wakes(0));
	wf_watches_set_timer(&watches, 0);
	assert_true(wakes(-1));
	assert_false(watches.timer_expired);
	assert_int_equal(wf_watches_poll(&watches), 1);
	assert_true(watches.timer_expired);
	assert_false(wakes(0));
}

/* A deadline is set for threads that sleep, and only if it is the next. */
static void an_earlier_deadline_is_expected(void **state)
{
	uint64_t far = wf_deadline_ns(60000);

	(void)state;
	wf_watches_expect(&watches, 1);
	assert_true(watches.timer.deadline_ns == UINT64_MAX);
	watches.sleepers = true;
	wf_watches_expect(&watches, far);
	assert_true(watches.timer.deadline_ns == far);
	wf_watches_expect(&watches, far + 1);
	assert_true(watches.timer.deadline_ns == far);
	wf_watches_expect(&watches, 1);
	assert_true(wakes(-1));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(opening_twice_is_once, setup, teardown),
		cmocka_unit_test_setup_teardown(
			only_watched_events_are_told, setup, teardown),
		cmocka_unit_test_setup_teardown(
			what_a_handler_closed_is_not_called, setup, teardown),
		cmocka_unit_test_setup_teardown(
			what_cannot_be_watched_is_not_in_the_set, setup, teardown),
		cmocka_unit_test_setup_teardown(
			the_timer_ends_a_sleep, setup, teardown),
		cmocka_unit_test_setup_teardown(
			an_earlier_deadline_is_expected, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
