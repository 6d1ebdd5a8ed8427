/* SPDX-License-Identifier: BSD-2-Clause */
/* Ids of connections: each is found, however many there are and whichever were
 * removed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include "providers/rxm/conn/conn.h"
#include "providers/rxm/conn/ids.h"

enum { MANY = 1000 };

static void every_connection_is_found(void **state)
{
	struct rxm_conn **conns = calloc(MANY, sizeof(struct rxm_conn *));
	struct rxm_ids ids = { .buckets = NULL };
	uint32_t removed[MANY / 3 + 1];
	size_t gone = 0;

	(void)state;
	assert_non_null(conns);
	assert_null(rxm_ids_find(&ids, 1));
	for (size_t i = 0; i < MANY; i++) {
		conns[i] = calloc(1, sizeof(*conns[i]));
		assert_non_null(conns[i]);
		assert_int_equal(rxm_ids_add(&ids, conns[i]), 0);
		assert_true(conns[i]->id && conns[i]->id <= INT32_MAX);
		for (size_t j = 0; j <= i; j += 1 + i / 64)
			assert_ptr_equal(rxm_ids_find(&ids, conns[j]->id), conns[j]);
	}
	for (size_t i = 0; i < MANY; i += 3) {
		removed[gone++] = conns[i]->id;
		rxm_ids_remove(&ids, conns[i]);
		assert_int_equal(conns[i]->id, 0);
		/* Once more changes nothing. */
		rxm_ids_remove(&ids, conns[i]);
	}
	for (size_t i = 0; i < gone; i++)
		assert_null(rxm_ids_find(&ids, removed[i]));
	for (size_t i = 0; i < MANY; i++)
		if (conns[i]->id)
			assert_ptr_equal(rxm_ids_find(&ids, conns[i]->id), conns[i]);
	rxm_ids_done(&ids);
	for (size_t i = 0; i < MANY; i++)
		free(conns[i]);
	free(conns);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_connection_is_found),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
