/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include <stdbool.h>

#include "sys/book.h"

/* Numbers lead to what was entered, are used again, and end at the limit. */
static void test_numbers(void **state)
{
	enum { MANY = 5000, LIMIT = 3000 };
	static int thing[MANY];
	static uint32_t number[MANY];
	struct wf_book book = { 0 };

	for (int round = 0; round < 2; round++) {
		for (uint32_t i = 0; i < LIMIT - 1; i++) {
			number[i] = wf_book_enter(&book, &thing[i], LIMIT);
			assert_in_range(number[i], 1, LIMIT - 1);
		}
		assert_int_equal(wf_book_enter(&book, &thing[0], LIMIT), 0);
		for (uint32_t i = 0; i < LIMIT - 1; i += 3) {
			wf_book_leave(&book, number[i]);
			number[i] = wf_book_enter(&book, &thing[i], LIMIT);
		}
		for (uint32_t i = 0; i < LIMIT - 1; i++) {
			assert_ptr_equal(book.at[number[i]], &thing[i]);
			wf_book_leave(&book, number[i]);
		}
		assert_null(book.at);
	}
	(void)state;
}

/* A small one is not given back each time. */
static void test_small(void **state)
{
	struct wf_book book = { 0 };
	uint32_t number = wf_book_enter(&book, &book, UINT32_MAX);

	assert_int_equal(number, 1);
	wf_book_leave(&book, number);
	assert_non_null(book.at);
	assert_int_equal(wf_book_enter(&book, &book, UINT32_MAX), number);
	wf_book_done(&book);
	assert_null(book.at);
	(void)state;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers),
		cmocka_unit_test(test_small),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
