/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The end of a connection in each of its states: the peer dies, it writes a record that
 * is none, or the endpoint is closed. Each operation ends once, or without a word;
 * nothing is counted any more, and no memory is left (AddressSanitizer).
 */
#include "conn_fixture.h"

enum { LARGE = 100 << 10 };

static uint8_t local[LARGE], in[LARGE];

/* ---- states of what is sent ---- */

static void post(struct pair *p, size_t len, uint64_t flags)
{
	struct iovec iov = { local, len };
	struct fi_msg msg = {
		.msg_iov = &iov, .iov_count = 1, .addr = p->addr, .context = local
	};

	assert_int_equal(fi_sendmsg(p->ep, &msg, flags | FI_COMPLETION), 0);
}

static void fill_lane(struct pair *p)
{
	for (int i = 0; i < SHM_SLOTS; i++)
		assert_int_equal(fi_inject(p->ep, local, 4, p->addr), 0);
}

static void idle(struct pair *p)
{
	(void)p;
}

static void unanswered(struct pair *p)
{
	post(p, 8, FI_DELIVERY_COMPLETE);
	post(p, 8, FI_MATCH_COMPLETE);
	assert_int_equal(fi_read(p->ep, in, 8, NULL, p->addr, 0, KEY, local), 0);
	assert_int_equal(fi_fetch_atomic(p->ep, local, 1, NULL, in + 8, NULL, p->addr,
				 0, KEY, FI_UINT64, FI_SUM, local),
		0);
	(void)peer_skip(p);
}

static void queued(struct pair *p)
{
	fill_lane(p);
	post(p, 8, 0);
	post(p, 8000, 0);
	assert_int_equal(
		fi_write(p->ep, local, LARGE, NULL, p->addr, 0, KEY, local), 0);
	assert_int_equal(fi_inject(p->ep, local, 8, p->addr), 0);
	assert_false(wf_list_empty(&p->conn->queue.txq));
}

static void fenced(struct pair *p)
{
	post(p, 8, FI_DELIVERY_COMPLETE);
	post(p, 8, FI_FENCE);
	(void)peer_skip(p);
	assert_false(wf_list_empty(&p->conn->queue.txq));
}

static void request_to_send(struct pair *p)
{
	post(p, LARGE, 0);
	assert_int_not_equal(p->conn->waits.tokens, 0);
	(void)peer_skip(p);
}

/* Cleared, and the lane has space for a part of it. */
static void part_of_a_message_sent(struct pair *p)
{
	const uint64_t sink = 99;
	struct shm_rts rts;

	post(p, LARGE, FI_DELIVERY_COMPLETE);
	for (int i = 0; i < SHM_SLOTS - 3; i++)
		assert_int_equal(fi_inject(p->ep, local, 4, p->addr), 0);
	memcpy(&rts, peer_expect(p, SHM_REC_RTS).blob, sizeof(rts));
	peer_record(p, SHM_REC_CTS, 0, rts.id, &sink, sizeof(sink));
	pair_progress(p);
	assert_false(wf_list_empty(&p->conn->queue.streams));
}

static void part_of_a_write_sent(struct pair *p)
{
	for (int i = 0; i < SHM_SLOTS - 3; i++)
		assert_int_equal(fi_inject(p->ep, local, 4, p->addr), 0);
	assert_int_equal(
		fi_write(p->ep, local, LARGE, NULL, p->addr, 0, KEY, local), 0);
	assert_false(wf_list_empty(&p->conn->queue.txq));
}

/* ---- states of what arrives ---- */

static void receive(struct pair *p)
{
	assert_int_equal(
		fi_trecv(p->ep, in, 200, NULL, FI_ADDR_UNSPEC, 3, 0, local), 0);
}

static void ask_to_read(struct pair *p, uint64_t len)
{
	struct {
		uint64_t id;
		struct fi_rma_iov seg;
	} blob = { 5, { 0, len, KEY } };

	peer_record(p, SHM_REC_READ, 0, shm_access_word(1, 0, 0), &blob, sizeof(blob));
}

static void answers_queued(struct pair *p)
{
	const uint64_t id = 77;

	fill_lane(p);
	ask_to_read(p, 8);
	ask_to_read(p, LARGE);
	peer_record(p, SHM_REC_TAGGED, SHM_FLAG_ACK, 3, &id, sizeof(id));
	pair_progress(p);
	assert_int_not_equal(p->conn->queue.answer_bytes, 0);
	assert_int_not_equal(p->conn->queue.ack_count, 0);
}

static void announce(struct pair *p)
{
	struct shm_rts rts = { .id = 5, .len = 200, .token = SHM_TOKENS, .count = 1 };

	rts.iov[0].len = 200;
	peer_record(p, SHM_REC_TAGGED_RTS, 0, 3, &rts, sizeof(rts));
	pair_progress(p);
}

static void announced(struct pair *p)
{
	announce(p);
	assert_int_not_equal(p->conn->unexp.bytes, 0);
}

static void cleared(struct pair *p)
{
	receive(p);
	announce(p);
	assert_false(wf_list_empty(&p->conn->arriving.sinks));
}

static void part_of_a_message(struct pair *p)
{
	uint64_t sink;

	cleared(p);
	memcpy(&sink, peer_expect(p, SHM_REC_CTS).blob, sizeof(sink));
	peer_record(p, SHM_REC_DATA, 0, sink, local, 150);
	pair_progress(p);
}

/* The endpoint has taken the token, and has not read all of the peer's memory. */
static void part_of_memory_read(struct pair *p)
{
	struct shm_sink *sink;

	cleared(p);
	sink = wf_list_entry(p->conn->arriving.sinks.next, struct shm_sink, link);
	sink->pull = true;
	p->shm->chores = true;
	wf_list_push(&p->shm->pulls, &sink->pull_link);
}

static void part_of_a_write(struct pair *p)
{
	struct {
		uint64_t id;
		struct fi_rma_iov seg;
	} blob = { 5, { 0, 1000, KEY } };

	peer_record(p, SHM_REC_WRITE, SHM_FLAG_MORE, shm_access_word(1, 0, 0), &blob,
		sizeof(blob));
	peer_record(p, SHM_REC_DATA, 0, 0, local, 100);
	pair_progress(p);
	assert_non_null(p->conn->arriving.writing);
}

/* Whole messages outlive the connection. */
static void unexpected(struct pair *p)
{
	peer_record(p, SHM_REC_TAGGED, 0, 3, local, 8);
	pair_progress(p);
}

/* ---- ends ---- */

static const struct row {
	const char *name;
	void (*reach)(struct pair *p);
	unsigned int done;   /* operations that are complete before the end */
	unsigned int failed; /* that fail with it */
	/* The result of a receive for the message that is left; -1: there is none. */
	int left;
} rows[] = {
#define ROW(state, ...)                                                                \
	{                                                                              \
#state, state, __VA_ARGS__                                             \
	}
	ROW(idle, 0, 0, -1),
	ROW(unanswered, 0, 4, -1),
	ROW(queued, 0, 3, -1),
	ROW(fenced, 0, 2, -1),
	ROW(request_to_send, 0, 1, -1),
	ROW(part_of_a_message_sent, 0, 1, -1),
	ROW(part_of_a_write_sent, 0, 1, -1),
	ROW(answers_queued, 0, 0, 0),
	ROW(announced, 0, 0, FI_ECONNRESET),
	ROW(cleared, 0, 1, -1),
	ROW(part_of_a_message, 0, 1, -1),
	ROW(part_of_a_write, 0, 0, -1),
	ROW(unexpected, 0, 0, 0),
};

/* Operations with a context of ours: injected ones are told otherwise. */
static unsigned int count(struct pair *p, bool failed, int err)
{
	unsigned int n = 0;

	for (unsigned int i = 0; i < p->ended_count; i++) {
		if (p->ended[i].context != local || failed != (p->ended[i].err != 0))
			continue;
		if (failed)
			assert_int_equal(p->ended[i].err, err);
		n++;
	}
	return n;
}

static void assert_counts(struct pair *p, const struct row *row, int err)
{
	unsigned int done = count(p, false, 0), failed = count(p, true, err);

	if (done != row->done || failed != (err ? row->failed : 0))
		fail_msg("%s: %u complete, %u failed", row->name, done, failed);
	p->ended_count = 0;
}

static void assert_nothing_left(struct pair *p, const struct row *row)
{
	assert_int_equal(p->shm->conns.count, 0);
	assert_int_equal(p->shm->conns.hot, 0);
	assert_true(wf_list_empty(&p->shm->dirty));
	assert_true(wf_list_empty(&p->shm->pulls));
	assert_true(wf_list_empty(&p->shm->failed));
	assert_true(wf_list_empty(&p->shm->dead));
	if (row->left >= 0) {
		receive(p);
		pair_progress(p);
		assert_one_ended(p, local, row->left);
	}
	assert_int_equal(p->shm->unexp.bytes, 0);
	assert_int_equal(p->shm->tx.pending, 0);
}

static void the_peer_dies(void **state)
{
	struct pair *p = *state;

	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		rows[i].reach(p);
		peer_dies(p);
		pair_progress(p);
		assert_counts(p, &rows[i], FI_ECONNRESET);
		assert_nothing_left(p, &rows[i]);
		pair_again(p);
	}
}

static void the_peer_writes_nonsense(void **state)
{
	struct pair *p = *state;

	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		rows[i].reach(p);
		peer_record(p, SHM_REC_KINDS, 0, 0, NULL, 0);
		assert_refused(p);
		assert_counts(p, &rows[i], FI_EPROTO);
		assert_nothing_left(p, &rows[i]);
		pair_again(p);
	}
}

static void the_endpoint_is_closed(void **state)
{
	struct pair *p = *state;

	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		rows[i].reach(p);
		assert_int_equal(fi_close(&p->ep->fid), 0);
		p->ep = NULL;
		pair_progress(p);
		assert_counts(p, &rows[i], 0);
		pair_again(p);
	}
}

/* A message that is being read from the memory of a peer that dies fails, and the
 * connection is not looked at again. */
static void read_from_a_peer_that_dies(void **state)
{
	struct pair *p = *state;

	part_of_memory_read(p);
	wf_lock(&p->shm->ep.lock);
	shm_conn_fail(p->conn, FI_ECONNRESET);
	shm_conn_end(p->conn, FI_ECONNRESET);
	wf_unlock(&p->shm->ep.lock);
	assert_true(wf_list_empty(&p->shm->pulls));
	pair_progress(p);
	assert_one_ended(p, local, FI_ECONNRESET);
}

/* What the peer wrote before it died is received: all of it, however much there is. */
static void last_records_of_the_dead(void **state)
{
	struct pair *p = *state;
	uint8_t byte = 0;

	for (unsigned int i = 0; i < SHM_SLOTS; i++) {
		assert_int_equal(
			fi_recv(p->ep, in + i, 1, NULL, FI_ADDR_UNSPEC, in + i), 0);
		byte = (uint8_t)i;
		peer_record(p, SHM_REC_MSG, 0, 0, &byte, 1);
	}
	wf_lock(&p->shm->ep.lock);
	shm_conn_fail(p->conn, FI_ECONNRESET);
	shm_conn_end(p->conn, FI_ECONNRESET);
	wf_unlock(&p->shm->ep.lock);
	pair_progress(p);
	assert_int_equal(p->ended_count, SHM_SLOTS);
	for (unsigned int i = 0; i < SHM_SLOTS; i++) {
		assert_ptr_equal(p->ended[i].context, in + i);
		assert_int_equal(in[i], (uint8_t)i);
	}
}

/* ---- hot and cold ---- */

/* Connections change their places among those that are polled: each knows its own. */
static void places(void **state)
{
	enum { COUNT = 40 };
	struct pair *p = *state;
	struct shm_conn *conns[COUNT];
	int peers[COUNT];

	for (unsigned int i = 0; i < COUNT; i++) {
		struct shm_segment *region;
		char name[32];
		int fds[2], fd;

		(void)snprintf(name, sizeof(name), "fi_ns://other-%u", i);
		assert_int_equal(
			socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, fds), 0);
		assert_int_equal(shm_segment_new(&fd, &region), 0);
		close(fd);
		conns[i] = shm_conn_new(
			p->shm, shm_peer_get(p->shm, name), fds[0], region, 0);
		peers[i] = fds[1];
	}
	for (unsigned int i = 0; i < 4 * COUNT; i++) {
		struct shm_conn *conn = conns[i * 7 % COUNT];

		if (i % 3)
			shm_conn_make_cold(conn);
		else
			shm_conn_make_hot(conn);
		assert_int_equal(conn->position < p->shm->conns.hot, i % 3 == 0);
		for (uint32_t at = 0; at < p->shm->conns.count; at++)
			assert_int_equal(p->shm->conns.at[at]->position, at);
	}
	for (unsigned int i = 0; i < COUNT; i++)
		close(peers[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PAIR_TEST(the_peer_dies),
		PAIR_TEST(the_peer_writes_nonsense),
		PAIR_TEST(the_endpoint_is_closed),
		PAIR_TEST(read_from_a_peer_that_dies),
		PAIR_TEST(last_records_of_the_dead),
		PAIR_TEST(places),
	};

	/* Endpoints that are closed do not wait for the test, which reads no more. */
	(void)setenv("FI_FLUSH_TIMEOUT", "0", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
