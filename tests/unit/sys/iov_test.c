/* SPDX-License-Identifier: BSD-2-Clause */
#include "sys/iov.h"
#include "unit.h"

/* Buffers are filled in order, as far as they go, and nothing behind them is
 * touched. */
static void scatter(void **state)
{
	char a[4] = "...", b[6] = ".....";
	struct iovec iov[] = { { a, 3 }, { b, 0 }, { b, 4 } };

	(void)state;
	assert_int_equal(wf_iov_len(iov, 3), 7);
	assert_int_equal(wf_iov_scatter(iov, 3, "12", 2), 2);
	assert_string_equal(a, "12.");
	assert_int_equal(wf_iov_scatter(iov, 3, "123456789", 9), 7);
	assert_string_equal(a, "123");
	assert_string_equal(b, "4567.");
	assert_int_equal(wf_iov_scatter(iov, 0, "x", 1), 0);
}

static void gather(void **state)
{
	char to[8] = ".......";
	struct iovec iov[] = { { "123", 3 }, { "45", 2 } };

	(void)state;
	assert_int_equal(wf_iov_gather(to, iov, 2), 5);
	assert_string_equal(to, "12345..");
	assert_int_equal(wf_iov_gather(to, iov, 0), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(scatter),
		cmocka_unit_test(gather),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
