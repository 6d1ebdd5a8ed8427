/* SPDX-License-Identifier: BSD-2-Clause */
#include <poll.h>
#include <unistd.h>

#include "sys/clock.h"
#include "sys/timer.h"
#include "unit.h"

static int readable(int fd, int timeout_ms)
{
	struct pollfd entry = { .fd = fd, .events = POLLIN };

	return poll(&entry, 1, timeout_ms);
}

/* A deadline that is over, the first instant too, is told until it is drained; one that
 * was put off, or taken back, is not. */
static void deadlines(void **state)
{
	int fd = wf_timer_open();

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(readable(fd, 0), 0);
	wf_timer_set(fd, 0);
	assert_int_equal(readable(fd, -1), 1);
	wf_timer_drain(fd);
	assert_int_equal(readable(fd, 0), 0);
	wf_timer_set(fd, wf_now_ns() + 1000000);
	assert_int_equal(readable(fd, -1), 1);
	wf_timer_set(fd, wf_deadline_ns(1000000));
	assert_int_equal(readable(fd, 0), 0);
	wf_timer_set(fd, 0);
	wf_timer_set(fd, UINT64_MAX);
	assert_int_equal(readable(fd, 0), 0);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(deadlines),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
