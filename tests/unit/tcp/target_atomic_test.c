/* SPDX-License-Identifier: BSD-2-Clause */
/* Atomic operations of the peer on the endpoint's memory: results, answers, refusals. */
#include "conn_fixture.h"

#include "../refuse.h"

static uint64_t value_of(const struct pair *p)
{
	uint64_t value;

	memcpy(&value, p->region, sizeof(value));
	return value;
}

static void set_value(struct pair *p, uint64_t value)
{
	memcpy(p->region, &value, sizeof(value));
}

/* The record of an operation on the first eight bytes of the region. */
static struct tcp_record record(enum tcp_rec_kind kind, enum fi_op op, uint64_t key)
{
	return (struct tcp_record){
		.kind = kind,
		.seg_count = 1,
		.payload_len = kind == TCP_REC_COMPARE ? 16 : 8,
		.atomic_op = op,
		.datatype = FI_UINT64,
		.seg = { { 0, 8, key } },
	};
}

static void ask(struct pair *p, const struct tcp_record *rec, uint64_t operand,
	uint64_t comparand)
{
	const uint64_t payload[] = { operand, comparand };

	peer_record(p, rec, payload);
	pair_progress(p);
}

static void results(void **state)
{
	static const struct {
		enum tcp_rec_kind kind;
		enum fi_op op;
		uint64_t operand, comparand, after;
	} rows[] = {
		{ TCP_REC_COMPARE, FI_CSWAP, 7, 5, 7 },
		{ TCP_REC_COMPARE, FI_CSWAP, 7, 6, 5 },
		{ TCP_REC_COMPARE, FI_CSWAP_GT, 7, 6, 7 },
		{ TCP_REC_FETCH, FI_SUM, 7, 0, 12 },
		{ TCP_REC_ATOMIC, FI_SUM, 7, 0, 12 },
		{ TCP_REC_ATOMIC, FI_ATOMIC_WRITE, 7, 0, 7 },
	};
	struct pair *p = *state;

	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++)
		for (int ack = 0; ack < 2; ack++) {
			struct tcp_record rec = record(rows[i].kind, rows[i].op, KEY);
			uint64_t previous = 0;

			if (rows[i].kind != TCP_REC_ATOMIC && ack)
				continue;
			rec.flags = ack ? TCP_FLAG_ACK : 0;
			set_value(p, 5);
			ask(p, &rec, rows[i].operand, rows[i].comparand);
			assert_int_equal(value_of(p), rows[i].after);
			if (rows[i].kind != TCP_REC_ATOMIC) {
				(void)peer_expect(p, TCP_REC_ATOMIC_RESP, &previous);
				assert_int_equal(previous, 5);
			} else if (ack) {
				(void)peer_expect(p, TCP_REC_ACK, NULL);
			}
			peer_expect_nothing(p);
			assert_null(p->conn->rx.buf);
			assert_int_equal(p->tcp->answers.used, 0);
		}
}

/* A peer that waits for an answer gets an error as such, and the connection goes on; else
 * it ends. */
static void refusals(void **state)
{
	struct pair *p = *state;
	struct tcp_record rec, error;

	set_value(p, 5);
	rec = record(TCP_REC_FETCH, FI_SUM, KEY + 1);
	ask(p, &rec, 1, 0);
	error = peer_expect(p, TCP_REC_ERROR, NULL);
	assert_int_equal(error.answer, TCP_ANSWER_RESP);
	assert_int_not_equal(error.err, 0);
	rec = record(TCP_REC_ATOMIC, FI_SUM, KEY + 1);
	rec.flags = TCP_FLAG_ACK;
	ask(p, &rec, 1, 0);
	error = peer_expect(p, TCP_REC_ERROR, NULL);
	assert_int_equal(error.answer, TCP_ANSWER_ACK);
	peer_expect_nothing(p);
	assert_int_equal(p->tcp->answers.used, 0);
	assert_int_equal(value_of(p), 5);
	assert_non_null(p->tcp->cm->conn);
	rec = record(TCP_REC_ATOMIC, FI_SUM, KEY + 1);
	ask(p, &rec, 1, 0);
	assert_null(p->tcp->cm->conn);
}

/* Without memory for the operands or the answer the connection ends. */
static void no_memory(void **state)
{
	struct pair *p = *state;

	for (unsigned int nth = 1; nth <= 2; nth++) {
		const struct tcp_record rec = record(TCP_REC_FETCH, FI_SUM, KEY);

		set_value(p, 5);
		refuse_one("memory", nth, ENOMEM);
		ask(p, &rec, 1, 0);
		assert_true(refuse_end());
		assert_null(p->tcp->cm->conn);
		assert_int_equal(value_of(p), 5);
		pair_again(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PAIR_TEST(results),
		PAIR_TEST(refusals),
		PAIR_TEST(no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
