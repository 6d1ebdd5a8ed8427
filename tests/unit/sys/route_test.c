/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include <errno.h>

#include "sys/route.h"

/* GI-031 */
static void loopback_is_reached_from_itself(void **state)
{
	union wf_sockaddr dest, src;

	assert_int_equal(wf_sockaddr_from_host("127.0.0.1", &dest), 0);
	assert_int_equal(wf_route_source(&dest, &src), 0);
	assert_true(wf_sockaddr_same_host(&src, &dest));
	assert_int_equal(wf_sockaddr_port(&src), 0);
	wf_sockaddr_set_port(&dest, 9999);
	assert_int_equal(wf_route_source(&dest, &src), 0);
	assert_int_equal(wf_sockaddr_port(&src), 0);
}

static void without_route_nothing_is_written(void **state)
{
	union wf_sockaddr dest, src = wf_sockaddr_any(AF_INET);

	/* Link scope without the link. */
	assert_int_equal(wf_sockaddr_from_host("fe80::1", &dest), 0);
	assert_true(wf_route_source(&dest, &src) < 0);
	dest.sa.sa_family = AF_UNIX;
	assert_int_equal(wf_route_source(&dest, &src), -EAFNOSUPPORT);
	assert_int_equal(src.sa.sa_family, AF_INET);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(loopback_is_reached_from_itself),
		cmocka_unit_test(without_route_nothing_is_written),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
