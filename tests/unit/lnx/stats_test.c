/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include <unistd.h>

#include "providers/lnx/param.h"
#include "providers/lnx/stats.h"

/* What FI_LNX_DUMP_STATS writes when an endpoint is closed. */

/* What the files under test use of the rest of the provider. */
struct fi_provider lnx_fi = { .name = "lnx" };
struct lnx_params lnx_params;

/* What is written to the standard error. */
static char written[8192];
static unsigned int writes;

ssize_t __wrap_wf_sys_write(int fd, const void *buf, size_t len);

ssize_t __wrap_wf_sys_write(int fd, const void *buf, size_t len)
{
	size_t had = strlen(written);

	assert_int_equal(fd, STDERR_FILENO);
	assert_true(had + len < sizeof(written));
	memcpy(written + had, buf, len);
	writes++;
	return (ssize_t)len;
}

enum { RAILS = 3 };

static struct wf_domain wf_domain = { .name = (char *)"lo+a+b" };
static struct lnx_link link_of_three = { .count = RAILS,
	.member = { { .name = "shm:shm" }, { .name = "tcp:a" }, { .name = "tcp:b" } } };
static struct lnx_domain domain = { .wf = &wf_domain, .link = &link_of_three };
static struct lnx_ep ep;

static int fresh(void **state)
{
	memset(&ep, 0, sizeof(ep));
	memset(written, 0, sizeof(written));
	writes = 0;
	ep.domain = &domain;
	ep.count = RAILS;
	lnx_params.stats = true;
	return 0;
}

/* Each rail has its own operations, bytes and failures. */
static void each_rail_has_a_line(void **state)
{
	lnx_rail_count(&ep, 1, 100);
	lnx_rail_count(&ep, 1, 0);
	lnx_rail_count(&ep, 2, UINT64_C(1) << 40);
	ep.rail[0].failures = 7;
	ep.rail[2].failures = 1;
	lnx_dump_stats(&ep);
	assert_string_equal(written,
		"lnx lo+a+b: shm:shm: 0 operations, 0 bytes sent, 7 failed\n"
		"lnx lo+a+b: tcp:a: 2 operations, 100 bytes sent, 0 failed\n"
		"lnx lo+a+b: tcp:b: 1 operations, 1099511627776 bytes sent, 1 "
		"failed\n");
}

/* Of an endpoint whose opening failed half-way, the rails that were opened. */
static void rails_that_are_not_open_have_none(void **state)
{
	ep.count = 1;
	lnx_dump_stats(&ep);
	assert_string_equal(
		written, "lnx lo+a+b: shm:shm: 0 operations, 0 bytes sent, 0 failed\n");
}

static void nothing_is_written_unless_it_was_asked_for(void **state)
{
	lnx_params.stats = false;
	lnx_dump_stats(&ep);
	assert_int_equal(writes, 0);
}

/* A line is one call, so that lines of several processes do not mix. One that is too
 * long is cut, and nothing behind it is written. */
static void a_line_is_written_at_once(void **state)
{
	static const struct {
		int len;
		size_t written;
	} rows[] = { { 1, 1 }, { 510, 510 }, { 511, 511 }, { 512, 511 },
		{ 2000, 511 } };

	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		memset(written, 0, sizeof(written));
		writes = 0;
		lnx_stats_write("%*d", rows[i].len, 1);
		assert_int_equal(writes, 1);
		assert_int_equal(strlen(written), rows[i].written);
		assert_int_equal(
			written[rows[i].written - 1], rows[i].len < 512 ? '1' : ' ');
	}
	writes = 0;
	lnx_stats_write("%s", "");
	assert_int_equal(writes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(each_rail_has_a_line, fresh),
		cmocka_unit_test_setup(rails_that_are_not_open_have_none, fresh),
		cmocka_unit_test_setup(
			nothing_is_written_unless_it_was_asked_for, fresh),
		cmocka_unit_test_setup(a_line_is_written_at_once, fresh),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
