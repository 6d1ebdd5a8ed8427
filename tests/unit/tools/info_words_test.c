/* SPDX-License-Identifier: BSD-2-Clause */
/* The names that fi_info takes on its command line. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
#include <rdma/fabric.h>
#include "../../../tools/info/words.h"

static void names_are_ored(void **state)
{
	uint64_t caps = FI_RMA;

	(void)state;
	assert_int_equal(word_flags(&word_caps, "FI_MSG|fi_tagged", &caps), 0);
	assert_true(caps == (FI_RMA | FI_MSG | FI_TAGGED));
}

static void nothing_between_bars_is_nothing(void **state)
{
	uint64_t caps = 0;

	(void)state;
	assert_int_equal(word_flags(&word_caps, "", &caps), 0);
	assert_int_equal(word_flags(&word_caps, "|FI_MSG||FI_RMA|", &caps), 0);
	assert_true(caps == (FI_MSG | FI_RMA));
}

static void unknown_names_are_refused(void **state)
{
	uint64_t caps = 0;

	(void)state;
	assert_int_equal(word_flags(&word_caps, "FI_MS", &caps), -EINVAL);
	assert_int_equal(word_flags(&word_caps, "FI_MSGS", &caps), -EINVAL);
	assert_int_equal(word_flags(&word_caps, "FI_MSG,FI_RMA", &caps), -EINVAL);
	assert_int_equal(word_flags(&word_modes, "FI_MSG", &caps), -EINVAL);
}

static void single_values(void **state)
{
	uint64_t value = 99;

	(void)state;
	assert_int_equal(word_value(&word_ep_types, "fi_ep_dgram", &value), 0);
	assert_int_equal(value, FI_EP_DGRAM);
	assert_int_equal(word_value(&word_addr_formats, "FI_SOCKADDR_IN6", &value), 0);
	assert_int_equal(value, FI_SOCKADDR_IN6);
	assert_int_equal(
		word_value(&word_ep_types, "FI_EP_MSG|FI_EP_RDM", &value), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_ored),
		cmocka_unit_test(nothing_between_bars_is_nothing),
		cmocka_unit_test(unknown_names_are_refused),
		cmocka_unit_test(single_values),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
