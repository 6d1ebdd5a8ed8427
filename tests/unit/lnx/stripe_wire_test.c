/* SPDX-License-Identifier: BSD-2-Clause */
#include "unit.h"

#include "providers/lnx/stripe/wire.h"

/* Control messages of striping, which come from peers. */

static const struct lnx_stripe_msg some = {
	.kind = LNX_STRIPE_ASK_RECEIVER,
	.has_data = true,
	.err = 5,
	.nonce = 1,
	.id = 2,
	.size = UINT64_MAX,
	.data = 4,
	.key = 6,
	.name_len = 3,
	.name = { 7, 8, 9 },
};

static void what_is_written_is_read(void **state)
{
	uint8_t buf[LNX_STRIPE_MSG_MAX];
	struct lnx_stripe_msg msg;
	size_t len = lnx_stripe_write(&some, buf);

	assert_int_equal(len, LNX_STRIPE_HEADER + 3);
	assert_true(lnx_stripe_read(buf, len, &msg));
	assert_int_equal(msg.kind, some.kind);
	assert_true(msg.has_data);
	assert_int_equal(msg.err, 5);
	assert_true(msg.nonce == 1 && msg.id == 2 && msg.size == UINT64_MAX);
	assert_true(msg.data == 4 && msg.key == 6);
	assert_int_equal(msg.name_len, 3);
	assert_memory_equal(msg.name, some.name, 3);
}

/* The bytes of docs/design/lnx.md. */
static void the_form_is_fixed(void **state)
{
	static const uint8_t form[] = { 4, 1, 1, 3, 5, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0,
		2, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255, 4, 0, 0,
		0, 0, 0, 0, 0, 6, 0, 0, 0, 0, 0, 0, 0, 7, 8, 9 };
	uint8_t buf[LNX_STRIPE_MSG_MAX];

	assert_int_equal(lnx_stripe_write(&some, buf), sizeof(form));
	assert_memory_equal(buf, form, sizeof(form));
}

static void what_makes_no_sense_is_refused(void **state)
{
	static const struct {
		unsigned int at;
		uint8_t value;
	} wrong[] = { { 0, 0 }, { 0, LNX_STRIPE_KINDS }, { 0, LNX_STRIPE_DONE },
		{ 1, 0 }, { 1, 2 }, { 2, 2 }, { 3, 2 }, { 3, 4 }, { 3, 0 }, { 3, 255 },
		{ 5, 16 }, { 7, 128 } };
	uint8_t buf[LNX_STRIPE_MSG_MAX], copy[LNX_STRIPE_MSG_MAX];
	size_t len = lnx_stripe_write(&some, buf);
	struct lnx_stripe_msg msg;

	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		memcpy(copy, buf, len);
		copy[wrong[i].at] = wrong[i].value;
		assert_false(lnx_stripe_read(copy, len, &msg));
	}
	for (size_t less = 0; less < len; less++)
		assert_false(lnx_stripe_read(buf, less, &msg));
	assert_false(lnx_stripe_read(buf, len + 1, &msg));
	/* A HELLO without a name. */
	buf[0] = LNX_STRIPE_HELLO;
	buf[3] = 0;
	assert_false(lnx_stripe_read(buf, LNX_STRIPE_HEADER, &msg));
}

static void an_id_has_parts(void **state)
{
	uint64_t id = UINT64_C(0x1234abcdef567890);

	assert_true(lnx_stripe_token_of(id) == UINT64_C(0x1234abcdef000000));
	assert_int_equal(lnx_stripe_index_of(id), 0x1234);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_is_read),
		cmocka_unit_test(the_form_is_fixed),
		cmocka_unit_test(what_makes_no_sense_is_refused),
		cmocka_unit_test(an_id_has_parts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
