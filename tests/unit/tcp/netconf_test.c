/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include "providers/tcp/netconf.h"

struct fi_provider tcp_fi = { .name = "tcp" };

static void defaults(void **state)
{
	struct tcp_netconf conf = tcp_netconf_read();

	assert_int_equal(conf.port_low, 0);
	assert_int_equal(conf.port_high, 0);
	assert_int_equal(conf.nodelay, -1);
	assert_int_equal(conf.connect_ms, 30000);
	assert_int_equal(conf.reply_ms, 0);
	assert_int_equal(conf.keepalive_ms, 60000);
}

static void set_range(const char *low, const char *high, int want_low, int want_high)
{
	struct tcp_netconf conf;

	setenv("FI_TCP_PORT_LOW_RANGE", low, 1);
	setenv("FI_TCP_PORT_HIGH_RANGE", high, 1);
	conf = tcp_netconf_read();
	assert_int_equal(conf.port_low, want_low);
	assert_int_equal(conf.port_high, want_high);
}

static void values_are_checked(void **state)
{
	struct tcp_netconf conf;

	setenv("FI_TCP_NODELAY", "no", 1);
	setenv("FI_TCP_CONNECT_TIMEOUT", "-5", 1);
	setenv("FI_TCP_REPLY_TIMEOUT", "0x10", 1);
	setenv("FI_TCP_KEEPALIVE_TIMEOUT", "-1", 1);
	conf = tcp_netconf_read();
	assert_int_equal(conf.nodelay, 0);
	assert_int_equal(conf.connect_ms, 30000);
	assert_int_equal(conf.reply_ms, 16);
	assert_int_equal(conf.keepalive_ms, 60000);

	set_range("20000", "20010", 20000, 20010);
	set_range("20000", "20000", 20000, 20000);
	set_range("20010", "20000", 0, 0);
	set_range("20000", "0", 0, 0);
	set_range("0", "20000", 0, 0);
	set_range("20000", "70000", 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(defaults),
		cmocka_unit_test(values_are_checked),
	};

	tcp_netconf_define();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
