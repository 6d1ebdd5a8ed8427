/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "../../../examples/provider/copy.h"

/* Copies of operations, whose originals change and end. The memory for the data is as
 * long as it has to be, for a sanitizer to see. */

static uint8_t *copy_of(struct wf_op *op, struct loop_copy *copy)
{
	uint8_t *data = malloc(loop_copy_size(op));

	assert_non_null(data);
	loop_copy_make(copy, op, data);
	memset(op, 0xee, sizeof(*op));
	return data;
}

static void message(void **state)
{
	char text[] = "abcde";
	struct iovec iov[] = { { text, 2 }, { text + 2, 3 } };
	struct wf_op op = {
		.kind = WF_OP_SEND, .iov = iov, .iov_count = 2, .len = 5, .tag = 7
	};
	struct loop_copy copy;
	uint8_t *data = copy_of(&op, &copy);

	memset(text, 'x', 5);
	assert_int_equal(copy.op.kind, WF_OP_SEND);
	assert_int_equal(copy.op.tag, 7);
	assert_memory_equal(copy.src, "abcde", 5);
	assert_null(copy.found);
	assert_null(copy.compare);
	loop_copy_finish(&copy);
	assert_string_equal(text, "xxxxx");
	free(data);
}

static void read_into_pieces(void **state)
{
	char text[] = ".....";
	struct iovec iov[] = { { text, 1 }, { text + 2, 3 } };
	struct fi_rma_iov rma[] = { { 8, 1, 3 }, { 16, 3, 4 } };
	struct wf_op op = { .kind = WF_OP_READ,
		.iov = iov,
		.iov_count = 2,
		.len = 4,
		.rma = rma,
		.rma_count = 2 };
	struct loop_copy copy;
	uint8_t *data = copy_of(&op, &copy);

	memset(iov, 0, sizeof(iov));
	memset(rma, 0, sizeof(rma));
	assert_null(copy.src);
	assert_int_equal(copy.op.rma_count, 2);
	assert_int_equal(copy.op.rma[1].addr, 16);
	assert_int_equal(copy.op.rma[1].key, 4);
	memcpy(copy.found, "1234", 4);
	loop_copy_finish(&copy);
	assert_string_equal(text, "1.234");
	free(data);
}

static void compare(void **state)
{
	uint16_t operands[] = { 1, 2 }, comparands[] = { 3, 4 }, results[] = { 0, 0 };
	struct iovec iov = { operands, 4 }, result = { results, 4 };
	struct iovec compare_iov[] = { { comparands, 2 }, { comparands + 1, 2 } };
	struct wf_op_atomic atomic = { .datatype = FI_UINT16,
		.op = FI_CSWAP,
		.count = 2,
		.size = 4,
		.result = &result,
		.result_count = 1,
		.compare = compare_iov,
		.compare_count = 2 };
	struct wf_op op = { .kind = WF_OP_COMPARE,
		.iov = &iov,
		.iov_count = 1,
		.len = 4,
		.atomic = &atomic };
	struct loop_copy copy;
	uint8_t *data = copy_of(&op, &copy);

	assert_int_equal(copy.op.atomic->op, FI_CSWAP);
	assert_memory_equal(copy.src, operands, 4);
	assert_memory_equal(copy.compare, comparands, 4);
	memcpy(copy.found, operands, 4);
	loop_copy_finish(&copy);
	assert_int_equal(results[1], 2);
	free(data);
}

/* FI_ATOMIC_READ has no operands, whatever its buffer is. */
static void fetch_without_operands(void **state)
{
	uint64_t found = 0;
	struct iovec result = { &found, 8 };
	struct wf_op_atomic atomic = { .datatype = FI_UINT64,
		.op = FI_ATOMIC_READ,
		.count = 1,
		.size = 8,
		.result = &result,
		.result_count = 1 };
	struct wf_op op = { .kind = WF_OP_FETCH, .atomic = &atomic };
	struct loop_copy copy;
	uint8_t *data;

	assert_int_equal(loop_copy_size(&op), 8);
	data = copy_of(&op, &copy);
	assert_null(copy.src);
	assert_int_equal(copy.op.len, 8);
	memset(copy.found, 1, 8);
	loop_copy_finish(&copy);
	assert_int_equal(found, UINT64_C(0x0101010101010101));
	free(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(message),
		cmocka_unit_test(read_into_pieces),
		cmocka_unit_test(compare),
		cmocka_unit_test(fetch_without_operands),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
