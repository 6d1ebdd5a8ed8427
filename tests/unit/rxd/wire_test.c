/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "providers/rxd/wire.h"

/* Headers of operations: written and read again, as bytes that another library sent,
 * and with every kind of damage. */

static struct rxd_op_head head;
static uint8_t bytes[RXD_OP_HEAD_MAX + 64];

static bool reads(uint8_t type, uint16_t flags, size_t len)
{
	struct rxd_op_head got;
	size_t size;

	return rxd_op_head_read(type, flags, bytes, len, &got, &size);
}

/* Write @head, read it with @payload bytes behind it, and compare. */
static void check_round(size_t payload)
{
	size_t size = rxd_op_head_write(&head, bytes), got_size;
	struct rxd_op_head got;

	assert_int_equal(size, rxd_op_head_size(&head));
	assert_true(rxd_op_head_read(head.type, rxd_op_flags(&head), bytes,
		size + payload, &got, &got_size));
	assert_int_equal(got_size, size);
	assert_int_equal(got.has_tag, head.has_tag);
	assert_int_equal(got.tag, head.tag);
	assert_int_equal(got.data, head.data);
	assert_int_equal(got.size, head.size);
	assert_int_equal(got.packets, head.packets);
	assert_int_equal(got.tx_id, head.tx_id);
	assert_int_equal(got.rma_count, head.rma_count);
	assert_memory_equal(got.rma, head.rma, sizeof(head.rma));
	assert_int_equal(got.datatype, head.datatype);
	assert_int_equal(got.op, head.op);
	/* No header may be cut. */
	for (size_t len = 0; len < size; len++)
		assert_false(reads(head.type, rxd_op_flags(&head), len));
}

static void each_operation_is_read_as_written(void **state)
{
	(void)state;
	head = (struct rxd_op_head){ .type = RXD_TAGGED,
		.has_tag = true,
		.has_data = true,
		.tag = 0x1122334455667788,
		.data = 7,
		.size = 10000,
		.packets = 7,
		.tx_id = 9 };
	check_round(60);
	head = (struct rxd_op_head){ .type = RXD_WRITE,
		.size = 30,
		.packets = 1,
		.rma_count = 2,
		.rma = { { 64, 10, 1 }, { 128, 20, 2 } } };
	check_round(30);
	head = (struct rxd_op_head){ .type = RXD_READ,
		.size = 5000,
		.packets = 4,
		.tx_id = 3,
		.rma_count = 1,
		.rma = { { 64, 5000, 1 } } };
	check_round(0);
	head = (struct rxd_op_head){ .type = RXD_ATOMIC,
		.whole = true,
		.size = 8,
		.packets = 1,
		.rma_count = 1,
		.rma = { { 64, 8, 1 } },
		.datatype = FI_UINT64,
		.op = FI_SUM };
	check_round(8);
}

/* As the wire in use has it: the tag, then 64 bytes. */
static void a_whole_tagged_message_has_a_tag_and_no_more(void **state)
{
	static const uint8_t tag[] = { 0x88, 0x77, 0x66, 0x55, 0x44, 0x33, 0x22, 0x11 };
	struct rxd_op_head got;
	size_t size;

	(void)state;
	memcpy(bytes, tag, sizeof(tag));
	assert_true(rxd_op_head_read(
		RXD_TAGGED, 0x30, bytes, sizeof(tag) + 64, &got, &size));
	assert_int_equal(size, sizeof(tag));
	assert_int_equal(got.tag, 0x1122334455667788);
	assert_int_equal(got.size, 64);
	assert_int_equal(got.packets, 1);
}

static void what_contradicts_itself_is_refused(void **state)
{
	size_t size;

	(void)state;
	memset(bytes, 0, sizeof(bytes));
	/* Types without headers, and a tagged message without a tag. */
	assert_false(reads(3, 0x20, 64));
	assert_false(reads(RXD_DATA, 0x20, 64));
	assert_false(reads(RXD_TAGGED, 0x20, 64));
	/* Requests need a segment header. */
	assert_false(reads(RXD_READ, 0x20, 24));
	assert_false(reads(RXD_FETCH, 0x20, 40));

	head = (struct rxd_op_head){ .type = RXD_MSG, .size = 10, .packets = 2 };
	size = rxd_op_head_write(&head, bytes);
	assert_true(reads(RXD_MSG, 0, size + 10));
	assert_false(reads(RXD_MSG, 0, size + 11)); /* more than it has */
	head.packets = 1;
	(void)rxd_op_head_write(&head, bytes);
	assert_false(reads(RXD_MSG, 0, size + 9)); /* the last packet has less */
	head.packets = 0;
	(void)rxd_op_head_write(&head, bytes);
	assert_false(reads(RXD_MSG, 0, size + 10));

	head = (struct rxd_op_head){ .type = RXD_WRITE,
		.size = 30,
		.packets = 1,
		.rma_count = 2,
		.rma = { { 0, 10, 0 }, { 0, 20, 0 } } };
	size = rxd_op_head_write(&head, bytes);
	assert_true(reads(RXD_WRITE, 0, size + 30));
	head.rma[1].len = 21; /* not the size */
	(void)rxd_op_head_write(&head, bytes);
	assert_false(reads(RXD_WRITE, 0, size + 30));
	head.rma[0].len = UINT64_MAX; /* overflow to the size */
	head.rma[1].len = 31;
	(void)rxd_op_head_write(&head, bytes);
	assert_false(reads(RXD_WRITE, 0, size + 30));
	/* Behind size, packets and id stands the number of RMA segments. */
	bytes[20] = 0;
	assert_false(reads(RXD_WRITE, 0, sizeof(bytes)));
	bytes[20] = RXD_RMA_LIMIT + 1;
	assert_false(reads(RXD_WRITE, 0, sizeof(bytes)));

	head = (struct rxd_op_head){ .type = RXD_READ,
		.size = 5,
		.packets = 1,
		.rma_count = 1,
		.rma = { { 0, 5, 0 } } };
	size = rxd_op_head_write(&head, bytes);
	assert_true(reads(RXD_READ, 0, size));
	assert_false(reads(RXD_READ, 0, size + 1)); /* a read has no payload */
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_operation_is_read_as_written),
		cmocka_unit_test(a_whole_tagged_message_has_a_tag_and_no_more),
		cmocka_unit_test(what_contradicts_itself_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
