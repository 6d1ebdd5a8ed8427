/* SPDX-License-Identifier: BSD-2-Clause */
/* When operations of this end go by memory instead of the connection. */
#include "switch_fixture.h"

#include "../../log_lines.h"

#include <sys/wait.h>
#include <unistd.h>

static void an_idle_direction_switches(void **state)
{
	struct far *far = *state;

	assert_int_equal(below.inserted, 1);
	assert_string_equal(below.peer, FAR_NAME);
	assert_true(is_far(far));
	switch_out(far);
	inject(far);
	assert_int_equal(below.started, 1);
	assert_int_equal(below.op.addr, far->addr);
	expect_no_marker(far);
	/* The other direction has not switched. */
	assert_false(local_of(far)->in);
}

/* Messages go by the connection until there is one below. */
static void the_marker_waits_for_the_connection_below(void **state)
{
	struct far *far = *state;

	below.reach_ret = -FI_EAGAIN;
	prove(far);
	let_pass(far, 4);
	expect_no_marker(far);
	assert_int_equal(below.inserted, 1);
	assert_in_range(below.asked, 2, 100);
	inject(far);
	pair_progress(&far->pair);
	expect_message(far);
	below.reach_ret = 0;
	pair_progress(&far->pair);
	switch_out(far);
	inject(far);
	assert_int_equal(below.started, 1);
}

static void there_is_no_connection_below(void **state)
{
	struct far *far = *state;

	below.reach_ret = -FI_EINVAL;
	prove(far);
	let_pass(far, 4);
	expect_no_marker(far);
	assert_int_equal(below.asked, 1);
	assert_int_equal(local_of(far)->out, TCP_OUT_SOCKET);
}

/* A connection below that is not accepted for half a minute is given up. */
static void the_connection_below_takes_too_long(void **state)
{
	const uint64_t second_ns = 1000000000;
	struct far *far = *state;
	struct tcp_local *local = far->pair.conn->local;

	below.reach_ret = -FI_EAGAIN;
	prove(far);
	let_pass(far, 4);
	assert_int_equal(local->out, TCP_OUT_WAITS);
	assert_true(local->reach_ns != 0);
	/* The time is what has passed since the first attempt. */
	local->reach_ns -= 25 * second_ns;
	pair_progress(&far->pair);
	assert_int_equal(local->out, TCP_OUT_WAITS);
	local->reach_ns -= 5 * second_ns;
	log_lines_start();
	pair_progress(&far->pair);
	assert_true(log_lines_have(fi_strerror(FI_ETIMEDOUT)));
	assert_int_equal(local->out, TCP_OUT_SOCKET);
	expect_no_marker(far);
}

static void the_endpoint_below_is_full(void **state)
{
	struct far *far = *state;

	switch_out(far);
	below.start_ret = -FI_EAGAIN;
	assert_int_equal(fi_inject(far->pair.ep, "abcd", 4, far->addr), -FI_EAGAIN);
	expect_no_marker(far);
}

static void messages_before_the_answer_go_by_the_connection(void **state)
{
	struct far *far = *state;

	expect_marker(far);
	inject(far);
	pair_progress(&far->pair);
	expect_message(far);
	/* The answer does not speak of that message. */
	send_answer(far, true);
	assert_int_equal(local_of(far)->out, TCP_OUT_WAITS);
	inject(far);
	pair_progress(&far->pair);
	expect_message(far);
	assert_int_equal(below.started, 0);
	let_pass(far, 1);
	switch_out(far);
	inject(far);
	assert_int_equal(below.started, 1);
}

/* The peer reads both at once, and answers before its next message. */
static void make_due(struct far *far)
{
	expect_marker(far);
	inject(far);
	pair_progress(&far->pair);
	expect_message(far);
	send_answer(far, true);
	pair_progress(&far->pair);
	pair_progress(&far->pair);
	expect_no_marker(far);
}

static void a_marker_goes_behind_a_message(void **state)
{
	struct far *far = *state;

	make_due(far);
	inject(far);
	/* It is there before the message is. */
	marker_came(far, far->pair.conn->sent);
	expect_message(far);
	assert_int_equal(far->pair.got, far->pair.conn->sent);
	send_answer(far, true);
	inject(far);
	assert_int_equal(below.started, 1);
}

/* A message is under way until it is acknowledged, and so is what comes behind it. */
static void no_marker_goes_behind_what_waits(void **state)
{
	struct far *far = *state;
	struct fi_msg msg = { .addr = far->addr };

	make_due(far);
	assert_int_equal(
		fi_sendmsg(far->pair.ep, &msg, FI_COMPLETION | FI_DELIVERY_COMPLETE),
		0);
	pair_progress(&far->pair);
	(void)peer_expect(&far->pair, TCP_REC_MSG, NULL);
	expect_no_marker(far);
	inject(far);
	expect_message(far);
	let_pass(far, 8);
	expect_no_marker(far);
	acknowledge(far);
	switch_out(far);
}

/* The marker waits for the acknowledgement of a message. */
static void a_busy_direction_waits(void **state)
{
	struct far *far = *state;
	struct fi_msg msg = { .addr = far->addr };

	expect_marker(far);
	assert_int_equal(
		fi_sendmsg(far->pair.ep, &msg, FI_COMPLETION | FI_DELIVERY_COMPLETE),
		0);
	send_answer(far, true);
	(void)peer_expect(&far->pair, TCP_REC_MSG, NULL);
	let_pass(far, 8);
	expect_no_marker(far);
	assert_int_equal(local_of(far)->out, TCP_OUT_WAITS);
	acknowledge(far);
	let_pass(far, 1);
	assert_int_equal(far->pair.ended_count, 1);
	switch_out(far);
}

/* Bytes that the kernel has not taken are under way. */
static void a_blocked_direction_waits(void **state)
{
	struct far *far = *state;

	expect_marker(far);
	kernel.takes = 0;
	inject(far);
	send_answer(far, true);
	let_pass(far, 8);
	assert_int_equal(local_of(far)->out, TCP_OUT_WAITS);
	kernel.takes = SIZE_MAX;
	pair_progress(&far->pair);
	expect_message(far);
	let_pass(far, 1);
	switch_out(far);
}

static void the_peer_refuses_for_now(void **state)
{
	struct far *far = *state;

	for (unsigned int tries = 1; tries < 6; tries++) {
		expect_marker(far);
		put_answer(far, false);
		inject(far);
		pair_progress(&far->pair);
		expect_message(far);
		expect_no_marker(far);
		let_pass(far, tries);
	}
	switch_out(far);
}

/* The answer is there when the next operation is posted, though no progress call came
 * between: that operation goes by memory. */
static void the_answer_comes_before_the_operation(void **state)
{
	struct far *far = *state;

	expect_marker(far);
	wf_page_answer(far->proof.own, far->markers, true);
	inject(far);
	assert_int_equal(below.started, 1);
	peer_expect_nothing(&far->pair);
}

/* The socket of a peer of memory is not read in each progress call. */
static void the_socket_rests(void **state)
{
	struct far *far = *state;

	switch_out(far);
	assert_true(far->pair.conn->hot);
	let_pass(far, 10);
	assert_false(far->pair.conn->hot);
	/* It is still read. */
	a_message_comes(far);
}

static ssize_t send_small(struct far *far, fi_addr_t addr)
{
	struct wf_ep *ep = &far->pair.tcp->ep;

	return ep->xfer->send_small(ep, WF_OP_TSEND, "small", 5, addr, 9);
}

/* The fast path is for peers that are reached by memory for good, and holds the
 * endpoint's lock no longer than the call. */
static void small_messages(void **state)
{
	struct far *far = *state;
	struct tcp_conn *conn = far->pair.conn;

	/* Without an endpoint below none takes it. */
	assert_int_equal(far->pair.tcp->ep.small_limit, 0);
	assert_int_equal(send_small(far, far->addr), -FI_EAGAIN);
	put_marker(far, 0);
	assert_int_equal(far->pair.tcp->memory_conns, 1);
	assert_int_equal(send_small(far, far->addr), -FI_EAGAIN);
	assert_int_equal(below.sent, 0);
	switch_out(far);
	assert_int_equal(send_small(far, far->addr), 0);
	assert_int_equal(send_small(far, far->addr + 1), -FI_EAGAIN);
	assert_int_equal(send_small(far, FI_ADDR_UNSPEC), -FI_EAGAIN);
	assert_int_equal(below.sent, 1);
	below.start_ret = -FI_EAGAIN;
	assert_int_equal(send_small(far, far->addr), -FI_EAGAIN);
	below.start_ret = 0;
	assert_true(wf_trylock(&far->pair.tcp->ep.lock));
	assert_int_equal(send_small(far, far->addr), -FI_EAGAIN);
	tcp_conn_fail(conn, FI_ECONNRESET);
	wf_unlock(&far->pair.tcp->ep.lock);
	assert_int_equal(send_small(far, far->addr), -FI_EAGAIN);
	assert_true(has_failed(far));
	assert_int_equal(send_small(far, far->addr), -FI_EAGAIN);
	assert_int_equal(below.sent, 1);
}

/* Answers to markers that were not sent, or not yet: operations go on by the
 * connection. */
static void answers_that_were_not_asked_for(void **state)
{
	static const uint64_t answers[] = { 0, 1, 4, 5, UINT64_MAX, UINT64_MAX - 1 };
	struct far *far = *state;

	expect_marker(far);
	for (size_t i = 0; i < sizeof(answers) / sizeof(answers[0]); i++) {
		atomic_store(&far->proof.own->answer, answers[i]);
		pair_progress(&far->pair);
		assert_int_equal(local_of(far)->out, TCP_OUT_ASKED);
	}
	inject(far);
	expect_message(far);
	assert_int_equal(below.started, 0);
}

static void the_connection_ends(void **state)
{
	struct far *far = *state;

	switch_out(far);
	inject(far);
	close(far->pair.peer);
	far->pair.peer = -1;
	assert_true(has_failed(far));
	assert_int_equal(below.removed, 1);
	/* The next message waits for a new connection. */
	inject(far);
	assert_int_equal(below.started, 1);
}

/* A child does not have the pages, and makes no progress. */
static void a_forked_child_leaves_the_pages_alone(void **state)
{
	struct far *far = *state;
	pid_t child;
	int status;

	assert_int_equal(wf_forks_count(), 0);
	child = fork();
	assert_true(child >= 0);
	if (!child) {
		struct fi_cq_tagged_entry entry;

		for (int i = 0; i < 100; i++)
			if (fi_cq_read(far->pair.cq, &entry, 1) != -FI_EOPBADSTATE)
				_exit(2);
		_exit(local_of(far)->out != TCP_OUT_WAITS &&
			local_of(far)->out != TCP_OUT_ASKED);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	switch_out(far);
}

/* Another connection to the peer at the same address. */
static void connect_again(struct far *far)
{
	const struct tcp_wire_peer wire = { .have = TCP_HAVE_OFFER | TCP_HAVE_TAGGED,
		.contexts = 1 };
	struct pair *p = &far->pair;
	struct tcp_peer *peer;
	int fds[2];

	wf_lock(&p->tcp->ep.lock);
	peer = wf_container_of(wf_remotes_next(&p->tcp->peers->remotes, NULL),
		struct tcp_peer, ip.remote);
	if (p->peer >= 0)
		close(p->peer);
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds),
		0);
	p->peer = fds[1];
	p->number = 0;
	assert_int_equal(
		tcp_peer_connected(p->tcp, peer, fds[0], INSTANCE, &wire, TCP_VERIFIED),
		0);
	p->conn = peer->conn;
	wf_unlock(&p->tcp->ep.lock);
}

static void expect_card(struct far *far)
{
	uint8_t card[TCP_WIRE_CARD];

	pair_progress(&far->pair);
	(void)peer_expect(&far->pair, TCP_REC_CARD, card);
}

static void close_peer(struct far *far)
{
	close(far->pair.peer);
	far->pair.peer = -1;
}

static void expect_unread(struct far *far, unsigned int first, unsigned int end)
{
	struct tcp_record rec;
	unsigned int number;

	for (unsigned int i = first; i < end; i++) {
		rec = peer_expect(&far->pair, TCP_REC_TAGGED, &number);
		assert_int_equal(rec.tag, i);
		assert_int_equal(rec.data, i);
		assert_int_equal(rec.payload_len, sizeof(number));
		assert_int_equal(number, i);
	}
}

/* What the peer has left unread in memory goes to the next one at its address, before
 * what was posted since, also where the next one is gone before it gets them. */
static void messages_are_left_unread(void **state)
{
	struct far *far = *state;

	switch_out(far);
	below.unread = 3;
	close_peer(far);
	assert_true(has_failed(far));
	inject(far);
	assert_int_equal(below.started, 0);
	connect_again(far);
	wf_lock(&far->pair.tcp->ep.lock);
	tcp_conn_fail(far->pair.conn, FI_ECONNRESET);
	wf_unlock(&far->pair.tcp->ep.lock);
	pair_progress(&far->pair);
	inject(far);
	connect_again(far);
	expect_card(far);
	expect_unread(far, 0, 3);
	expect_message(far);
	assert_int_equal(far->pair.tcp->closed.pending, 0);
}

/* Of an endpoint that is closed nothing is left. */
static void unread_messages_of_the_closed(void **state)
{
	struct far *far = *state;

	switch_out(far);
	below.unread = 3;
	close_peer(far);
	assert_true(has_failed(far));
	assert_int_equal(far->pair.tcp->closed.pending, 3);
}

/* The peer has closed the socket, and may still receive what is in memory. */
static void the_end_waits_for_that_of_the_memory(void **state)
{
	struct far *far = *state;
	struct tcp_peer *peer = far->pair.conn->peer;

	switch_out(far);
	below.open = true;
	below.unread = 1;
	close_peer(far);
	for (int i = 0; i < 600; i++)
		pair_progress(&far->pair);
	assert_int_equal(below.removed, 0);
	assert_true(peer->conn && peer->conn->err);
	inject(far);
	assert_int_equal(below.started, 0);
	below.open = false;
	pair_progress(&far->pair);
	assert_int_equal(below.removed, 1);
	assert_null(peer->conn);
	connect_again(far);
	expect_card(far);
	expect_unread(far, 0, 1);
	expect_message(far);
}

/* Memory fails: the connection ends, and this instance is refused from then on. */
static void memory_fails(void **state)
{
	static const uint8_t none[TCP_WIRE_CARD];
	uint8_t card[TCP_WIRE_CARD];
	struct far *far = *state;
	struct pair *p = &far->pair;

	switch_out(far);
	/* Nothing is reached below any more: the operation waits for the next
	 * connection. */
	below.start_ret = -FI_ENOTCONN;
	inject(far);
	assert_int_equal(below.started, 0);
	assert_true(has_failed(far));
	connect_again(far);
	pair_progress(p);
	(void)peer_expect(p, TCP_REC_CARD, card);
	assert_memory_equal(card, none, sizeof(card));
	expect_message(far);
	send_card(far);
	assert_int_equal(local_of(far)->unreached, WF_UNREACHED_FAILED);
	messages_pass(far);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PROVEN_TEST(an_idle_direction_switches),
		BELOW_TEST(the_marker_waits_for_the_connection_below),
		BELOW_TEST(there_is_no_connection_below),
		BELOW_TEST(the_connection_below_takes_too_long),
		PROVEN_TEST(the_endpoint_below_is_full),
		PROVEN_TEST(messages_before_the_answer_go_by_the_connection),
		PROVEN_TEST(a_marker_goes_behind_a_message),
		PROVEN_TEST(no_marker_goes_behind_what_waits),
		PROVEN_TEST(a_busy_direction_waits),
		PROVEN_TEST(a_blocked_direction_waits),
		PROVEN_TEST(the_peer_refuses_for_now),
		PROVEN_TEST(the_answer_comes_before_the_operation),
		PROVEN_TEST(the_socket_rests),
		PROVEN_TEST(small_messages),
		PROVEN_TEST(answers_that_were_not_asked_for),
		PROVEN_TEST(the_connection_ends),
		PROVEN_TEST(a_forked_child_leaves_the_pages_alone),
		PROVEN_TEST(messages_are_left_unread),
		PROVEN_TEST(unread_messages_of_the_closed),
		PROVEN_TEST(the_end_waits_for_that_of_the_memory),
		PROVEN_TEST(memory_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
