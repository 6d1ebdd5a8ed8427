/* SPDX-License-Identifier: BSD-2-Clause */
#include "rig.h"

/*
 * A foreign owner and a provider as its peer: flows_test PROVIDER. The test peer is
 * found by FI_PROVIDER_PATH.
 */

#define M (FI_MSG | FI_RECV)
#define T (FI_TAGGED | FI_RECV)

/* 4, posted first: P-50, P-51, P-54 to P-56, P-60, P-66 */
static void posted_first(void **state)
{
	struct rig *rig = rig_open((struct rig_options){ 0 });
	unsigned char buf[2][32];
	struct owner_result result;

	assert_int_equal(owner_trecv(&rig->a, buf[0], 32, FI_ADDR_UNSPEC, 5, 0, buf[0],
				 FI_COMPLETION),
		0);
	assert_int_equal(
		owner_recv(&rig->a, buf[1], 32, FI_ADDR_UNSPEC, buf[1], FI_COMPLETION),
		0);
	rig_tsend(rig, 0, 5, 10, 20);
	result = rig_expect(rig, buf[0], T, 20, 5);
	assert_true(rig_holds(buf[0], 10, 20));
	/* P-33: in the peer's numbering. */
	assert_int_equal(result.src, rig->from);
	/* P-30: no remote CQ data, and no tag of an untagged message. */
	assert_int_equal(result.data, 0);
	rig_send(rig, 0, 50, 32);
	(void)rig_expect(rig, buf[1], M, 32, 0);
	assert_true(rig_holds(buf[1], 50, 32));
	/* P-40 */
	assert_int_equal(atomic_load(&rig->a.rx), 2);
	assert_int_equal(atomic_load(&rig->b.tx), 2);
	assert_int_equal(atomic_load(&rig->a.rx_err), 0);
	assert_int_equal(rig->a.entries, 0);
	rig_close(rig);
}

/* 4, unexpected first: P-57, P-58 */
static void unexpected_first(void **state)
{
	struct rig *rig = rig_open((struct rig_options){ 0 });
	unsigned char buf[3][32];

	rig_tsend(rig, 0, 5, 10, 20);
	rig_until_queued(rig, 1);
	rig_send(rig, 0, 50, 32);
	rig_until_queued(rig, 2);
	rig_tsend(rig, 1, 5, 90, 0);
	rig_until_queued(rig, 3);
	rig_expect_none(rig);
	assert_int_equal(
		owner_recv(&rig->a, buf[1], 32, FI_ADDR_UNSPEC, buf[1], FI_COMPLETION),
		0);
	(void)rig_expect(rig, buf[1], M, 32, 0);
	assert_true(rig_holds(buf[1], 50, 32));
	/* In the order of arrival, whichever peer it was. */
	assert_int_equal(owner_trecv(&rig->a, buf[0], 32, FI_ADDR_UNSPEC, 4, 1, buf[0],
				 FI_COMPLETION),
		0);
	(void)rig_expect(rig, buf[0], T, 20, 5);
	assert_true(rig_holds(buf[0], 10, 20));
	assert_int_equal(owner_trecv(&rig->a, buf[2], 32, FI_ADDR_UNSPEC, 5, 0, buf[2],
				 FI_COMPLETION),
		0);
	(void)rig_expect(rig, buf[2], T, 0, 5);
	assert_int_equal(atomic_load(&rig->a.rx), 3);
	assert_int_equal(rig->a.entries, 0);
	rig_close(rig);
}

/* P-41: counters drive as well. */
static void counters_drive(void **state)
{
	struct rig *rig = rig_open((struct rig_options){ 0 });
	uint64_t end = now_ms() + PATIENCE_MS;
	unsigned char buf[8];

	assert_int_equal(
		owner_trecv(&rig->a, buf, 8, FI_ADDR_UNSPEC, 5, 0, buf, FI_COMPLETION),
		0);
	/* A connection needs both sides. */
	rig_tsend(rig, 0, 4, 0, 0);
	rig_until_queued(rig, 1);
	assert_int_equal(fi_tsend(rig->s.ep, buf, 0, NULL, rig->to[0], 5, buf), 0);
	while (!atomic_load(&rig->a.rx)) {
		assert_true(now_ms() < end);
		owner_progress_cntr(&rig->a, rig->r[0].rx_cntr);
		owner_progress_cntr(&rig->b, rig->s.tx_cntr);
	}
	(void)rig_expect(rig, buf, T, 0, 5);
	rig_close(rig);
}

/* P-63, P-65 */
static void earlier_receive_wins(void **state)
{
	struct rig *rig = rig_open((struct rig_options){ 0 });
	unsigned char buf[4][8];

	for (int i = 0; i < 4; i++)
		assert_int_equal(owner_trecv(&rig->a, buf[i], 8,
					 i % 2 ? rig->from : FI_ADDR_UNSPEC, 1, 0,
					 buf[i], FI_COMPLETION),
			0);
	for (int i = 0; i < 4; i++) {
		rig_tsend(rig, i / 2, 1, (unsigned char)i, 8);
		(void)rig_expect(rig, buf[i], T, 8, 1);
		assert_true(rig_holds(buf[i], (unsigned char)i, 8));
	}
	rig_close(rig);
}

/* P-52, P-62, P-63: before version 1.19 no call reports when a source becomes known. */
static void unknown_source(void **state)
{
	struct rig *rig = rig_open((struct rig_options){ .unknown = true });
	bool told = strcmp(rig_provider, "testpeer117") != 0;
	unsigned char buf[4][8];

	rig_tsend(rig, 0, 1, 10, 8);
	rig_until_queued(rig, 1);
	rig_send(rig, 0, 20, 8);
	rig_until_queued(rig, 2);
	rig_tsend(rig, 0, 2, 30, 8);
	rig_until_queued(rig, 3);
	/* Address 0 will be the sender's, but is not yet. */
	assert_int_equal(
		owner_trecv(&rig->a, buf[0], 8, 0, 1, 0, buf[0], FI_COMPLETION), 0);
	assert_int_equal(owner_recv(&rig->a, buf[1], 8, 0, buf[1], FI_COMPLETION), 0);
	rig_expect_none(rig);
	/* An undirected one may have it. */
	assert_int_equal(owner_trecv(&rig->a, buf[2], 8, FI_ADDR_UNSPEC, 2, 0, buf[2],
				 FI_COMPLETION),
		0);
	(void)rig_expect(rig, buf[2], T, 8, 2);

	rig->from = side_insert(&rig->r[0], &rig->s);
	assert_int_equal(rig->from, 0);
	if (told) {
		struct owner_result one = rig_next(rig, &rig->a),
				    two = rig_next(rig, &rig->a);

		assert_int_equal(one.err | two.err, 0);
		assert_int_equal(one.src | two.src, 0);
		assert_true(rig_holds(buf[0], 10, 8));
		assert_true(rig_holds(buf[1], 20, 8));
	} else {
		assert_true(owner_cancel(&rig->a, buf[0]));
		(void)rig_expect_err(rig, buf[0], FI_ECANCELED);
	}
	/* From now on at once. */
	assert_int_equal(
		owner_trecv(&rig->a, buf[3], 8, 0, 7, 0, buf[3], FI_COMPLETION), 0);
	rig_tsend(rig, 0, 7, 40, 8);
	(void)rig_expect(rig, buf[3], T, 8, 7);
	rig_close(rig);
}

/* P-59, and entries that are looked at */
static void peek_claim_discard(void **state)
{
	struct rig *rig = rig_open((struct rig_options){ 0 });
	bool data_told = strcmp(rig_provider, "testpeer117") != 0;
	struct owner_result result;
	unsigned char buf[8];
	char mark[8];

	assert_int_equal(
		owner_trecv(&rig->a, NULL, 0, FI_ADDR_UNSPEC, 1, 0, &mark[0], FI_PEEK),
		0);
	(void)rig_expect_err(rig, &mark[0], FI_ENOMSG);
	for (int i = 0; i < 4; i++) {
		rig_tsenddata(rig, i % 2, 1, (uint64_t)i, (unsigned char)i, 8);
		rig_until_queued(rig, (unsigned int)i + 1);
	}
	/* A peek returns the size and the data that the peer passed when it queued the
	 * message. */
	assert_int_equal(
		owner_trecv(&rig->a, NULL, 0, FI_ADDR_UNSPEC, 1, 0, &mark[1], FI_PEEK),
		0);
	result = rig_next(rig, &rig->a);
	assert_int_equal(result.len, 8);
	assert_int_equal(result.flags, data_told ? T | FI_REMOTE_CQ_DATA : T);

	/* Dropped: the first; reserved: the second and the third. */
	assert_int_equal(owner_trecv(&rig->a, NULL, 0, FI_ADDR_UNSPEC, 1, 0, &mark[2],
				 FI_PEEK | FI_DISCARD),
		0);
	(void)rig_next(rig, &rig->a);
	assert_int_equal(rig->a.discards, 1);
	for (int i = 3; i < 5; i++) {
		assert_int_equal(owner_trecv(&rig->a, NULL, 0, FI_ADDR_UNSPEC, 1, 0,
					 &mark[i], FI_PEEK | FI_CLAIM),
			0);
		result = rig_next(rig, &rig->a);
		assert_int_equal(result.data, data_told ? (uint64_t)(i - 2) : 0);
	}
	/* A receive passes what is reserved by. */
	assert_int_equal(
		owner_trecv(&rig->a, buf, 8, FI_ADDR_UNSPEC, 1, 0, buf, FI_COMPLETION),
		0);
	result = rig_expect(rig, buf, T | FI_REMOTE_CQ_DATA, 8, 1);
	assert_int_equal(result.data, 3);
	assert_true(rig_holds(buf, 3, 8));
	assert_int_equal(owner_trecv(&rig->a, buf, 8, 0, 0, 0, &mark[4],
				 FI_CLAIM | FI_COMPLETION),
		0);
	result = rig_expect(rig, &mark[4], T | FI_REMOTE_CQ_DATA, 8, 1);
	assert_int_equal(result.data, 2);
	assert_true(rig_holds(buf, 2, 8));
	assert_int_equal(
		owner_trecv(&rig->a, NULL, 0, 0, 0, 0, &mark[3], FI_CLAIM | FI_DISCARD),
		0);
	rig_expect_none(rig);
	assert_int_equal(rig->a.discards, 2);
	assert_int_equal(rig->a.entries, 0);
	rig_close(rig);
}

/* P-31, P-55: errors, and the counter of errors */
static void truncation(void **state)
{
	struct rig *rig = rig_open((struct rig_options){ 0 });
	struct owner_result result;
	unsigned char buf[8];

	for (int unexpected = 0; unexpected < 2; unexpected++) {
		memset(buf, 0, sizeof(buf));
		if (unexpected) {
			rig_tsend(rig, 0, 5, 10, 20);
			rig_until_queued(rig, 1);
		}
		assert_int_equal(owner_trecv(&rig->a, buf, 8, FI_ADDR_UNSPEC, 5, 0, buf,
					 FI_COMPLETION),
			0);
		if (!unexpected)
			rig_tsend(rig, 0, 5, 10, 20);
		result = rig_expect_err(rig, buf, FI_ETRUNC);
		assert_int_equal(result.len, 8);
		assert_int_equal(result.olen, 12);
		assert_int_equal(result.tag, 5);
		/* Of before 1.20 there is none. */
		if (rig_is_full || !strcmp(rig_provider, "testpeer"))
			assert_int_equal(result.src, rig->from);
		assert_true(rig_holds(buf, 10, 8));
		assert_int_equal(atomic_load(&rig->a.rx_err), unexpected + 1);
		assert_int_equal(rig->a.entries, 0);
	}
	assert_int_equal(atomic_load(&rig->a.rx), 0);
	rig_close(rig);
}

static void other_errors(void **state)
{
	struct rig *rig = rig_open((struct rig_options){ 0 });
	struct peer_test_ops *ops;
	struct owner_result result;
	unsigned char buf[8];

	assert_int_equal(
		fi_open_ops(&rig->r[1].ep->fid, PEER_OPS, 0, (void **)&ops, NULL), 0);
	ops->fail_next(rig->r[1].ep, FI_EIO);
	assert_int_equal(
		owner_recv(&rig->a, buf, 8, FI_ADDR_UNSPEC, buf, FI_COMPLETION), 0);
	rig_send(rig, 1, 0, 8);
	result = rig_expect_err(rig, buf, FI_EIO);
	assert_string_equal(result.err_data, "test");
	/* Nothing can be known of what older entries do not have. */
	if (!strcmp(rig_provider, "testpeer117") ||
		!strcmp(rig_provider, "testpeer119"))
		assert_true(result.src == FI_ADDR_NOTAVAIL);
	else
		assert_int_equal(result.src, rig->from);
	rig_close(rig);
}

/* P-56: the owner decides for each receive whether it completes. */
static void selective(void **state)
{
	struct rig *rig =
		rig_open((struct rig_options){ .cq_flags = FI_SELECTIVE_COMPLETION });
	uint64_t end = now_ms() + PATIENCE_MS;
	unsigned char buf[2][8];

	assert_int_equal(
		owner_trecv(&rig->a, buf[0], 8, FI_ADDR_UNSPEC, 1, 0, buf[0], 0), 0);
	assert_int_equal(owner_trecv(&rig->a, buf[1], 8, FI_ADDR_UNSPEC, 1, 0, buf[1],
				 FI_COMPLETION),
		0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(
			fi_tsend(rig->s.ep, "12345678", 8, NULL, rig->to[0], 1, NULL),
			0);
	while (atomic_load(&rig->a.rx) < 2) {
		assert_true(now_ms() < end);
		rig_progress(rig);
	}
	(void)rig_expect(rig, buf[1], T, 8, 1);
	rig_expect_none(rig);
	rig_close(rig);
}

/* P-64: messages of both peers in one buffer, its release after the last. */
static void multi_receive(void **state)
{
	struct rig *rig = rig_open((struct rig_options){ 0 });
	unsigned char buf[100];
	struct owner_result result;
	size_t used = 0;

	rig->a.min_multi = 40;
	rig_send(rig, 1, 1, 20);
	rig_until_queued(rig, 1);
	assert_int_equal(owner_recv(&rig->a, buf, 100, FI_ADDR_UNSPEC, buf,
				 FI_MULTI_RECV | FI_COMPLETION),
		0);
	for (int i = 0; i < 3; i++) {
		if (i)
			rig_send(rig, i - 1, (unsigned char)(i + 1), 30);
		result = rig_expect(rig, buf, M, i ? 30 : 20, 0);
		assert_ptr_equal(result.buf, buf + used);
		assert_true(rig_holds(result.buf, (unsigned char)(i + 1), result.len));
		used += result.len;
	}
	(void)rig_expect(rig, buf, FI_MULTI_RECV, 0, 0);
	assert_int_equal(rig->a.entries, 0);
	/* It is the application's again. */
	rig_send(rig, 0, 9, 10);
	rig_until_queued(rig, 1);
	rig_close(rig);
}

/* P-32: an owner that refuses entries is no reason to fall over. */
static void queue_overflows(void **state)
{
	struct rig *rig = rig_open((struct rig_options){ 0 });
	uint64_t end = now_ms() + PATIENCE_MS;
	unsigned char buf[6][8];

	rig->a.cq_room = 2;
	for (int i = 0; i < 6; i++)
		assert_int_equal(owner_trecv(&rig->a, buf[i], i == 5 ? 4 : 8,
					 FI_ADDR_UNSPEC, 1, 0, buf[i], FI_COMPLETION),
			0);
	for (int i = 0; i < 6; i++)
		rig_tsend(rig, 0, 1, (unsigned char)i, 8);
	while (atomic_load(&rig->a.rx) + atomic_load(&rig->a.rx_err) < 6) {
		assert_true(now_ms() < end);
		rig_progress(rig);
	}
	for (int i = 0; i < 5; i++)
		assert_true(rig_holds(buf[i], (unsigned char)i, 8));
	assert_int_equal(rig->a.cq_refused, 4);
	assert_int_equal(rig->a.entries, 0);
	(void)rig_expect(rig, buf[0], T, 8, 1);
	(void)rig_expect(rig, buf[1], T, 8, 1);
	rig_expect_none(rig);
	/* And it goes on. */
	assert_int_equal(owner_trecv(&rig->a, buf[0], 8, FI_ADDR_UNSPEC, 2, 0, buf[0],
				 FI_COMPLETION),
		0);
	rig_tsend(rig, 0, 2, 7, 8);
	(void)rig_expect(rig, buf[0], T, 8, 2);
	rig_close(rig);
}

/* P-33: an owner gives the sources of its peers its own numbers. */
static void user_ids(void **state)
{
	struct rig *rig;
	struct owner_result result;
	unsigned char buf[2][8];

	rig = rig_open((struct rig_options){ .av_flags = FI_AV_USER_ID });
	/* The address is inserted, but the owner does not know it before it has an
	 * id. */
	rig_tsend(rig, 0, 1, 10, 8);
	rig_until_queued(rig, 1);
	assert_int_equal(
		owner_trecv(&rig->a, buf[0], 8, 77, 1, 0, buf[0], FI_COMPLETION), 0);
	rig_expect_none(rig);
	assert_int_equal(fi_av_set_user_id(rig->r[0].av, rig->from, 77, 0), 0);
	result = rig_expect(rig, buf[0], T, 8, 1);
	assert_int_equal(result.src, 77);

	assert_int_equal(
		owner_trecv(&rig->a, buf[1], 8, 77, 2, 0, buf[1], FI_COMPLETION), 0);
	rig_tsend(rig, 0, 2, 20, 8);
	result = rig_expect(rig, buf[1], T, 8, 2);
	assert_int_equal(result.src, 77);
	rig_close(rig);
}

/* Longer than any buffer on the way. */
static void large(void **state)
{
	enum { LARGE = 3 << 20 };
	struct rig *rig = rig_open((struct rig_options){ 0 });
	unsigned char *out = malloc(LARGE), *in = calloc(1, LARGE);
	struct owner_result result;

	assert_non_null(out);
	assert_non_null(in);
	for (size_t i = 0; i < LARGE; i++)
		out[i] = (unsigned char)(i * 7 + (i >> 12));
	for (int unexpected = 0; unexpected < 2; unexpected++) {
		memset(in, 0, LARGE);
		if (!unexpected)
			assert_int_equal(owner_trecv(&rig->a, in, LARGE, FI_ADDR_UNSPEC,
						 5, 0, in, FI_COMPLETION),
				0);
		assert_int_equal(
			fi_tsend(rig->s.ep, out, LARGE, NULL, rig->to[1], 5, out), 0);
		if (unexpected) {
			rig_until_queued(rig, 1);
			assert_int_equal(owner_trecv(&rig->a, in, LARGE, FI_ADDR_UNSPEC,
						 5, 0, in, FI_COMPLETION),
				0);
		}
		(void)rig_expect(rig, in, T, LARGE, 5);
		assert_memory_equal(in, out, LARGE);
		result = rig_next(rig, &rig->b);
		assert_int_equal(result.err, 0);
	}
	rig_close(rig);
	free(out);
	free(in);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(other_errors),
		cmocka_unit_test(posted_first),
		cmocka_unit_test(unexpected_first),
		cmocka_unit_test(counters_drive),
		cmocka_unit_test(earlier_receive_wins),
		cmocka_unit_test(unknown_source),
		cmocka_unit_test(peek_claim_discard),
		cmocka_unit_test(truncation),
		cmocka_unit_test(selective),
		cmocka_unit_test(multi_receive),
		cmocka_unit_test(queue_overflows),
		cmocka_unit_test(large),
		cmocka_unit_test(user_ids),
	};

	rig_choose(argc, argv);
	return rig_run(tests, sizeof(tests) / sizeof(tests[0]), 1, 1);
}
