/* SPDX-License-Identifier: BSD-2-Clause */
#include "srx_fixture.h"

/* Multi-receive buffers of one endpoint. */

enum { T = FI_TAGGED | FI_RECV, M = FI_MSG | FI_RECV };

static struct fk *open_multi(struct fk_around *a, size_t min)
{
	struct fk *fk = fk_open_enabled(a, FI_MULTI_RECV | FI_TAGGED_MULTI_RECV);

	assert_int_equal(fi_setopt(&fk->ep.fid.fid, FI_OPT_ENDPOINT,
				 FI_OPT_MIN_MULTI_RECV, &min, sizeof(min)),
		0);
	return fk;
}

static ssize_t post(struct fk *fk, unsigned char *buf, size_t len)
{
	return fk_recvmsg(&fk->ep.fid, buf, len, buf, FI_MULTI_RECV);
}

static void expect_at(struct fk_around *a, void *context, void *buf, size_t len)
{
	struct fi_cq_tagged_entry got;

	assert_int_equal(fi_cq_read(a->cq, &got, 1), 1);
	assert_ptr_equal(got.op_context, context);
	assert_int_equal(got.flags, M);
	assert_int_equal(got.len, len);
	assert_ptr_equal(got.buf, buf);
}

static void expect_release(struct fk_around *a, void *context)
{
	fk_expect(a, context, FI_MULTI_RECV, 0, 0);
}

/* MRV-001 to MRV-004 */
static void test_fill(void **state)
{
	struct fk_around a = fk_open_around(*state);
	struct fk *fk = open_multi(&a, 10);
	unsigned char b[40] = { 0 };

	assert_int_equal(post(fk, b, 40), 0);
	fk_message(fk, 1, 10, 12);
	expect_at(&a, b, b, 12);
	fk_message(fk, 1, 30, 0);
	expect_at(&a, b, b + 12, 0);
	fk_message(fk, 1, 40, 18);
	expect_at(&a, b, b + 12, 18);
	/* Ten are left: not below the minimum. */
	fk_expect_none(&a);
	fk_message(fk, 1, 60, 1);
	expect_at(&a, b, b + 30, 1);
	expect_release(&a, b);
	assert_true(fk_holds(b, 10, 12) && fk_holds(b + 12, 40, 18));
	assert_int_equal(b[30], 60);
	/* It takes nothing more. */
	fk_message(fk, 1, 70, 1);
	fk_expect_none(&a);
	assert_int_equal(fk_left(fk), 8);
	fk_close(fk);
	fk_close_around(&a);
}

/* MRV-006: released after the last message in it, whichever that is. */
static void test_release_last(void **state)
{
	struct fk_around a = fk_open_around(*state);
	struct fk *fk = open_multi(&a, 10);
	unsigned char b[32];

	assert_int_equal(post(fk, b, 32), 0);
	fk->hold = true;
	fk_message(fk, 1, 10, 16);
	fk_message(fk, 1, 30, 16);
	fk_finish(fk, 1);
	expect_at(&a, b, b + 16, 16);
	fk_expect_none(&a);
	fk_finish(fk, 0);
	expect_at(&a, b, b, 16);
	expect_release(&a, b);
	fk_close(fk);
	fk_close_around(&a);
}

/* MRV-005 */
static void test_selective(void **state)
{
	struct fk_around a = fk_open_around(*state);
	struct fk *fk = fk_open(*state, fk_info(FI_MULTI_RECV));
	unsigned char b[80];

	fk_enable_with(fk, &a, FI_SELECTIVE_COMPLETION);
	assert_int_equal(post(fk, b, 80), 0);
	fk_message(fk, 1, 10, 20);
	expect_release(&a, b);
	fk_expect_none(&a);
	fk_close(fk);
	fk_close_around(&a);
}

/* MRV-007: a message that does not fit is received in the next buffer, or waits for
 * one. */
static void test_next_buffer(void **state)
{
	struct fk_around a = fk_open_around(*state);
	struct fk *fk = open_multi(&a, 4);
	struct fi_cq_err_entry err;
	unsigned char b[3][32] = { { 0 } };

	assert_int_equal(post(fk, b[0], 32), 0);
	assert_int_equal(post(fk, b[1], 32), 0);
	fk_message(fk, 1, 10, 20);
	expect_at(&a, b[0], b[0], 20);
	fk_message(fk, 1, 40, 20);
	expect_release(&a, b[0]);
	expect_at(&a, b[1], b[1], 20);
	fk_message(fk, 1, 70, 13);
	expect_release(&a, b[1]);
	fk_expect_none(&a);
	assert_int_equal(b[0][20], 0);
	/* One that no buffer could hold is cut off, in a buffer of its own. */
	fk_message(fk, 1, 100, 40);
	assert_int_equal(post(fk, b[2], 32), 0);
	expect_at(&a, b[2], b[2], 13);
	expect_release(&a, b[2]);
	assert_int_equal(post(fk, b[2], 32), 0);
	err = fk_expect_err(&a, b[2], M, FI_ETRUNC);
	assert_int_equal(err.len, 32);
	assert_int_equal(err.olen, 8);
	expect_release(&a, b[2]);
	fk_close(fk);
	fk_close_around(&a);
}

/* MRV-009 */
static void test_unexpected(void **state)
{
	struct fk_around a = fk_open_around(*state);
	struct fk *fk = open_multi(&a, 8);
	unsigned char b[2][32];

	for (int i = 0; i < 5; i++)
		fk_message(fk, 1, (unsigned char)(10 * i), 9);
	assert_int_equal(post(fk, b[0], 32), 0);
	for (int i = 0; i < 3; i++) {
		expect_at(&a, b[0], b[0] + 9 * i, 9);
		assert_true(fk_holds(b[0] + 9 * i, (unsigned char)(10 * i), 9));
	}
	expect_release(&a, b[0]);
	assert_int_equal(post(fk, b[1], 32), 0);
	for (int i = 0; i < 2; i++)
		expect_at(&a, b[1], b[1] + 9 * i, 9);
	fk_message(fk, 1, 77, 9);
	expect_at(&a, b[1], b[1] + 18, 9);
	expect_release(&a, b[1]);
	fk_expect_none(&a);
	fk_close(fk);
	fk_close_around(&a);
}

/* MRV-008 */
static void test_tagged(void **state)
{
	struct fk_around a = fk_open_around(*state);
	struct fk *fk = open_multi(&a, 8);
	unsigned char b[32];

	fk_tagged(fk, 1, 0x15, 10, 8);
	fk_tagged(fk, 1, 0x25, 20, 8);
	assert_int_equal(
		fk_trecvmsg(&fk->ep.fid, b, 32, 0, 0x10, 0xf, b, FI_MULTI_RECV), 0);
	fk_expect(&a, b, T, 8, 0x15);
	fk_tagged(fk, 1, 0x26, 20, 8);
	fk_tagged(fk, 1, 0x16, 30, 17);
	fk_expect(&a, b, T, 17, 0x16);
	expect_release(&a, b);
	assert_true(fk_holds(b, 10, 8) && fk_holds(b + 8, 30, 17));
	fk_expect_none(&a);
	fk_close(fk);
	fk_close_around(&a);
}

/* EP-033: an empty buffer ends at once, a used one after its messages. */
static void test_cancel(void **state)
{
	struct fk_around a = fk_open_around(*state);
	struct fk *fk = open_multi(&a, 8);
	unsigned char b[32];

	assert_int_equal(post(fk, b, 32), 0);
	assert_int_equal(fi_cancel(&fk->ep.fid.fid, b), 0);
	(void)fk_expect_err(&a, b, M | FI_MULTI_RECV, FI_ECANCELED);
	assert_int_equal(post(fk, b, 32), 0);
	fk->hold = true;
	fk_message(fk, 1, 10, 9);
	assert_int_equal(fi_cancel(&fk->ep.fid.fid, b), 0);
	assert_int_equal(fi_cancel(&fk->ep.fid.fid, b), 0);
	fk_expect_none(&a);
	fk_message(fk, 1, 20, 9);
	assert_int_equal(fk->held_count, 1);
	fk_finish(fk, 0);
	expect_at(&a, b, b, 9);
	(void)fk_expect_err(&a, b, M | FI_MULTI_RECV, FI_ECANCELED);
	fk_expect_none(&a);
	fk_close(fk);
	fk_close_around(&a);
}

/* A buffer counts as one receive; other receives go on behind it. */
static void test_order(void **state)
{
	struct fk_around a = fk_open_around(*state);
	struct fk *fk = open_multi(&a, 8);
	unsigned char b[32], c[32];

	assert_int_equal(fi_recv(&fk->ep.fid, c, 32, NULL, 0, c), 0);
	assert_int_equal(post(fk, b, 32), 0);
	assert_int_equal(fi_recv(&fk->ep.fid, c, 32, NULL, 0, c + 1), 0);
	assert_int_equal(fk_left(fk), 5);
	fk_message(fk, 1, 10, 9);
	fk_message(fk, 1, 10, 9);
	fk_message(fk, 1, 10, 30);
	expect_at(&a, c, c, 9);
	expect_at(&a, b, b, 9);
	expect_release(&a, b);
	expect_at(&a, c + 1, c, 30);
	assert_int_equal(fk_left(fk), 8);
	fk_close(fk);
	fk_close_around(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DOMAIN_TEST(test_fill),
		DOMAIN_TEST(test_release_last),
		DOMAIN_TEST(test_selective),
		DOMAIN_TEST(test_next_buffer),
		DOMAIN_TEST(test_unexpected),
		DOMAIN_TEST(test_tagged),
		DOMAIN_TEST(test_cancel),
		DOMAIN_TEST(test_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
