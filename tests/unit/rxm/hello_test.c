/* SPDX-License-Identifier: BSD-2-Clause */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../../hex.h"
#include "providers/rxm/conn/hello.h"

/* What endpoints exchange when they connect, as other makes send it between little
 * endian machines. */

#define REQUEST "01 02 04 03 15b6 02 00 00400000 00100000 05000000 7f1b0000"

enum { EAGER = 16384 };

static const char *why(const char *text, struct rxm_hello *ret)
{
	struct bytes bytes = hex(text);

	return rxm_hello_read_request(bytes.at, bytes.len, EAGER, ret);
}

static void test_request_is_read(void **state)
{
	struct rxm_hello hello;

	(void)state;
	assert_null(why(REQUEST, &hello));
	assert_int_equal(hello.port, 0xb615);
	assert_int_equal(hello.flow, RXM_FLOW_OFF);
	assert_int_equal(hello.eager_size, EAGER);
	assert_int_equal(hello.rx_depth, 4096);
	assert_int_equal(hello.id, 5);
	assert_int_equal(hello.pid, 0x1b7f);
}

static void test_request_is_written(void **state)
{
	struct bytes bytes = hex(REQUEST);
	const struct rxm_hello hello = { .id = 5,
		.pid = 0x1b7f,
		.rx_depth = 4096,
		.flow = RXM_FLOW_OFF,
		.port = 0xb615,
		.eager_size = EAGER };
	uint8_t data[RXM_REQUEST_LEN];

	(void)state;
	memset(data, 0xff, sizeof(data));
	rxm_hello_request(data, &hello);
	assert_int_equal(bytes.len, sizeof(data));
	assert_memory_equal(data, bytes.at, sizeof(data));
}

static void test_requests_that_do_not_fit_are_refused(void **state)
{
	static const char *const wrong[] = {
		"02 02 04 03 15b6 02 00 00400000 00100000 05000000 7f1b0000",
		"01 01 04 03 15b6 02 00 00400000 00100000 05000000 7f1b0000",
		"01 02 05 03 15b6 02 00 00400000 00100000 05000000 7f1b0000",
		"01 02 04 02 15b6 02 00 00400000 00100000 05000000 7f1b0000",
		"01 02 04 03 0000 02 00 00400000 00100000 05000000 7f1b0000",
		"01 02 04 03 15b6 02 00 00410000 00100000 05000000 7f1b0000",
		"01 02 04 03 15b6 02 00 00400000 00100000 05000000 7f1b00",
		"",
	};
	struct rxm_hello hello;

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++)
		assert_non_null(why(wrong[i], &hello));
	/* More bytes than there are fields. */
	assert_null(why(REQUEST "0000", &hello));
}

static void test_accept(void **state)
{
	struct bytes bytes = hex("00000000 801b0000 00100000 02 000000");
	uint8_t data[RXM_ACCEPT_LEN];
	struct rxm_hello hello;

	(void)state;
	assert_true(rxm_hello_read_accept(bytes.at, bytes.len, &hello));
	assert_int_equal(hello.id, 0);
	assert_int_equal(hello.pid, 0x1b80);
	assert_int_equal(hello.rx_depth, 4096);
	assert_int_equal(hello.flow, RXM_FLOW_OFF);
	memset(data, 0xff, sizeof(data));
	rxm_hello_accept(data, &hello);
	assert_memory_equal(data, bytes.at, sizeof(data));
	assert_false(rxm_hello_read_accept(bytes.at, bytes.len - 1, &hello));
}

static void test_reject(void **state)
{
	uint8_t data[RXM_REJECT_MAX];

	(void)state;
	rxm_hello_reject(data, RXM_REASON_CONNECTED, RXM_ANSWER_OWN);
	assert_memory_equal(data, "\1\2wfa\1\2", sizeof(data));
	assert_int_equal(rxm_hello_read_answer(data, sizeof(data)), RXM_ANSWER_OWN);
	assert_int_equal(
		rxm_hello_read_answer(data, sizeof(data) - 1), RXM_ANSWER_UNSTATED);
	data[RXM_REJECT_MAX - 1] = 77;
	assert_int_equal(
		rxm_hello_read_answer(data, sizeof(data)), RXM_ANSWER_NOT_ASKED);
	assert_int_equal(rxm_hello_read_reject(data, 2), RXM_REASON_CONNECTED);
	assert_int_equal(rxm_hello_read_reject("\1\1", 2), RXM_REASON_REFUSED);
	/* No data: nothing listens there. Data that cannot be read is a refusal. */
	assert_int_equal(rxm_hello_read_reject(NULL, 0), RXM_REASON_NONE);
	assert_int_equal(rxm_hello_read_reject("\1", 1), RXM_REASON_REFUSED);
	assert_int_equal(rxm_hello_read_reject("\2\2", 2), RXM_REASON_REFUSED);
}

/* A question is behind the data, and behind a card. */
static void test_question(void **state)
{
	struct bytes request = hex(REQUEST "77667101 efcdab8967452301");
	uint8_t data[RXM_HELLO_MAX], card[WF_PROOF_CARD] = { 0 };
	struct rxm_hello hello;
	size_t len;

	(void)state;
	assert_null(why(REQUEST, &hello));
	assert_false(hello.asks);
	memcpy(data, request.at, RXM_REQUEST_LEN);
	len = rxm_hello_add_question(data, RXM_REQUEST_LEN, 0x0123456789abcdef);
	assert_int_equal(len, request.len);
	assert_memory_equal(data, request.at, len);
	assert_null(rxm_hello_read_request(data, len, EAGER, &hello));
	assert_true(hello.asks);
	assert_true(hello.about == 0x0123456789abcdef);
	assert_null(rxm_hello_read_request(data, len - 1, EAGER, &hello));
	assert_false(hello.asks);
	len = rxm_hello_add_card(data, RXM_REQUEST_LEN, card);
	len = rxm_hello_add_question(data, len, 5);
	assert_int_equal(len, sizeof(data));
	assert_null(rxm_hello_read_request(data, len, EAGER, &hello));
	assert_true(hello.asks && hello.about == 5);
}

/* A card is behind the data, and others ignore it. */
static void test_card(void **state)
{
	struct bytes request = hex(REQUEST "77666c01");
	uint8_t data[RXM_HELLO_MAX], card[WF_PROOF_CARD];
	struct rxm_hello hello;
	size_t len;

	(void)state;
	memset(card, 0x5a, sizeof(card));
	memcpy(data, request.at, RXM_REQUEST_LEN);
	len = rxm_hello_add_card(data, RXM_REQUEST_LEN, card);
	assert_int_equal(len, RXM_REQUEST_LEN + RXM_HELLO_CARD_LEN);
	assert_memory_equal(data, request.at, request.len);
	assert_null(rxm_hello_read_request(data, len, EAGER, &hello));
	assert_memory_equal(
		rxm_hello_card(data, len, RXM_REQUEST_LEN), card, sizeof(card));
	assert_null(rxm_hello_card(data, len - 1, RXM_REQUEST_LEN));
	assert_null(rxm_hello_card(data, RXM_REQUEST_LEN, RXM_REQUEST_LEN));
	/* Another mark, or a later version of it. */
	data[RXM_REQUEST_LEN]++;
	assert_null(rxm_hello_card(data, len, RXM_REQUEST_LEN));
	data[RXM_REQUEST_LEN]--;
	data[RXM_REQUEST_LEN + 3]++;
	assert_null(rxm_hello_card(data, len, RXM_REQUEST_LEN));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_request_is_read),
		cmocka_unit_test(test_request_is_written),
		cmocka_unit_test(test_requests_that_do_not_fit_are_refused),
		cmocka_unit_test(test_accept),
		cmocka_unit_test(test_reject),
		cmocka_unit_test(test_question),
		cmocka_unit_test(test_card),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
