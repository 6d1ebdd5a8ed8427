/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <rdma/fi_errno.h>

#include "objects/lower/find.h"

/* By which version a provider below is asked. */

static struct {
	uint32_t newest; /* that the provider answers; 0: none */
	unsigned int asked;
	uint32_t last;
} below;

uint32_t fi_version(void)
{
	return FI_VERSION(2, 6);
}

int fi_getinfo(uint32_t version, const char *node, const char *service, uint64_t flags,
	const struct fi_info *hints, struct fi_info **ret_info)
{
	assert_null(node);
	assert_null(service);
	assert_int_equal(flags, 0);
	assert_non_null(hints);
	below.asked++;
	below.last = version;
	if (version > below.newest)
		return -FI_ENODATA;
	*ret_info = fi_allocinfo();
	assert_non_null(*ret_info);
	(*ret_info)->fabric_attr->api_version = version;
	return 0;
}

static uint32_t found(uint32_t oldest, uint32_t newest)
{
	struct fi_info *hints = fi_allocinfo(), *list = NULL;
	uint32_t version = 0;

	below.newest = newest;
	below.asked = 0;
	if (!wf_lower_find(oldest, hints, &list)) {
		version = list->fabric_attr->api_version;
		assert_null(list->next);
	}
	fi_freeinfo(list);
	fi_freeinfo(hints);
	return version;
}

static void test_newest_version(void **state)
{
	const uint32_t oldest = FI_VERSION(1, 17);

	(void)state;
	assert_int_equal(found(oldest, FI_VERSION(2, 6)), FI_VERSION(2, 6));
	assert_int_equal(below.asked, 1);
	assert_int_equal(found(oldest, FI_VERSION(2, 3)), FI_VERSION(2, 3));
	assert_int_equal(found(oldest, FI_VERSION(2, 0)), FI_VERSION(2, 0));
	assert_int_equal(found(oldest, FI_VERSION(1, 22)), FI_VERSION(1, 22));
	assert_int_equal(found(oldest, FI_VERSION(1, 18)), FI_VERSION(1, 18));
	assert_int_equal(found(oldest, oldest), oldest);
	/* No answer by the newest and the oldest: it is not asked any further. */
	assert_int_equal(found(oldest, FI_VERSION(1, 16)), 0);
	assert_int_equal(below.asked, 2);
	assert_int_equal(found(FI_VERSION(2, 6), FI_VERSION(2, 5)), 0);
	assert_int_equal(below.asked, 1);
}

/* What is asked about a result is asked by the version of the result. */
static void test_again(void **state)
{
	struct fi_info *hints = fi_allocinfo(), *list = NULL;

	(void)state;
	below.newest = FI_VERSION(2, 6);
	hints->fabric_attr->api_version = FI_VERSION(1, 19);
	assert_int_equal(wf_lower_find_again(hints, &list), 0);
	assert_int_equal(below.last, FI_VERSION(1, 19));
	fi_freeinfo(list);
	fi_freeinfo(hints);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_newest_version),
		cmocka_unit_test(test_again),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
