/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The end of a connection in each of its states: the peer closes it, or the endpoint is
 * closed. Each operation ends once, or without a word; nothing is counted any more, and
 * no memory is left (AddressSanitizer).
 */
#include "conn_fixture.h"

enum { LARGE = 2 * TCP_COPY_MAX, RENDEZVOUS = 100, HDR = TCP_WIRE_BASE };

static uint8_t local[LARGE], in[LARGE];

/* ---- states of what is sent ---- */

static void post_send(struct pair *p, size_t len, uint64_t flags)
{
	struct iovec iov = { local, len };
	struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1, .context = local };

	assert_int_equal(fi_sendmsg(p->ep, &msg, flags | FI_COMPLETION), 0);
}

static void drop_sent(struct pair *p)
{
	uint8_t bytes[4096];

	while (peer_read(p, bytes, sizeof(bytes)))
		;
}

static void idle(struct pair *p)
{
	(void)p;
}

static void staged(struct pair *p)
{
	kernel.takes = 0;
	for (int i = 0; i < 3; i++)
		post_send(p, 4, 0);
}

static void staged_and_partly_sent(struct pair *p)
{
	kernel.takes = HDR + 4 + 3;
	for (int i = 0; i < 3; i++)
		post_send(p, 4, 0);
}

static void partly_sent_from_buffers(struct pair *p)
{
	tcp_params.rendezvous_size = LARGE;
	kernel.takes = 1000;
	post_send(p, LARGE, 0);
	post_send(p, LARGE, FI_DELIVERY_COMPLETE);
	assert_non_null(p->conn->cur);
}

static void unanswered(struct pair *p)
{
	post_send(p, 4, FI_DELIVERY_COMPLETE);
	post_send(p, 4, FI_MATCH_COMPLETE);
	assert_int_equal(fi_read(p->ep, in, 8, NULL, 0, 0, KEY, local), 0);
	assert_int_equal(fi_write(p->ep, local, 8, NULL, 0, 0, KEY, local), 0);
	assert_int_equal(fi_fetch_atomic(p->ep, local, 1, NULL, in + 8, NULL, 0, 0, KEY,
				 FI_UINT64, FI_SUM, local),
		0);
	pair_progress(p);
}

static void fenced(struct pair *p)
{
	post_send(p, 4, FI_DELIVERY_COMPLETE);
	post_send(p, 4, FI_FENCE);
	assert_int_equal(fi_inject(p->ep, local, 4, 0), 0);
	pair_progress(p);
	assert_false(wf_list_empty(&p->conn->txq));
}

static void request_to_send(struct pair *p)
{
	tcp_params.rendezvous_size = RENDEZVOUS;
	post_send(p, LARGE, 0);
	post_send(p, LARGE, FI_DELIVERY_COMPLETE);
	pair_progress(p);
	assert_int_equal(p->conn->rts_count, 2);
}

/* The stage has no space for the request to send, so that it is the current record and
 * among those that wait for a clear to send. */
static void request_to_send_partly_sent(struct pair *p)
{
	size_t left;

	tcp_params.rendezvous_size = RENDEZVOUS;
	kernel.takes = 0;
	while ((left = p->conn->stage ? p->conn->stage->size - p->conn->stage->tail
				      : SIZE_MAX) > 200) {
		assert_int_equal(fi_inject(p->ep, local, 64, 0), 0);
		pair_progress(p);
	}
	while (!p->conn->cur) {
		post_send(p, LARGE, 0);
		pair_progress(p);
	}
	assert_int_equal(p->conn->cur->want, TCP_WANT_CTS);
}

static void cleared_and_partly_sent(struct pair *p)
{
	struct tcp_record cts = { .kind = TCP_REC_CTS };
	uint8_t bytes[64];

	tcp_params.rendezvous_size = RENDEZVOUS;
	post_send(p, LARGE, 0);
	post_send(p, LARGE, 0);
	pair_progress(p);
	kernel.takes = 50;
	for (int i = 0; i < 2; i++) {
		cts.index = peer_expect(p, TCP_REC_MSG_RTS, bytes).index;
		peer_record(p, &cts, NULL);
		pair_progress(p);
	}
	assert_non_null(p->conn->cur);
	assert_int_equal(p->conn->cleared, 1);
}

static void answers_queued(struct pair *p)
{
	struct tcp_record read = {
		.kind = TCP_REC_READ, .seg_count = 1, .seg = { { 0, 8, KEY } }
	};
	struct tcp_record write = { .kind = TCP_REC_WRITE,
		.flags = TCP_FLAG_ACK,
		.seg_count = 1,
		.payload_len = 1,
		.seg = { { 0, 1, KEY + 1 } } };

	kernel.takes = 0;
	partly_sent_from_buffers(p);
	kernel.takes = 0;
	for (int i = 0; i < 2; i++) {
		peer_record(p, &read, NULL);
		peer_record(p, &write, "w");
	}
	write.seg[0].key = KEY;
	peer_record(p, &write, "w");
	pair_progress(p);
	assert_int_not_equal(p->conn->answer_bytes, 0);
	assert_int_equal(p->conn->acks_ordered, 3);
}

/* ---- states of what arrives ---- */

static void receive(struct pair *p, uint64_t tag)
{
	assert_int_equal(
		fi_trecv(p->ep, in, 40, NULL, FI_ADDR_UNSPEC, tag, 0, local), 0);
}

/* The first @part bytes of a record with a payload of zeros. */
static void send_part(struct pair *p, const struct tcp_record *rec, size_t part)
{
	static const uint8_t zeros[256];
	struct bytes bytes = { 0 };

	add_record(&bytes, p, rec, rec->payload_len ? zeros : NULL);
	assert_true(part <= bytes.len);
	peer_send(p, bytes.at, part);
	pair_progress(p);
}

static const struct tcp_record tagged = {
	.kind = TCP_REC_TAGGED, .tag = 3, .payload_len = 40
};

static void part_of_a_header(struct pair *p)
{
	send_part(p, &tagged, HDR + 3);
	assert_int_equal(p->conn->rx.carry_len, HDR + 3);
}

static void part_of_a_message(struct pair *p)
{
	receive(p, 3);
	send_part(p, &tagged, HDR + 8 + 10);
	assert_non_null(p->conn->rx.entry);
}

static void part_of_an_unexpected_message(struct pair *p)
{
	send_part(p, &tagged, HDR + 8 + 10);
	assert_non_null(p->conn->rx.unexp);
}

static void matched_in_the_middle(struct pair *p)
{
	part_of_an_unexpected_message(p);
	receive(p, 3);
	assert_non_null(p->conn->rx.entry);
}

static void left_in_the_socket(struct pair *p)
{
	pair_set_memory_full(p, true);
	send_part(p, &tagged, HDR + 8 + 10);
	pair_set_memory_full(p, false);
	assert_non_null(p->conn->rx.held);
}

static const struct tcp_record rts = {
	.kind = TCP_REC_RTS, .tag = 3, .index = 1, .msg_len = 40
};

static void asked_to_clear(struct pair *p)
{
	send_part(p, &rts, HDR + 16);
	assert_non_null(p->conn->rdv.at[1]);
}

static void cleared_to_send(struct pair *p)
{
	receive(p, 3);
	asked_to_clear(p);
	pair_progress(p);
}

static void part_of_cleared_data(struct pair *p)
{
	const struct tcp_record data = {
		.kind = TCP_REC_RDV_DATA, .index = 1, .payload_len = 40
	};

	cleared_to_send(p);
	send_part(p, &data, HDR + 10);
	assert_non_null(p->conn->rx.rdv);
}

static void part_of_a_write(struct pair *p)
{
	const struct tcp_record write = { .kind = TCP_REC_WRITE,
		.flags = TCP_FLAG_ACK,
		.seg_count = 1,
		.payload_len = 40,
		.seg = { { 0, 40, KEY } } };

	send_part(p, &write, HDR + TCP_WIRE_SEG + 10);
	assert_int_equal(p->conn->rx.sink, TCP_SINK_MR);
}

static void part_of_operands(struct pair *p)
{
	const struct tcp_record atomic = { .kind = TCP_REC_ATOMIC,
		.flags = TCP_FLAG_ACK,
		.seg_count = 1,
		.payload_len = 16,
		.atomic_op = FI_SUM,
		.datatype = FI_UINT64,
		.seg = { { 0, 16, KEY } } };

	send_part(p, &atomic, HDR + TCP_WIRE_SEG + 10);
	assert_non_null(p->conn->rx.buf);
}

static void part_of_a_response(struct pair *p)
{
	const struct tcp_record resp = { .kind = TCP_REC_READ_RESP, .payload_len = 8 };

	assert_int_equal(fi_read(p->ep, in, 8, NULL, 0, 0, KEY, local), 0);
	pair_progress(p);
	send_part(p, &resp, HDR + 3);
	assert_true(p->conn->rx.body);
}

/* ---- ends ---- */

static const struct row {
	const char *name;
	void (*reach)(struct pair *p);
	/* Operations that are complete before the end, and that fail with it. */
	unsigned int done, failed;
	/* An unexpected message is there that the connection has not brought all of. */
	bool broken;
} rows[] = {
#define ROW(state, ...)                                                                \
	{                                                                              \
#state, state, __VA_ARGS__                                             \
	}
	ROW(idle, 0, 0),
	ROW(staged, 0, 3),
	ROW(staged_and_partly_sent, 1, 2),
	ROW(partly_sent_from_buffers, 0, 2),
	ROW(unanswered, 0, 5),
	ROW(fenced, 0, 3),
	ROW(request_to_send, 0, 2),
	ROW(cleared_and_partly_sent, 0, 2),
	ROW(answers_queued, 0, 2),
	ROW(part_of_a_header, 0, 0),
	ROW(part_of_a_message, 0, 1),
	ROW(part_of_an_unexpected_message, 0, 0, true),
	ROW(matched_in_the_middle, 0, 1),
	ROW(left_in_the_socket, 0, 0, true),
	ROW(asked_to_clear, 0, 0, true),
	ROW(cleared_to_send, 0, 1),
	ROW(part_of_cleared_data, 0, 1),
	ROW(part_of_a_write, 0, 0),
	ROW(part_of_operands, 0, 0),
	ROW(part_of_a_response, 0, 1),
};

static void assert_counts(struct pair *p, const struct row *row, unsigned int failed)
{
	unsigned int done = 0, errors = 0;

	for (unsigned int i = 0; i < p->ended_count; i++) {
		if (p->ended[i].err)
			assert_int_equal(p->ended[i].err, FI_ECANCELED);
		errors += !!p->ended[i].err;
		done += !p->ended[i].err;
	}
	if (done != row->done || errors != failed)
		fail_msg("%s: %u complete, %u failed", row->name, done, errors);
}

/* The endpoint keeps nothing of a connection that is gone. */
static void assert_nothing_left(struct pair *p)
{
	assert_null(p->tcp->cm->conn);
	assert_true(wf_list_empty(&p->tcp->conns));
	assert_true(wf_list_empty(&p->tcp->hot));
	assert_true(wf_list_empty(&p->tcp->dirty));
	assert_true(wf_list_empty(&p->tcp->owing));
	assert_true(wf_list_empty(&p->tcp->dead));
	assert_int_equal(p->tcp->hot_count, 0);
	assert_int_equal(p->tcp->answers.used, 0);
	assert_int_equal(p->tcp->own.pending, 0);
}

/* The peer closes its end. An unexpected message that is not whole fails the receive
 * that matches it. */
static void closed_by_the_peer(void **state)
{
	struct pair *p = *state;

	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		rows[i].reach(p);
		drop_sent(p);
		close(p->peer);
		p->peer = -1;
		pair_progress(p);
		assert_counts(p, &rows[i], rows[i].failed);
		if (rows[i].broken) {
			receive(p, 3);
			pair_progress(p);
			assert_counts(p, &rows[i], 1);
		}
		assert_nothing_left(p);
		assert_int_equal(p->tcp->unexp.bytes, 0);
		pair_again(p);
	}
}

/* The endpoint is closed: what has not ended ends without a completion. */
static void closed_by_the_endpoint(void **state)
{
	struct pair *p = *state;

	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		rows[i].reach(p);
		pair_progress(p);
		kernel.takes = 0;
		assert_int_equal(fi_close(&p->ep->fid), 0);
		p->ep = NULL;
		pair_progress(p);
		assert_counts(p, &rows[i], 0);
		pair_again(p);
	}
}

/* A record for which the stage has no space is the current one, whatever it is: with a
 * request to send, two lists know the operation, and it ends once. */
static void current_request_to_send(void **state)
{
	struct pair *p = *state;
	unsigned int count;

	request_to_send_partly_sent(p);
	count = p->conn->rts_count;
	close(p->peer);
	p->peer = -1;
	pair_progress(p);
	for (unsigned int i = 0; i < p->ended_count; i++)
		count -= p->ended[i].context == local;
	assert_int_equal(count, 0);
	assert_nothing_left(p);
	pair_again(p);
	request_to_send_partly_sent(p);
	assert_int_equal(fi_close(&p->ep->fid), 0);
	p->ep = NULL;
	pair_progress(p);
	assert_int_equal(p->ended_count, 0);
}

/* The endpoint reads what the peer sent before it closes: else the kernel resets the
 * connection, and the peer loses bytes that were on their way to it. */
static void closed_with_bytes_to_read(void **state)
{
	const struct tcp_record behind = { .kind = TCP_REC_TAGGED, .tag = 9 };
	struct pair *p = *state;
	uint8_t got[64];

	left_in_the_socket(p);
	for (int i = 0; i < 10; i++)
		peer_record(p, &behind, NULL);
	assert_int_equal(fi_inject(p->ep, local, 4, 0), 0);
	assert_int_equal(fi_close(&p->ep->fid), 0);
	p->ep = NULL;
	assert_int_equal(recv(p->peer, got, sizeof(got), MSG_DONTWAIT), HDR + 4);
	assert_int_equal(recv(p->peer, got, sizeof(got), MSG_DONTWAIT), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PAIR_TEST(closed_by_the_peer),
		PAIR_TEST(closed_by_the_endpoint),
		PAIR_TEST(current_request_to_send),
		PAIR_TEST(closed_with_bytes_to_read),
	};

	/* Endpoints that are closed do not wait for the test, which reads no more. */
	(void)setenv("FI_FLUSH_TIMEOUT", "0", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
