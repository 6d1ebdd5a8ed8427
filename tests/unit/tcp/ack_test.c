/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Answers of both ends: to which operation an answer belongs that arrives in pieces, in
 * which order this end's answers leave, and how many answers it asks for at a time.
 */
#include "conn_fixture.h"

static uint8_t local[64];

/* ---- the errors with which connections fail ---- */

static struct {
	unsigned int count;
	int err;
} failed;

void __wrap_tcp_conn_fail(struct tcp_conn *conn, int err);
void __real_tcp_conn_fail(struct tcp_conn *conn, int err);

void __wrap_tcp_conn_fail(struct tcp_conn *conn, int err)
{
	/* Only the first error counts. */
	if (!conn->err) {
		failed.count++;
		failed.err = err;
	}
	__real_tcp_conn_fail(conn, err);
}

/* The connection failed with @err, and is gone. */
static void assert_failed(struct pair *p, int err)
{
	assert_int_equal(failed.count, 1);
	assert_int_equal(failed.err, err);
	failed.count = 0;
	assert_null(p->tcp->cm->conn);
}

static void post_delivery(struct pair *p, void *context)
{
	struct iovec iov = { local, 4 };
	struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1, .context = context };

	assert_int_equal(
		fi_sendmsg(p->ep, &msg, FI_DELIVERY_COMPLETE | FI_COMPLETION), 0);
}

static void post_match(struct pair *p, void *context)
{
	struct iovec iov = { local, 4 };
	struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1, .context = context };

	assert_int_equal(fi_sendmsg(p->ep, &msg, FI_MATCH_COMPLETE | FI_COMPLETION), 0);
}

static void post_read(struct pair *p, void *context)
{
	assert_int_equal(fi_read(p->ep, local, 8, NULL, 0, 0, KEY, context), 0);
}

static void post_write(struct pair *p, void *context)
{
	assert_int_equal(fi_write(p->ep, local, 8, NULL, 0, 0, KEY, context), 0);
}

static void skip_records(struct pair *p)
{
	uint8_t bytes[4096];
	size_t n;

	while ((n = peer_read(p, bytes, sizeof(bytes))))
		;
}

/* ---- answers of the peer ---- */

/* Three acknowledgements and two responses in two pieces: those that are whole end the
 * oldest operations that wait for one, and the one in two pieces ends none yet. */
static void answers_in_two_pieces(void **state)
{
	static const struct tcp_record answers[] = {
		{ .kind = TCP_REC_ACK },
		{ .kind = TCP_REC_READ_RESP, .payload_len = 8 },
		{ .kind = TCP_REC_ERROR, .answer = TCP_ANSWER_ACK, .err = 5 },
		{ .kind = TCP_REC_ERROR, .answer = TCP_ANSWER_RESP, .err = 6 },
		{ .kind = TCP_REC_ACK },
	};
	static const uint8_t order[] = { 1, 0, 2, 3, 4 };
	struct pair *p = *state;
	struct bytes bytes = { 0 };
	uint8_t contexts[5];
	size_t ends[5];

	for (size_t i = 0; i < 5; i++) {
		add_record(&bytes, p, &answers[i], local);
		ends[i] = bytes.len;
	}
	for (size_t at = 0; at <= bytes.len; at++) {
		unsigned int whole = 0;

		post_read(p, &contexts[0]);
		post_delivery(p, &contexts[1]);
		post_write(p, &contexts[2]);
		post_read(p, &contexts[3]);
		post_delivery(p, &contexts[4]);
		pair_progress(p);
		skip_records(p);
		p->ended_count = 0;
		if (at)
			peer_send(p, bytes.at, at);
		pair_progress(p);
		while (whole < 5 && ends[whole] <= at)
			whole++;
		assert_int_equal(p->ended_count, whole);
		if (at < bytes.len)
			peer_send(p, bytes.at + at, bytes.len - at);
		pair_progress(p);
		assert_int_equal(p->ended_count, 5);
		for (unsigned int i = 0; i < 5; i++) {
			assert_ptr_equal(p->ended[i].context, &contexts[order[i]]);
			assert_int_equal(p->ended[i].err, answers[i].err);
		}
		assert_int_equal(p->conn->asked_bytes, 0);
		assert_int_equal(p->tcp->own.pending, 0);
	}
}

/* Matches have numbers, and come in any order, each once. */
static void matches_in_any_order(void **state)
{
	static const uint8_t orders[][3] = { { 0, 1, 2 }, { 0, 2, 1 }, { 1, 0, 2 },
		{ 1, 2, 0 }, { 2, 0, 1 }, { 2, 1, 0 } };
	struct tcp_record rec = { .kind = TCP_REC_MATCHED };
	struct pair *p = *state;
	uint8_t contexts[3];
	uint64_t before = 0;

	for (size_t o = 0; o < WF_ARRAY_SIZE(orders); o++, before += 3) {
		for (size_t i = 0; i < 3; i++)
			post_match(p, &contexts[i]);
		for (size_t i = 0; i < 3; i++) {
			rec.id = before + 1 + orders[o][i];
			peer_record(p, &rec, NULL);
			pair_progress(p);
			assert_one_ended(p, &contexts[orders[o][i]], 0);
		}
	}
	/* A number that was used is not one of a message that waits. */
	post_match(p, contexts);
	peer_record(p, &rec, NULL);
	pair_progress(p);
	assert_one_ended(p, contexts, FI_ECANCELED);
	assert_failed(p, FI_EPROTO);
}

/* An answer of another kind than the operation that waits has asked for. */
static void answers_of_the_wrong_kind(void **state)
{
	static const struct {
		void (*post)(struct pair *p, void *context);
		struct tcp_record answer;
	} rows[] = {
		{ post_read, { .kind = TCP_REC_ACK } },
		{ post_read, { .kind = TCP_REC_ATOMIC_RESP, .payload_len = 8 } },
		{ post_read, { .kind = TCP_REC_READ_RESP, .payload_len = 7 } },
		{ post_read, { .kind = TCP_REC_READ_RESP, .payload_len = 9 } },
		{ post_read, { .kind = TCP_REC_MATCHED, .id = 1 } },
		{ post_read,
			{ .kind = TCP_REC_ERROR, .answer = TCP_ANSWER_ACK, .err = 5 } },
		{ post_delivery, { .kind = TCP_REC_READ_RESP, .payload_len = 8 } },
		{ post_delivery, { .kind = TCP_REC_MATCHED, .id = 1 } },
		{ post_delivery, { .kind = TCP_REC_ERROR,
					 .answer = TCP_ANSWER_RESP,
					 .err = 5 } },
		{ post_match, { .kind = TCP_REC_ACK } },
		{ post_match, { .kind = TCP_REC_MATCHED, .id = 2 } },
	};
	struct pair *p = *state;
	uint8_t context;

	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		rows[i].post(p, &context);
		pair_progress(p);
		peer_record(p, &rows[i].answer, local);
		pair_progress(p);
		assert_one_ended(p, &context, FI_ECANCELED);
		assert_failed(p, FI_EPROTO);
		pair_again(p);
	}
}

/* Records of a rendezvous that is not there, and answers that nothing
 * waits for. */
static void records_of_no_rendezvous(void **state)
{
	static const struct tcp_record rows[] = {
		{ .kind = TCP_REC_CTS, .index = 1 },
		{ .kind = TCP_REC_RDV_DATA, .index = 1, .payload_len = 8 },
		{ .kind = TCP_REC_CARD, .payload_len = TCP_WIRE_CARD },
		{ .kind = TCP_REC_ACK },
		{ .kind = TCP_REC_ERROR, .answer = TCP_ANSWER_RESP, .err = 5 },
	};
	static const struct tcp_record rts = {
		.kind = TCP_REC_RTS, .index = 3, .tag = 7, .msg_len = 40
	};
	struct tcp_record data = { .kind = TCP_REC_RDV_DATA, .index = 3 };
	struct pair *p = *state;
	uint8_t in[64];

	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		peer_record(p, &rows[i], local);
		pair_progress(p);
		assert_failed(p, FI_EPROTO);
		pair_again(p);
	}
	/* No header; and a receive context that is not there. */
	memset(local, 0xff, sizeof(local));
	peer_send(p, local, sizeof(local));
	pair_progress(p);
	assert_failed(p, FI_EPROTO);
	pair_again(p);
	p->conn->wire.have |= TCP_HAVE_CONTEXTS;
	peer_record(p,
		&(struct tcp_record){
			.kind = TCP_REC_MSG, .flags = TCP_FLAG_CONTEXT, .context = 1 },
		NULL);
	pair_progress(p);
	assert_failed(p, FI_EPROTO);
	pair_again(p);
	/* Two with one index. */
	peer_record(p, &rts, NULL);
	peer_record(p, &rts, NULL);
	pair_progress(p);
	assert_failed(p, FI_EPROTO);
	pair_again(p);
	/* The payload comes before it was asked for, or is too long or too short. */
	for (int i = 0; i < 3; i++) {
		data.payload_len = i == 1 ? 41 : i == 2 ? 39 : 40;
		if (i)
			assert_int_equal(fi_trecv(p->ep, in, sizeof(in), NULL,
						 FI_ADDR_UNSPEC, 7, 0, in),
				0);
		peer_record(p, &rts, NULL);
		pair_progress(p);
		peer_record(p, &data, local);
		pair_progress(p);
		assert_failed(p, FI_EPROTO);
		pair_again(p);
	}
}

/* What the peer cannot do ends with an error, and the connection goes on. */
static void not_for_this_peer(void **state)
{
	static const uint32_t lacks[] = { TCP_HAVE_TAGGED, TCP_HAVE_MATCH,
		TCP_HAVE_ATOMIC, TCP_HAVE_LDBL_OWN };
	static uint8_t word[32], result[32];
	struct pair *p = *state;
	struct iovec iov = { local, 4 };
	struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1, .context = word };
	const uint32_t have = p->conn->wire.have;

	for (size_t i = 0; i < WF_ARRAY_SIZE(lacks); i++) {
		p->conn->wire.have = have & ~lacks[i];
		if (lacks[i] == TCP_HAVE_TAGGED)
			assert_int_equal(
				fi_tsend(p->ep, local, 4, NULL, 0, 1, word), 0);
		else if (lacks[i] == TCP_HAVE_MATCH)
			assert_int_equal(fi_sendmsg(p->ep, &msg,
						 FI_MATCH_COMPLETE | FI_COMPLETION),
				0);
		else
			assert_int_equal(
				fi_fetch_atomic(p->ep, word, 1, NULL, result, NULL, 0,
					0, KEY,
					lacks[i] == TCP_HAVE_ATOMIC ? FI_UINT64
								    : FI_LONG_DOUBLE,
					FI_SUM, word),
				0);
		pair_progress(p);
		assert_one_ended(p, word, FI_EOPNOTSUPP);
		peer_expect_nothing(p);
		assert_int_equal(p->tcp->own.pending, 0);
	}
	p->conn->wire.have = have;
	assert_int_equal(fi_fetch_atomic(p->ep, word, 1, NULL, result, NULL, 0, 0, KEY,
				 FI_UINT64, FI_SUM, word),
		0);
	pair_progress(p);
	assert_int_equal(p->ended_count, 0);
	assert_int_equal(failed.count, 0);
	skip_records(p);
}

/* A peer without error records: its accesses that are refused end the connection, and so
 * do those that want no answer. */
static void refused_without_a_word(void **state)
{
	static const struct {
		uint8_t kind;
		bool tells; /* knows error records */
		uint16_t flags;
	} rows[] = {
		{ TCP_REC_WRITE, false, 0 },
		{ TCP_REC_WRITE, true, 0 },
		{ TCP_REC_WRITE, false, TCP_FLAG_ACK },
		{ TCP_REC_READ, false, 0 },
		{ TCP_REC_ATOMIC, true, 0 },
		{ TCP_REC_ATOMIC, false, TCP_FLAG_ACK },
		{ TCP_REC_FETCH, false, 0 },
	};
	static const uint8_t before[REGION];
	struct pair *p = *state;

	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		struct tcp_record rec = { .kind = rows[i].kind,
			.flags = rows[i].flags,
			.datatype = FI_UINT64,
			.atomic_op = FI_SUM,
			.seg_count = 1,
			.payload_len = rows[i].kind == TCP_REC_READ ? 0 : 8,
			.seg = { { 0, 8, KEY + 1 } } };

		if (!rows[i].tells)
			p->conn->wire.have &= ~(uint32_t)TCP_HAVE_ERROR;
		memset(local, 1, sizeof(local));
		peer_record(p, &rec, local);
		pair_progress(p);
		assert_failed(p, FI_EACCES);
		assert_memory_equal(p->region, before, REGION);
		pair_again(p);
	}
}

/* ---- answers of this end ---- */

/* Writes of the peer, refused where the bit of @refused is set. */
static void write_all(struct pair *p, unsigned int count, unsigned int refused)
{
	struct tcp_record rec = { .kind = TCP_REC_WRITE,
		.flags = TCP_FLAG_ACK,
		.seg_count = 1,
		.payload_len = 1 };

	for (unsigned int i = 0; i < count; i++) {
		rec.seg[0] =
			(struct fi_rma_iov){ 0, 1, refused & 1u << i ? KEY + 1 : KEY };
		peer_record(p, &rec, "w");
	}
}

/* Acknowledgements are counted, errors are not: they leave in the order of the records
 * that they answer all the same, whatever the kernel takes at a time. */
static void refused_and_taken_in_order(void **state)
{
	enum { COUNT = 5 };
	static const size_t steps[] = { SIZE_MAX, 1, 17 };
	struct pair *p = *state;

	for (unsigned int refused = 0; refused < 1u << COUNT; refused++) {
		size_t step = steps[refused % WF_ARRAY_SIZE(steps)];

		kernel.takes = 0;
		write_all(p, 2, refused);
		pair_progress(p);
		write_all(p, COUNT - 2, refused >> 2);
		pair_progress(p);
		for (unsigned int i = 0; !tcp_tx_idle(p->conn); i++) {
			assert_true(i < 1000);
			kernel.takes = step;
			pair_progress(p);
		}
		for (unsigned int i = 0; i < COUNT; i++)
			(void)peer_expect(p,
				refused & 1u << i ? TCP_REC_ERROR : TCP_REC_ACK, NULL);
		assert_int_equal(p->conn->acks_ordered, 0);
		assert_int_equal(p->conn->answer_bytes, 0);
	}
}

/* ---- how many are asked for ---- */

static unsigned int requests(struct pair *p)
{
	unsigned int count = 0;
	uint8_t byte;

	while (recv(p->peer, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1) {
		(void)peer_expect(p, TCP_REC_READ, NULL);
		count++;
	}
	return count;
}

/* Requests whose answers would take more than the window wait; each answer, an error as
 * well, lets as many go as it made space for. */
static void window_of_answers(void **state)
{
	enum { FIT = TCP_ANSWER_WINDOW / TCP_ANSWER_COST, COUNT = FIT + 20 };
	struct tcp_record resp = { .kind = TCP_REC_READ_RESP, .payload_len = 8 };
	struct tcp_record error = {
		.kind = TCP_REC_ERROR, .answer = TCP_ANSWER_RESP, .err = 5
	};
	struct pair *p = *state;

	for (unsigned int i = 0; i < COUNT; i++)
		post_read(p, local);
	pair_progress(p);
	assert_int_equal(requests(p), FIT);
	for (unsigned int i = 0; i < COUNT; i++) {
		peer_record(p, i % 2 ? &error : &resp, i % 2 ? NULL : local);
		pair_progress(p);
		assert_int_equal(requests(p), i < COUNT - FIT);
		assert_one_ended(p, local, i % 2 ? 5 : 0);
	}
	assert_int_equal(p->conn->asked_bytes, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PAIR_TEST(answers_in_two_pieces),
		PAIR_TEST(matches_in_any_order),
		PAIR_TEST(answers_of_the_wrong_kind),
		PAIR_TEST(records_of_no_rendezvous),
		PAIR_TEST(not_for_this_peer),
		PAIR_TEST(refused_without_a_word),
		PAIR_TEST(refused_and_taken_in_order),
		PAIR_TEST(window_of_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
