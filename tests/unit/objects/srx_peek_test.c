/* SPDX-License-Identifier: BSD-2-Clause */
#include "srx_fixture.h"

/* Looking at tagged messages, reserving and dropping them. */

enum { T = FI_TAGGED | FI_RECV };

static ssize_t look(
	struct fk *fk, uint64_t tag, uint64_t ignore, void *context, uint64_t flags)
{
	return fk_trecvmsg(
		&fk->ep.fid, NULL, 0, FI_ADDR_UNSPEC, tag, ignore, context, flags);
}

/* TAG-004 to TAG-007 */
static void test_peek(void **state)
{
	struct fk_around a = fk_open_around(*state);
	struct fk *fk = fk_open_enabled(&a, 0);
	struct fi_cq_tagged_entry got;
	struct fi_cq_err_entry err;
	unsigned char b[8] = { 0 };
	struct fi_context ctx;
	fi_addr_t src;

	assert_int_equal(look(fk, 5, 0, &ctx, FI_PEEK), 0);
	err = fk_expect_err(&a, &ctx, T, FI_ENOMSG);
	assert_int_equal(err.tag, 5);
	fk_tagged(fk, 3, 5, 10, 6);
	fk_tagged(fk, 4, 6, 20, 7);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(fk_trecvmsg(&fk->ep.fid, b, 8, FI_ADDR_UNSPEC, 4, 3,
					 &ctx, FI_PEEK),
			0);
		assert_int_equal(fi_cq_readfrom(a.cq, &got, 1, &src), 1);
		assert_ptr_equal(got.op_context, &ctx);
		assert_int_equal(got.flags, T);
		assert_int_equal(got.len, 6);
		assert_int_equal(got.tag, 5);
		assert_int_equal(src, 3);
	}
	/* The buffer was not touched, and nothing counts as received. */
	assert_int_equal(b[1], 0);
	assert_int_equal(fi_cntr_read(a.cntr), 0);
	assert_int_equal(fi_cntr_readerr(a.cntr), 0);
	assert_int_equal(fi_trecv(&fk->ep.fid, b, 8, NULL, 0, 5, 0, b), 0);
	fk_expect(&a, b, T, 6, 5);
	assert_true(fk_holds(b, 10, 6));
	assert_int_equal(look(fk, 5, 0, &ctx, FI_PEEK), 0);
	(void)fk_expect_err(&a, &ctx, T, FI_ENOMSG);
	fk_close(fk);
	fk_close_around(&a);
}

/* Posted receives are not what a peek finds; TAG-003 */
static void test_peek_others(void **state)
{
	struct fk_around a = fk_open_around(*state);
	struct fk *fk = fk_open_enabled(&a, 0);
	unsigned char b[8];

	assert_int_equal(fi_trecv(&fk->ep.fid, b, 8, NULL, 0, 5, 0, b), 0);
	fk_message(fk, 3, 10, 6);
	assert_int_equal(look(fk, 5, ~0ULL, &a, FI_PEEK), 0);
	(void)fk_expect_err(&a, &a, T, FI_ENOMSG);
	fk_close(fk);
	fk_close_around(&a);
}

/* TAG-008 to TAG-010 */
static void test_claim(void **state)
{
	struct fk_around a = fk_open_around(*state);
	struct fk *fk = fk_open_enabled(&a, 0);
	struct fi_context one, two;
	unsigned char b[8] = { 0 };

	fk_tagged(fk, 3, 5, 10, 6);
	fk_tagged(fk, 3, 5, 20, 7);
	assert_int_equal(look(fk, 5, 0, &one, FI_PEEK | FI_CLAIM), 0);
	fk_expect(&a, &one, T, 6, 5);
	assert_int_equal(look(fk, 5, 0, &two, FI_PEEK | FI_CLAIM), 0);
	fk_expect(&a, &two, T, 7, 5);
	assert_int_equal(look(fk, 5, 0, &a, FI_PEEK), 0);
	(void)fk_expect_err(&a, &a, T, FI_ENOMSG);
	assert_int_equal(fi_trecv(&fk->ep.fid, b, 8, NULL, 0, 5, 0, b), 0);
	fk_expect_none(&a);
	/* In any order, each with its own context; the tag is not looked at. */
	assert_int_equal(fk_trecvmsg(&fk->ep.fid, b, 8, 0, 99, 0, &two, FI_CLAIM), 0);
	fk_expect(&a, &two, T, 7, 5);
	assert_true(fk_holds(b, 20, 7));
	assert_int_equal(fk_trecvmsg(&fk->ep.fid, b, 8, 0, 5, 0, &one, FI_CLAIM), 0);
	fk_expect(&a, &one, T, 6, 5);
	assert_true(fk_holds(b, 10, 6));
	assert_int_equal(fi_cntr_read(a.cntr), 2);
	/* TAG-013 */
	assert_int_equal(
		fk_trecvmsg(&fk->ep.fid, b, 8, 0, 5, 0, &one, FI_CLAIM), -FI_EINVAL);
	fk_close(fk);
	fk_close_around(&a);
}

/* Many are reserved, some with one context: each is found by its own, the oldest first.
 * TAG-008 TAG-009 */
static void test_claim_many(void **state)
{
	enum { MANY = 3000 };
	struct fk_around a = fk_open_around(*state);
	struct fk *fk = fk_open_enabled(&a, 0);
	static struct fi_context ctx[MANY];
	unsigned char b[8];

	for (unsigned int i = 0; i < MANY; i++) {
		fk_tagged(fk, 3, i, (unsigned char)i, 6);
		assert_int_equal(
			look(fk, i, 0, &ctx[i / 2 * 2], FI_PEEK | FI_CLAIM), 0);
		fk_expect(&a, &ctx[i / 2 * 2], T, 6, i);
	}
	assert_int_equal(fk->ep.srx_queue->claims.keys, MANY / 2);
	for (unsigned int i = 0; i < MANY; i++) {
		/* A stride that visits all pairs, twice. */
		unsigned int pair = i * 7 % (MANY / 2);
		unsigned int tag = 2 * pair + (i >= MANY / 2);

		assert_int_equal(fk_trecvmsg(&fk->ep.fid, b, 8, 0, 0, 0, &ctx[2 * pair],
					 FI_CLAIM),
			0);
		fk_expect(&a, &ctx[2 * pair], T, 6, tag);
		assert_true(fk_holds(b, (unsigned char)tag, 6));
	}
	assert_int_equal(fk->ep.srx_queue->claims.keys, 0);
	fk_close(fk);
	fk_close_around(&a);
}

/* TAG-011 to TAG-013 */
static void test_discard(void **state)
{
	struct fk_around a = fk_open_around(*state);
	struct fk *fk = fk_open_enabled(&a, 0);
	struct fi_context ctx;

	fk_tagged(fk, 3, 5, 10, 6);
	fk_tagged(fk, 3, 5, 20, 7);
	assert_int_equal(look(fk, 5, 0, &ctx, FI_PEEK | FI_DISCARD), 0);
	fk_expect(&a, &ctx, T, 6, 5);
	assert_int_equal(fk->discards, 1);
	assert_int_equal(look(fk, 5, 0, &ctx, FI_PEEK | FI_CLAIM), 0);
	fk_expect(&a, &ctx, T, 7, 5);
	assert_int_equal(fk->discards, 1);
	assert_int_equal(look(fk, 0, 0, &ctx, FI_CLAIM | FI_DISCARD), 0);
	fk_expect(&a, &ctx, T, 7, 5);
	assert_int_equal(fk->discards, 2);
	assert_int_equal(look(fk, 0, 0, &ctx, FI_CLAIM | FI_DISCARD), -FI_EINVAL);
	assert_int_equal(look(fk, 5, 0, &ctx, FI_PEEK | FI_DISCARD), 0);
	(void)fk_expect_err(&a, &ctx, T, FI_ENOMSG);
	assert_int_equal(look(fk, 5, 0, &ctx, FI_DISCARD), -FI_EINVAL);
	fk_close(fk);
	fk_close_around(&a);
}

/* An answer needs no FI_COMPLETION; what is dropped after FI_CLAIM does. */
static void test_selective(void **state)
{
	struct fk_around a = fk_open_around(*state);
	struct fk *fk = fk_open(*state, fk_info(0));
	struct fi_context ctx;

	fk_enable_with(fk, &a, FI_SELECTIVE_COMPLETION);
	fk_tagged(fk, 3, 5, 10, 6);
	fk_tagged(fk, 3, 5, 20, 7);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(look(fk, 5, 0, &ctx, FI_PEEK | FI_CLAIM), 0);
		fk_expect(&a, &ctx, T, i ? 7 : 6, 5);
		assert_int_equal(
			look(fk, 0, 0, &ctx,
				FI_CLAIM | FI_DISCARD | (i ? FI_COMPLETION : 0)),
			0);
		if (i)
			fk_expect(&a, &ctx, T, 7, 5);
		fk_expect_none(&a);
		assert_int_equal(fk->discards, i + 1);
	}
	fk_close(fk);
	fk_close_around(&a);
}

/* The source of a reserved message that is learnt later. */
static void test_claim_unknown(void **state)
{
	struct fk_around a = fk_open_around(*state);
	struct fk *fk = fk_open_enabled(&a, 0);
	struct fi_cq_tagged_entry got;
	struct fi_context ctx;
	fi_addr_t src = 0;

	atomic_store(&fk_learnt, false);
	fk_arrive_from(fk, 0, true, 5, true, 10, 6);
	assert_int_equal(look(fk, 5, 0, &ctx, FI_PEEK | FI_CLAIM), 0);
	assert_int_equal(fi_cq_readfrom(a.cq, &got, 1, &src), 1);
	assert_int_equal(src, FI_ADDR_NOTAVAIL);
	atomic_store(&fk_learnt, true);
	(void)fk_insert(&a, 1000);
	assert_int_equal(look(fk, 0, 0, &ctx, FI_CLAIM | FI_DISCARD), 0);
	assert_int_equal(fi_cq_readfrom(a.cq, &got, 1, &src), 1);
	assert_int_equal(src, 0);
	fk_close(fk);
	fk_close_around(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DOMAIN_TEST(test_peek),
		DOMAIN_TEST(test_peek_others),
		DOMAIN_TEST(test_claim),
		DOMAIN_TEST(test_claim_many),
		DOMAIN_TEST(test_discard),
		DOMAIN_TEST(test_selective),
		DOMAIN_TEST(test_claim_unknown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
