/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The stage of a connection, and the order of what comes behind it: as it grows, with a
 * part of it sent, when a message is taken back, when a fence or a closed region comes
 * between the posting of a record and its sending.
 */
#include "conn_fixture.h"

#include "../refuse.h"

enum { SMALL_STAGE = 1024, LARGE = 2 * TCP_COPY_MAX };

/* A message with its number as payload, @len bytes long. */
static ssize_t post(struct pair *p, uint32_t *number, size_t len, uint64_t flags)
{
	struct iovec iov = { number, len };
	struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1, .context = number };

	return fi_sendmsg(p->ep, &msg, flags | FI_COMPLETION);
}

static void take(struct pair *p, uint32_t number, size_t len)
{
	uint32_t got[64];
	struct tcp_record rec;

	assert_true(len <= sizeof(got));
	rec = peer_expect(p, TCP_REC_MSG, got);
	assert_int_equal(rec.payload_len, len);
	assert_int_equal(got[0], number);
}

/* ---- growing ---- */

/* More messages than a stage has marks, of a length with which its bytes suffice, or do
 * not; @sent bytes of the first ones left before. */
static void grow(struct pair *p, unsigned int count, size_t len, size_t sent)
{
	static uint32_t numbers[600][16];

	p->ended_count = 0;
	kernel.takes = sent;
	for (unsigned int i = 0; i < count; i++) {
		numbers[i][0] = i;
		assert_int_equal(post(p, numbers[i], len, 0), 0);
	}
	kernel.takes = SIZE_MAX;
	pair_progress(p);
	assert_int_equal(p->ended_count, count);
	for (unsigned int i = 0; i < count; i++)
		take(p, i, len);
	/* Each is complete once; the order of completions is not defined. */
	for (unsigned int i = 0; i < count; i++) {
		uint32_t *number = p->ended[i].context;

		assert_true(*number < count);
		*number = UINT32_MAX;
	}
	peer_expect_nothing(p);
}

static void as_many_messages_as_marks(void **state)
{
	static const unsigned int counts[] = { 1, 15, 16, 17, 18, 255, 256, 257, 258,
		600 };
	struct pair *p = *state;

	for (size_t i = 0; i < WF_ARRAY_SIZE(counts); i++)
		grow(p, counts[i], sizeof(uint32_t), 0);
}

/* The stage grows when some bytes of it have left. */
static void grows_when_a_part_was_sent(void **state)
{
	struct pair *p = *state;

	for (size_t sent = 0; sent < 5 * (TCP_WIRE_BASE + 60); sent += 7) {
		free(p->tcp->spare_stage);
		p->tcp->spare_stage = NULL;
		grow(p, 40, 60, sent);
	}
}

static void assert_empty(const struct tcp_stage *stage)
{
	assert_non_null(stage);
	assert_int_equal(stage->head, 0);
	assert_int_equal(stage->tail, 0);
	assert_int_equal(stage->mark_head, 0);
	assert_int_equal(stage->mark_tail, 0);
}

/* An endpoint keeps one stage for its connections, the larger one, and a small one that
 * grows becomes it. */
static void one_spare_stage(void **state)
{
	static uint32_t number[40];
	struct pair *p = *state;
	struct tcp_stage *small, *large;

	assert_null(p->conn->stage);
	assert_null(p->tcp->spare_stage);
	grow(p, 1, 4, 0);
	small = p->tcp->spare_stage;
	assert_empty(small);
	grow(p, 1, 4, 0);
	assert_ptr_equal(p->tcp->spare_stage, small);
	assert_null(p->conn->stage);
	grow(p, 40, 60, 7);
	large = p->tcp->spare_stage;
	assert_empty(large);
	assert_true(large->size > SMALL_STAGE);
	assert_int_equal(small == large, 0);
	/* While another connection has it, a small one is used; then the larger one is
	 * kept. */
	for (int grows = 0; grows < 2; grows++) {
		unsigned int count = grows ? 40 : 2;

		p->tcp->spare_stage = NULL;
		p->ended_count = 0;
		kernel.takes = 0;
		for (uint32_t i = 0; i < count; i++) {
			number[i] = i;
			assert_int_equal(post(p, &number[i], sizeof(number[i]), 0), 0);
			if (i)
				continue;
			assert_ptr_not_equal(p->conn->stage, large);
			assert_int_equal(p->conn->stage->size, SMALL_STAGE);
			p->tcp->spare_stage = large;
		}
		assert_int_equal(p->conn->stage == large, grows);
		if (grows) {
			assert_int_equal(p->tcp->spare_stage->size, SMALL_STAGE);
			assert_empty(p->tcp->spare_stage);
		}
		kernel.takes = SIZE_MAX;
		pair_progress(p);
		for (uint32_t i = 0; i < count; i++)
			take(p, i, sizeof(number[i]));
		assert_int_equal(p->ended_count, count);
		assert_ptr_equal(p->tcp->spare_stage, large);
		assert_empty(large);
	}
}

/* A record fits the stage up to its last byte, and is whole if it does not. */
static void fits_to_the_last_byte(void **state)
{
	struct pair *p = *state;
	static uint8_t first[SMALL_STAGE], second[SMALL_STAGE], got[SMALL_STAGE];

	fill(first, sizeof(first), 1);
	fill(second, sizeof(second), 2);
	for (size_t len = SMALL_STAGE - 120; len < SMALL_STAGE - 50; len++) {
		const size_t lens[] = { len, 20, 1 };

		free(p->tcp->spare_stage);
		p->tcp->spare_stage = NULL;
		kernel.takes = 0;
		for (size_t i = 0; i < 3; i++)
			assert_int_equal(fi_send(p->ep, i % 2 ? second : first, lens[i],
						 NULL, 0, NULL),
				0);
		kernel.takes = SIZE_MAX;
		pair_progress(p);
		for (size_t i = 0; i < 3; i++) {
			assert_int_equal(
				peer_expect(p, TCP_REC_MSG, got).payload_len, lens[i]);
			assert_memory_equal(got, i % 2 ? second : first, lens[i]);
		}
		assert_int_equal(p->conn->staged, p->conn->flushed);
		assert_int_equal(p->tcp->own.pending, 0);
	}
}

/* When its bytes or its marks do not suffice, a message goes to the stage that replaces
 * it: no record waits beside that, and nothing is sent to make room. */
static void grows_for_the_next_message(void **state)
{
	static const size_t lens[] = { 60, 4 };
	static uint32_t numbers[40][16];
	struct pair *p = *state;

	for (size_t i = 0; i < WF_ARRAY_SIZE(lens); i++) {
		size_t len = TCP_WIRE_BASE + lens[i];

		free(p->tcp->spare_stage);
		p->tcp->spare_stage = NULL;
		kernel.takes = 0;
		for (uint32_t k = 0; k < WF_ARRAY_SIZE(numbers); k++) {
			numbers[k][0] = k;
			assert_int_equal(post(p, numbers[k], lens[i], 0), 0);
			kernel.takes = SIZE_MAX;
			assert_null(p->conn->cur);
			assert_true(wf_list_empty(&p->conn->txq));
			assert_int_equal(p->conn->stage->tail, (k + 1) * len);
		}
		assert_true(p->conn->stage->size > SMALL_STAGE);
		pair_progress(p);
		for (uint32_t k = 0; k < WF_ARRAY_SIZE(numbers); k++)
			take(p, k, lens[i]);
	}
}

/* Acknowledgements for which the stage has no space go before a message that was posted
 * after them. */
static void acknowledgements_go_first(void **state)
{
	enum { ACKS = 200 };
	static uint8_t bytes[1 << 16], got[1 << 16];
	const struct tcp_record write = { .kind = TCP_REC_WRITE,
		.flags = TCP_FLAG_ACK,
		.seg_count = 1,
		.payload_len = 1,
		.seg = { { 0, 1, KEY } } };
	struct pair *p = *state;
	unsigned int messages = 0;
	uint32_t number = 5;

	kernel.takes = 0;
	p->tcp->manual = true;
	while (!messages || p->conn->stage->size == SMALL_STAGE ||
		p->conn->stage->size - p->conn->stage->tail > 3 * TCP_WIRE_BASE + 64) {
		assert_int_equal(fi_inject(p->ep, bytes, 64, 0), 0);
		messages++;
	}
	for (int i = 0; i < ACKS; i++)
		peer_record(p, &write, "w");
	pair_progress(p);
	assert_int_equal(post(p, &number, sizeof(number), FI_TRANSMIT_COMPLETE), 0);
	pair_progress(p);
	assert_in_range(p->conn->acks_due, 1, ACKS - 1);
	assert_null(p->conn->cur);
	kernel.takes = SIZE_MAX;
	pair_progress(p);
	assert_int_equal(p->conn->acks_due, 0);
	for (unsigned int i = 0; i < messages; i++)
		(void)peer_expect(p, TCP_REC_MSG, got);
	for (int i = 0; i < ACKS; i++)
		(void)peer_expect(p, TCP_REC_ACK, NULL);
	take(p, 5, sizeof(number));
}

/* Without memory for a larger stage the small one is used until its bytes or its marks
 * are; without any stage, nothing is taken. */
static void no_memory_for_a_stage(void **state)
{
	static const struct {
		size_t len;
		unsigned int fit;
	} rows[] = { { 60, SMALL_STAGE / (TCP_WIRE_BASE + 60) }, { 4, 16 } };
	static uint32_t numbers[40][16];
	struct pair *p = *state;

	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		unsigned int posted = 0;
		ssize_t ret = 0;

		p->ended_count = 0;
		free(p->tcp->spare_stage);
		p->tcp->spare_stage = NULL;
		kernel.takes = 0;
		refuse_from("memory", 1, 100, ENOMEM);
		assert_int_equal(post(p, numbers[0], rows[i].len, 0), -FI_ENOMEM);
		assert_null(p->conn->stage);
		assert_true(refuse_end());
		assert_int_equal(post(p, numbers[posted++], rows[i].len, 0), 0);
		refuse_from("memory", 1, 100, ENOMEM);
		while (posted < WF_ARRAY_SIZE(numbers)) {
			numbers[posted][0] = posted;
			ret = post(p, numbers[posted], rows[i].len, 0);
			if (ret)
				break;
			posted++;
		}
		assert_true(refuse_end());
		assert_int_equal(ret, -FI_ENOMEM);
		assert_int_equal(posted, rows[i].fit);
		assert_int_equal(p->conn->stage->size, SMALL_STAGE);
		kernel.takes = SIZE_MAX;
		pair_progress(p);
		for (unsigned int k = 0; k < posted; k++)
			take(p, k, rows[i].len);
		peer_expect_nothing(p);
		assert_int_equal(p->ended_count, posted);
	}
}

/* ---- a message that is taken back ---- */

/* Two messages are in the stage, and the kernel has @sent bytes of them: the second one
 * is taken back where none of its bytes left. */
static void taken_back(void **state)
{
	enum { LEN = TCP_WIRE_BASE + sizeof(uint32_t) };
	struct pair *p = *state;
	uint32_t first = 1, second = 2, third = 3;
	uint64_t before;

	for (size_t sent = 0; sent <= 2 * LEN; sent++) {
		p->ended_count = 0;
		kernel.takes = 0;
		assert_int_equal(post(p, &first, sizeof(first), 0), 0);
		before = p->conn->staged;
		assert_false(tcp_tx_take_back(p->conn, before));
		assert_int_equal(post(p, &second, sizeof(second), 0), 0);
		kernel.takes = sent;
		tcp_tx_flush(p->conn);
		assert_int_equal(tcp_tx_take_back(p->conn, before), sent <= LEN);
		/* The number was given away with the record. */
		if (sent <= LEN)
			p->conn->number--;
		kernel.takes = SIZE_MAX;
		assert_int_equal(post(p, &third, sizeof(third), 0), 0);
		pair_progress(p);
		take(p, 1, sizeof(first));
		if (sent > LEN)
			take(p, 2, sizeof(second));
		take(p, 3, sizeof(third));
		peer_expect_nothing(p);
		assert_int_equal(p->ended_count, sent > LEN ? 3 : 2);
		for (unsigned int i = 0; i < p->ended_count; i++)
			assert_true(p->ended[i].context != &second || sent > LEN);
	}
}

/* ---- fences ---- */

/* An operation that the fenced one has to wait for, and the record that ends it. */
struct earlier {
	const char *what;
	void (*post)(struct pair *p);
	enum tcp_rec_kind sent;
	struct tcp_record answer;
};

static uint8_t local[64];

static void post_level(struct pair *p, uint64_t level)
{
	struct iovec iov = { local, sizeof(local) };
	struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1, .context = local };

	assert_int_equal(fi_sendmsg(p->ep, &msg, level | FI_COMPLETION), 0);
}

static void post_delivery(struct pair *p)
{
	post_level(p, FI_DELIVERY_COMPLETE);
}

static void post_match(struct pair *p)
{
	post_level(p, FI_MATCH_COMPLETE);
}

static void post_read(struct pair *p)
{
	assert_int_equal(
		fi_read(p->ep, local, sizeof(local), NULL, 0, 0, KEY, local), 0);
}

static void post_write(struct pair *p)
{
	assert_int_equal(
		fi_write(p->ep, local, sizeof(local), NULL, 0, 0, KEY, local), 0);
}

static void post_fetch(struct pair *p)
{
	assert_int_equal(fi_fetch_atomic(p->ep, local, 1, NULL, local + 8, NULL, 0, 0,
				 KEY, FI_UINT64, FI_SUM, local),
		0);
}

static const struct earlier earlier[] = {
	{ "delivery complete", post_delivery, TCP_REC_MSG, { .kind = TCP_REC_ACK } },
	{ "match complete", post_match, TCP_REC_MSG,
		{ .kind = TCP_REC_MATCHED, .id = 1 } },
	{ "read", post_read, TCP_REC_READ,
		{ .kind = TCP_REC_READ_RESP, .payload_len = sizeof(local) } },
	{ "refused read", post_read, TCP_REC_READ,
		{ .kind = TCP_REC_ERROR, .answer = TCP_ANSWER_RESP, .err = 5 } },
	{ "write", post_write, TCP_REC_WRITE, { .kind = TCP_REC_ACK } },
	{ "refused write", post_write, TCP_REC_WRITE,
		{ .kind = TCP_REC_ERROR, .answer = TCP_ANSWER_ACK, .err = 5 } },
	{ "fetching atomic", post_fetch, TCP_REC_FETCH,
		{ .kind = TCP_REC_ATOMIC_RESP, .payload_len = 8 } },
};

/* A fenced message leaves when the operation before it has ended, whatever it is: not
 * before the last byte of the answer. */
static void fenced(void **state)
{
	struct pair *p = *state;
	uint32_t number = 7;

	for (size_t i = 0; i < WF_ARRAY_SIZE(earlier); i++) {
		struct bytes bytes = { 0 };
		uint8_t payload[64] = { 0 }, byte[64];

		p->ended_count = 0;
		earlier[i].post(p);
		assert_int_equal(post(p, &number, sizeof(number), FI_FENCE), 0);
		pair_progress(p);
		(void)peer_expect(p, earlier[i].sent, byte);
		peer_expect_nothing(p);
		add_record(&bytes, p, &earlier[i].answer, payload);
		for (size_t at = 0; at < bytes.len; at++) {
			assert_int_equal(p->ended_count, 0);
			peer_expect_nothing(p);
			peer_send(p, bytes.at + at, 1);
			pair_progress(p);
		}
		take(p, 7, sizeof(number));
		pair_progress(p);
		assert_int_equal(p->ended_count, 2);
		assert_ptr_equal(p->ended[0].context, local);
		assert_int_equal(p->ended[0].err, earlier[i].answer.err);
		assert_ptr_equal(p->ended[1].context, &number);
	}
}

/* ---- reads by the peer of a region that is closed ---- */

static void ask_to_read(struct pair *p, uint64_t len)
{
	const struct tcp_record read = {
		.kind = TCP_REC_READ, .seg_count = 1, .seg = { { 0, len, KEY } }
	};

	peer_record(p, &read, NULL);
	pair_progress(p);
}

/* Closed before the response began, as it waits behind a message: the peer gets an
 * error instead, and the connection goes on. */
static void closed_before_the_response(void **state)
{
	static uint8_t large[LARGE], got[LARGE];
	struct pair *p = *state;
	uint32_t number = 3;

	kernel.takes = 10;
	assert_int_equal(fi_send(p->ep, large, sizeof(large), NULL, 0, large), 0);
	ask_to_read(p, 100);
	pair_close_mr(p);
	kernel.takes = SIZE_MAX;
	pair_progress(p);
	(void)peer_expect(p, TCP_REC_MSG, got);
	assert_int_equal(peer_expect(p, TCP_REC_ERROR, NULL).answer, TCP_ANSWER_RESP);
	assert_int_equal(post(p, &number, sizeof(number), 0), 0);
	take(p, 3, sizeof(number));
}

/* A peer that knows no errors as answers: the connection ends, and nothing is sent. */
static void closed_before_the_response_to_an_old_peer(void **state)
{
	static uint8_t large[LARGE], got[LARGE];
	static struct tcp_conn gone;
	struct pair *p = *state;
	size_t n = 0, more;

	p->conn->wire.have &= ~(uint32_t)TCP_HAVE_ERROR;
	kernel.takes = 10;
	assert_int_equal(fi_send(p->ep, large, sizeof(large), NULL, 0, large), 0);
	ask_to_read(p, 100);
	pair_close_mr(p);
	/* What peer_expect reads outlives the connection. */
	gone = *p->conn;
	p->conn = &gone;
	kernel.takes = SIZE_MAX;
	pair_progress(p);
	/* The message is all that comes, its header in front. */
	while ((more = peer_read(p, got, sizeof(got))))
		n += more;
	assert_int_equal(n, TCP_WIRE_BASE + sizeof(large));
	assert_int_equal(recv(p->peer, got, sizeof(got), MSG_DONTWAIT), 0);
	assert_null(p->tcp->cm->conn);
}

/* Closed when some bytes of a response have left, which nothing else can end than the
 * connection: no byte is read from the region afterwards. */
static void closed_in_the_response(void **state)
{
	enum { MANY = TCP_COPY_MAX + 1000 };
	static uint8_t memory[MANY], got[MANY];
	struct pair *p = *state;
	struct fid_mr *mr;

	for (size_t sent = 1; sent < 200; sent += 13) {
		struct tcp_record read = { .kind = TCP_REC_READ,
			.seg_count = 1,
			.seg = { { 0, MANY, KEY + 1 } } };

		assert_int_equal(fi_mr_reg(p->domain, memory, MANY, FI_REMOTE_READ, 0,
					 KEY + 1, 0, &mr, NULL),
			0);
		kernel.takes = sent;
		peer_record(p, &read, NULL);
		pair_progress(p);
		assert_int_equal(fi_close(&mr->fid), 0);
		kernel.takes = SIZE_MAX;
		pair_progress(p);
		assert_int_equal(peer_read(p, got, sizeof(got)), sent);
		assert_null(p->tcp->cm->conn);
		pair_again(p);
	}
}

/* ---- indices of rendezvous ---- */

enum { RENDEZVOUS = 100, WAITING = 3 };

static uint32_t payload[LARGE / sizeof(uint32_t)];

static uint16_t expect_request(struct pair *p)
{
	return peer_expect(p, TCP_REC_MSG_RTS, NULL).index;
}

static void clear(struct pair *p, uint16_t index)
{
	struct tcp_record cts = { .kind = TCP_REC_CTS, .index = index };

	peer_record(p, &cts, NULL);
	pair_progress(p);
}

/* The peer has cleared a message whose payload is sent later than requests that were
 * queued before: none of them has its index, though it would be the next free one. */
static void an_index_is_in_use_until_the_payload_is_sent(void **state)
{
	struct pair *p = *state;
	size_t before = tcp_params.rendezvous_size;
	uint16_t index;

	tcp_params.rendezvous_size = RENDEZVOUS;
	assert_int_equal(post(p, payload, LARGE, 0), 0);
	pair_progress(p);
	index = expect_request(p);
	kernel.takes = 0;
	tcp_params.rendezvous_size = SIZE_MAX;
	assert_int_equal(post(p, payload, LARGE, 0), 0);
	tcp_params.rendezvous_size = RENDEZVOUS;
	for (int i = 0; i < WAITING; i++)
		assert_int_equal(post(p, payload, LARGE, 0), 0);
	clear(p, index);
	assert_int_equal(p->conn->cleared, 1);
	p->conn->rts_next = index ? index - 1u : 0;
	kernel.takes = SIZE_MAX;
	pair_progress(p);
	(void)peer_expect(p, TCP_REC_MSG, payload);
	for (int i = 0; i < WAITING; i++)
		assert_int_not_equal(expect_request(p), index);
	assert_int_equal(peer_expect(p, TCP_REC_RDV_DATA, payload).index, index);
	/* Now it is free. */
	p->conn->rts_next = index - 1u;
	assert_int_equal(post(p, payload, LARGE, 0), 0);
	pair_progress(p);
	assert_int_equal(expect_request(p), index);
	tcp_params.rendezvous_size = before;
}

/* EPA-034: the peer clears a message twice, before the payload has left. */
static void a_second_clear_to_send_is_refused(void **state)
{
	struct pair *p = *state;
	size_t before = tcp_params.rendezvous_size;
	uint16_t index;

	tcp_params.rendezvous_size = RENDEZVOUS;
	assert_int_equal(post(p, payload, LARGE, 0), 0);
	pair_progress(p);
	index = expect_request(p);
	kernel.takes = 0;
	tcp_params.rendezvous_size = SIZE_MAX;
	assert_int_equal(post(p, payload, LARGE, 0), 0);
	clear(p, index);
	assert_non_null(p->tcp->cm->conn);
	clear(p, index);
	assert_null(p->tcp->cm->conn);
	assert_int_equal(p->ended_count, 2);
	tcp_params.rendezvous_size = before;
}

/* All indices are in use, and a request waits for one: a payload that was cleared goes
 * first, and gives its index back. */
static void a_payload_goes_before_what_waits_for_an_index(void **state)
{
	struct pair *p = *state;
	size_t before = tcp_params.rendezvous_size;
	unsigned int max;
	uint16_t last = 0;

	/* A peer that knows few. */
	p->conn->wire.have &= ~(uint32_t)TCP_HAVE_RDV_MANY;
	max = tcp_wire_rdv_max(&p->conn->wire);
	p->tcp->own.size = max + 1;
	tcp_params.rendezvous_size = RENDEZVOUS;
	for (unsigned int i = 0; i < max; i++) {
		assert_int_equal(post(p, payload, LARGE, 0), 0);
		pair_progress(p);
		last = expect_request(p);
	}
	assert_int_equal(post(p, payload, LARGE, 0), 0);
	pair_progress(p);
	peer_expect_nothing(p);
	clear(p, last);
	assert_int_equal(peer_expect(p, TCP_REC_RDV_DATA, payload).index, last);
	assert_int_equal(expect_request(p), last);
	peer_expect_nothing(p);
	tcp_params.rendezvous_size = before;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PAIR_TEST(as_many_messages_as_marks),
		PAIR_TEST(one_spare_stage),
		PAIR_TEST(grows_when_a_part_was_sent),
		PAIR_TEST(fits_to_the_last_byte),
		PAIR_TEST(grows_for_the_next_message),
		PAIR_TEST(acknowledgements_go_first),
		PAIR_TEST(no_memory_for_a_stage),
		PAIR_TEST(taken_back),
		PAIR_TEST(fenced),
		PAIR_TEST(closed_before_the_response),
		PAIR_TEST(closed_before_the_response_to_an_old_peer),
		PAIR_TEST(closed_in_the_response),
		PAIR_TEST(an_index_is_in_use_until_the_payload_is_sent),
		PAIR_TEST(a_second_clear_to_send_is_refused),
		PAIR_TEST(a_payload_goes_before_what_waits_for_an_index),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
