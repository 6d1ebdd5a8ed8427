/* SPDX-License-Identifier: BSD-2-Clause */
#include "udp_fixture.h"

/* CQ-013 to CQ-016, CQ-018, GI-019: the source of a datagram. */

static void run(uint64_t caps, uint32_t format, bool in_av, fi_addr_t *ret_src,
	struct fi_cq_err_entry *ret_err)
{
	struct net net;
	struct node to, from;
	char buf[8] = "";
	uint8_t raw[64];
	fi_addr_t again = FI_ADDR_NOTAVAIL;

	net_open(&net, (struct net_options){ .caps = caps, .addr_format = format });
	node_open(&to, &net);
	node_open_unknown(&from, &net);
	if (in_av)
		node_insert(&from);
	must_post(&to, buf, 8, &buf);
	must_send(&from, to.addr, "hello", 5);
	if (ret_err) {
		*ret_err = (struct fi_cq_err_entry){ .err_data = raw,
			.err_data_size = sizeof(raw) };
		must_fail(&net, ret_err);
		assert_ptr_equal(ret_err->op_context, &buf);
		/* The data arrived, and what came with the error can be inserted. */
		assert_int_equal(ret_err->len, 5);
		assert_int_equal(ret_err->err_data_size, from.name_len);
		assert_memory_equal(raw, &from.name, 8);
		assert_int_equal(fi_av_insert(net.av, raw, 1, &again, 0, NULL), 1);
		must_post(&to, buf, 8, NULL);
		must_send(&from, to.addr, "hello", 5);
	}
	assert_int_equal(must_receive(&net, ret_src).len, 5);
	assert_string_equal(buf, "hello");
	if (in_av && caps & FI_SOURCE)
		assert_int_equal(*ret_src, from.addr);
	if (ret_err)
		assert_int_equal(*ret_src, again);
	node_close(&from);
	node_close(&to);
	net_close(&net);
}

static void test_not_asked(void **state)
{
	fi_addr_t src = 0;

	run(FI_MSG, FI_SOCKADDR_IN, true, &src, NULL);
	assert_int_equal(src, FI_ADDR_NOTAVAIL);
}

static void test_known(void **state)
{
	fi_addr_t src;

	for (int f = 0; f < 2; f++)
		run(FI_MSG | FI_SOURCE, formats[f], true, &src, NULL);
}

static void test_unknown(void **state)
{
	fi_addr_t src = 0;

	run(FI_MSG | FI_SOURCE, FI_SOCKADDR_IN, false, &src, NULL);
	assert_int_equal(src, FI_ADDR_NOTAVAIL);
}

static void test_unknown_is_an_error(void **state)
{
	struct fi_cq_err_entry err;
	fi_addr_t src;

	for (int f = 0; f < 2; f++) {
		run(FI_MSG | FI_SOURCE | FI_SOURCE_ERR, formats[f], false, &src, &err);
		assert_int_equal(err.err, FI_EADDRNOTAVAIL);
		assert_int_equal(err.flags, FI_MSG | FI_RECV);
		assert_int_equal(err.src_addr, FI_ADDR_NOTAVAIL);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_not_asked),
		cmocka_unit_test(test_known),
		cmocka_unit_test(test_unknown),
		cmocka_unit_test(test_unknown_is_an_error),
	};

	return cmocka_run_group_tests_name("udp_source", tests, NULL, NULL);
}
