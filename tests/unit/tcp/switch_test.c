/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When operations go by memory instead of the connection: each direction for itself,
 * with a peer that the test plays and an endpoint below that it plays as well.
 */
#include "far_fixture.h"

#include "providers/tcp/local/below.h"
#include "providers/tcp/local/switch.h"

#define OWN_NAME "own below"

/* ---- shared memory ---- */

/* What the endpoint below does, and what it was asked for: the functions of below.h
 * that the switch calls are these (meson.build). */
static struct {
	const char *name; /* NULL: there is none */
	int insert_ret;
	ssize_t start_ret;
	int reach_ret;
	unsigned int inserted, removed, started, asked;
	fi_addr_t user_id;
	struct wf_op op; /* the last one */
	char peer[TCP_PROOF_NAME];
} below;

enum { BELOW_ADDR = 77 };

const char *__wrap_tcp_below_name(const struct tcp_ep *ep);
int __wrap_tcp_below_insert(struct tcp_ep *ep, fi_addr_t user_id, const void *name,
	size_t len, fi_addr_t *ret);
int __wrap_tcp_below_reach(struct tcp_ep *ep, fi_addr_t addr);
void __wrap_tcp_below_remove(struct tcp_ep *ep, fi_addr_t addr, int err);
ssize_t __wrap_tcp_below_start(struct tcp_ep *ep, fi_addr_t addr, struct wf_op *op);

const char *__wrap_tcp_below_name(const struct tcp_ep *ep)
{
	(void)ep;
	return below.name;
}

int __wrap_tcp_below_insert(struct tcp_ep *ep, fi_addr_t user_id, const void *name,
	size_t len, fi_addr_t *ret)
{
	(void)ep;
	if (below.insert_ret)
		return below.insert_ret;
	assert_true(len <= sizeof(below.peer));
	memcpy(below.peer, name, len);
	below.user_id = user_id;
	below.inserted++;
	*ret = BELOW_ADDR;
	return 0;
}

int __wrap_tcp_below_reach(struct tcp_ep *ep, fi_addr_t addr)
{
	(void)ep;
	assert_int_equal(addr, BELOW_ADDR);
	below.asked++;
	return below.reach_ret;
}

void __wrap_tcp_below_remove(struct tcp_ep *ep, fi_addr_t addr, int err)
{
	(void)ep;
	(void)err;
	assert_int_equal(addr, BELOW_ADDR);
	below.removed++;
}

ssize_t __wrap_tcp_below_start(struct tcp_ep *ep, fi_addr_t addr, struct wf_op *op)
{
	(void)ep;
	assert_int_equal(addr, BELOW_ADDR);
	if (below.start_ret)
		return below.start_ret;
	below.started++;
	below.op = *op;
	return 0;
}

/* ---- the endpoint ---- */

/* Nothing is proven yet. */
static int setup_below(void **state)
{
	memset(&below, 0, sizeof(below));
	below.name = OWN_NAME;
	return setup(state);
}

static void prove(struct far *far)
{
	uint64_t number = read_card(far);

	send_card(far);
	tell_number(far, number);
	assert_true(tcp_way_proven(way_of(far)));
}

/* The endpoint and the test have proven to each other that they share memory. */
static int setup_proven(void **state)
{
	(void)setup_below(state);
	prove(*state);
	return 0;
}

static int teardown_proven(void **state)
{
	int ret = teardown(state);

	/* Every peer that was inserted below was removed there. */
	assert_int_equal(below.inserted, below.removed);
	return ret;
}

/* The endpoint has sent a marker since the last one that the test saw, behind @behind
 * bytes. */
static void marker_came(struct far *far, uint64_t behind)
{
	uint64_t at;

	assert_int_equal(tcp_page_marker(far->proof.peer, &at), ++far->markers);
	assert_int_equal(at, behind);
}

/* It comes behind all that was sent. */
static void expect_marker(struct far *far)
{
	peer_expect_nothing(&far->pair);
	marker_came(far, far->pair.got);
}

/* None since then, or none any more. */
static void expect_no_marker(struct far *far)
{
	uint64_t at, marker = tcp_page_marker(far->proof.peer, &at);

	peer_expect_nothing(&far->pair);
	assert_true(marker == far->markers || marker == TCP_PAGE_OVER);
}

/* The test's answer to the last marker. */
static void put_answer(struct far *far, bool yes)
{
	tcp_page_answer(far->proof.own, far->markers, yes);
	pair_progress(&far->pair);
}

static void send_answer(struct far *far, bool yes)
{
	put_answer(far, yes);
	pair_progress(&far->pair);
}

/* A marker of the test, behind @more bytes that it has not sent yet. */
static void put_marker(struct far *far, uint64_t more)
{
	tcp_page_mark(far->proof.own, ++far->own_markers, far->pair.put + more);
	pair_progress(&far->pair);
}

static void acknowledge(struct far *far)
{
	const struct tcp_record rec = { .kind = TCP_REC_ACK };

	peer_record(&far->pair, &rec, NULL);
	pair_progress(&far->pair);
	pair_progress(&far->pair);
}

/* Was the last marker of the test answered, and how? */
static bool answered(const struct far *far, bool *ret_yes)
{
	return tcp_page_answers(far->proof.peer, far->own_markers, ret_yes);
}

static bool said_yes(const struct far *far)
{
	bool yes;

	assert_true(answered(far, &yes));
	return yes;
}

static bool said_nothing(const struct far *far)
{
	bool yes;

	return !answered(far, &yes);
}

/* Progress calls that are enough for the next marker after @tries. */
static void let_pass(struct far *far, unsigned int tries)
{
	/* For one that does not go behind a message, after the first. */
	unsigned int alone = tries ? 64 : 0;

	for (unsigned int i = 0; i <= (1u << tries) + alone; i++)
		pair_progress(&far->pair);
}

static void inject(struct far *far)
{
	assert_int_equal(fi_inject(far->pair.ep, "abcd", 4, far->addr), 0);
}

static void expect_message(struct far *far)
{
	uint8_t in[4];

	(void)peer_expect(&far->pair, TCP_REC_MSG, in);
	assert_memory_equal(in, "abcd", 4);
}

static void a_message_comes(struct far *far)
{
	const struct tcp_record rec = { .kind = TCP_REC_MSG, .payload_len = 4 };
	uint8_t in[4] = { 0 };

	assert_int_equal(
		fi_recv(far->pair.ep, in, sizeof(in), NULL, FI_ADDR_UNSPEC, in), 0);
	peer_record(&far->pair, &rec, "efgh");
	/* So many that a socket that rests is read. */
	let_pass(far, 8);
	assert_memory_equal(in, "efgh", 4);
}

static void switch_out(struct far *far)
{
	expect_marker(far);
	send_answer(far, true);
	assert_int_equal(way_of(far)->out, TCP_OUT_MEMORY);
}

static void an_idle_direction_switches(void **state)
{
	struct far *far = *state;

	assert_int_equal(below.inserted, 1);
	assert_string_equal(below.peer, FAR_NAME);
	assert_int_equal(below.user_id, far->addr);
	switch_out(far);
	inject(far);
	assert_int_equal(below.started, 1);
	assert_int_equal(below.op.addr, far->addr);
	expect_no_marker(far);
	/* The other direction has not switched. */
	assert_false(way_of(far)->in);
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
	assert_int_equal(way_of(far)->out, TCP_OUT_SOCKET);
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
	assert_int_equal(way_of(far)->out, TCP_OUT_WAITS);
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
	assert_int_equal(way_of(far)->out, TCP_OUT_WAITS);
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
	assert_int_equal(way_of(far)->out, TCP_OUT_WAITS);
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

static void the_peers_direction_switches(void **state)
{
	struct far *far = *state;

	expect_marker(far);
	put_marker(far, 0);
	assert_true(said_yes(far));
	assert_true(way_of(far)->in);
	assert_int_equal(below.inserted, 1);
	/* This end's own direction still waits for its answer. */
	assert_int_equal(way_of(far)->out, TCP_OUT_ASKED);
	/* Void ones are repeated, so a second one is answered as well. */
	put_marker(far, 0);
	assert_true(said_yes(far));
	assert_int_equal(far->pair.tcp->near, 1);
}

/* The marker says how much came before it. */
static void a_marker_waits_for_what_was_sent_before(void **state)
{
	const struct tcp_record rec = { .kind = TCP_REC_MSG, .payload_len = 4 };
	struct far *far = *state;
	struct bytes bytes = { 0 };
	uint8_t in[4] = { 0 };

	assert_int_equal(
		fi_recv(far->pair.ep, in, sizeof(in), NULL, FI_ADDR_UNSPEC, in), 0);
	add_record(&bytes, &far->pair, &rec, "efgh");
	put_marker(far, bytes.len);
	for (size_t i = 0; i < bytes.len; i++) {
		let_pass(far, 1);
		assert_true(said_nothing(far));
		peer_send(&far->pair, bytes.at + i, 1);
	}
	pair_progress(&far->pair);
	/* In the call that has read it. */
	assert_memory_equal(in, "efgh", 4);
	assert_true(said_yes(far));
}

static void post_recv(struct far *far, uint8_t in[4])
{
	assert_int_equal(fi_recv(far->pair.ep, in, 4, NULL, FI_ADDR_UNSPEC, in), 0);
}

/* A message that may not be saved holds up what is behind it, and its marker; also one
 * without payload, of which nothing is left to read. */
static void a_marker_waits_for_messages_that_are_held(void **state)
{
	const struct tcp_record empty = { .kind = TCP_REC_MSG };
	const struct tcp_record rec = { .kind = TCP_REC_MSG, .payload_len = 4 };
	struct far *far = *state;
	struct tcp_ep *ep = far->pair.tcp;
	struct bytes bytes = { 0 };
	uint8_t in[2][4] = { 0 };

	pair_set_memory_full(&far->pair, true);
	peer_record(&far->pair, &empty, NULL);
	put_marker(far, 0);
	let_pass(far, 4);
	assert_true(said_nothing(far));
	post_recv(far, in[0]);
	let_pass(far, 1);
	assert_true(said_yes(far));

	add_record(&bytes, &far->pair, &empty, NULL);
	add_record(&bytes, &far->pair, &rec, "efgh");
	peer_send(&far->pair, bytes.at, bytes.len);
	put_marker(far, 0);
	assert_true(said_nothing(far));
	post_recv(far, in[0]);
	post_recv(far, in[1]);
	/* The second one was read with the first, and is not handled yet. */
	wf_ep_srx_lock(&ep->ep);
	wf_lock(&ep->ep.lock);
	tcp_way_look(far->pair.conn);
	wf_unlock(&ep->ep.lock);
	wf_ep_srx_unlock(&ep->ep);
	assert_true(said_nothing(far));
	let_pass(far, 1);
	assert_memory_equal(in[1], "efgh", 4);
	assert_true(said_yes(far));
	pair_set_memory_full(&far->pair, false);
}

/* The answer is there when the next operation is posted, though no progress call came
 * between: that operation goes by memory. */
static void the_answer_comes_before_the_operation(void **state)
{
	struct far *far = *state;

	expect_marker(far);
	tcp_page_answer(far->proof.own, far->markers, true);
	inject(far);
	assert_int_equal(below.started, 1);
	peer_expect_nothing(&far->pair);
}

/* Nothing is looked at any more, and the pages are gone. */
static void both_directions_have_switched(void **state)
{
	struct far *far = *state;
	uint64_t at;

	switch_out(far);
	assert_true(tcp_page_marker(far->proof.peer, &at) == TCP_PAGE_OVER);
	put_marker(far, 0);
	assert_true(said_yes(far));
	assert_non_null(way_of(far)->proof.own);
	tcp_page_mark(far->proof.own, TCP_PAGE_OVER, 0);
	pair_progress(&far->pair);
	assert_null(way_of(far)->proof.own);
	assert_null(way_of(far)->proof.peer);
	assert_true(wf_list_empty(&far->pair.tcp->switching));
	inject(far);
	assert_int_equal(below.started, 1);
}

/* A thread that sleeps is not woken by a marker. The next message wakes it, and the
 * marker is answered before it sleeps again: none is lost. */
static void a_sleeper_answers_when_it_wakes(void **state)
{
	const struct tcp_record rec = { .kind = TCP_REC_MSG, .payload_len = 4 };
	struct far *far = *state;
	struct tcp_ep *ep = far->pair.tcp;
	struct pollfd fd = { .events = POLLIN };
	struct bytes bytes = { 0 };
	uint8_t in[4] = { 0 };

	assert_int_equal(
		fi_recv(far->pair.ep, in, sizeof(in), NULL, FI_ADDR_UNSPEC, in), 0);
	wf_lock(&ep->ep.lock);
	assert_true(tcp_arm(&ep->ep));
	fd.fd = tcp_wait_fd(&ep->ep);
	wf_unlock(&ep->ep.lock);
	add_record(&bytes, &far->pair, &rec, "efgh");
	tcp_page_mark(far->proof.own, ++far->own_markers, far->pair.put + bytes.len);
	assert_int_equal(poll(&fd, 1, 0), 0);
	peer_send(&far->pair, bytes.at, bytes.len);
	assert_int_equal(poll(&fd, 1, -1), 1);
	pair_progress(&far->pair);
	assert_memory_equal(in, "efgh", 4);
	assert_true(said_yes(far));
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
		assert_int_equal(way_of(far)->out, TCP_OUT_ASKED);
	}
	inject(far);
	expect_message(far);
	assert_int_equal(below.started, 0);
}

/* Behind more than was sent: it is not answered. One behind less costs its sender the
 * order of its own messages, and nobody else anything. */
static void markers_at_any_position(void **state)
{
	static const uint64_t far_on[] = { 1, UINT64_MAX / 2, UINT64_MAX - 1000 };
	struct far *far = *state;

	for (size_t i = 0; i < sizeof(far_on) / sizeof(far_on[0]); i++) {
		put_marker(far, far_on[i]);
		let_pass(far, 2);
		assert_true(said_nothing(far));
	}
	tcp_page_mark(far->proof.own, ++far->own_markers, 0);
	pair_progress(&far->pair);
	assert_true(said_yes(far));
	messages_pass(far);
}

/* What a page says may be anything. Messages go on, in one way or the other. */
static void pages_of_any_content(void **state)
{
	struct far *far = *state;
	struct tcp_page *page = far->proof.own;
	uint64_t value = 0x9e3779b97f4a7c15;

	for (int i = 0; i < 3000; i++) {
		value ^= value << 13;
		value ^= value >> 7;
		value ^= value << 17;
		atomic_store(&page->proof, value);
		atomic_store(&page->marker, i % 3 ? value >> (value & 63) : UINT64_MAX);
		atomic_store(&page->at, i % 5 ? value >> (value & 63) : 0);
		/* Not the answer that lets operations go by memory. */
		atomic_store(&page->answer, (value >> 32) & ~UINT64_C(1));
		memset(&page->head, (int)value, sizeof(page->head));
		pair_progress(&far->pair);
		assert_int_equal(far->pair.conn->err, 0);
	}
	assert_true(tcp_way_proven(way_of(far)));
	assert_true(below.started == 0 && below.inserted == 1);
	inject(far);
	pair_progress(&far->pair);
	expect_message(far);
	a_message_comes(far);
}

/* The peer was refused, or has not told its number: its marker is not looked at. */
static void a_marker_without_proof(void **state)
{
	struct far *far = *state;

	(void)read_card(far);
	send_card(far);
	put_marker(far, 0);
	let_pass(far, 2);
	assert_true(said_nothing(far));
	assert_int_equal(below.inserted, 0);
	messages_pass(far);
}

static void a_marker_after_a_refusal(void **state)
{
	struct far *far = *state;

	(void)read_card(far);
	send_card(far);
	tell_number(far, TCP_PAGE_REFUSED);
	put_marker(far, 0);
	let_pass(far, 2);
	assert_true(said_nothing(far));
	assert_int_equal(below.inserted, 0);
	messages_pass(far);
}

static void a_marker_where_nothing_is_below(void **state)
{
	struct far *far = *state;
	uint64_t number = read_card(far);

	below.name = NULL;
	send_card(far);
	tell_number(far, number);
	assert_true(tcp_way_proven(way_of(far)));
	put_marker(far, 0);
	let_pass(far, 2);
	assert_true(said_nothing(far));
	expect_no_marker(far);
	messages_pass(far);
}

/* The endpoint below does not take the peer: the connection goes on without. */
static void the_peer_cannot_be_known_below(void **state)
{
	struct far *far = *state;
	uint64_t number = read_card(far);

	below.insert_ret = -FI_ENOMEM;
	send_card(far);
	tell_number(far, number);
	let_pass(far, 8);
	expect_no_marker(far);
	put_marker(far, 0);
	assert_false(said_yes(far));
	messages_pass(far);
}

/* A peer that is not in the AV has no source below: its messages come as before, and go
 * by memory when it is in the AV. */
static void a_peer_outside_of_the_av(void **state)
{
	struct far *far = *state;
	union wf_sockaddr addr = far->pair.conn->peer->ip.addr;
	uint64_t number = read_card(far);

	assert_int_equal(fi_av_remove(far->av, &far->addr, 1, 0), 0);
	send_card(far);
	tell_number(far, number);
	let_pass(far, 6);
	assert_false(has_failed(far));
	put_marker(far, 0);
	assert_false(said_yes(far));
	a_message_comes(far);
	assert_int_equal(below.inserted, 0);
	know(far, &addr);
	put_marker(far, 0);
	assert_true(said_yes(far));
	assert_int_equal(below.user_id, far->addr);
}

/* The connection stays, and operations go below when the address is there again. */
static void the_peer_leaves_the_av(void **state)
{
	struct far *far = *state;
	union wf_sockaddr addr;
	size_t len = sizeof(addr);

	switch_out(far);
	assert_int_equal(fi_av_lookup(far->av, far->addr, &addr, &len), 0);
	assert_int_equal(fi_av_remove(far->av, &far->addr, 1, 0), 0);
	let_pass(far, 6);
	assert_false(has_failed(far));
	assert_int_equal(fi_av_insert(far->av, "\2\0\0\1\177\0\0\1\0\0\0\0\0\0\0\0", 1,
				 NULL, 0, NULL),
		1);
	assert_int_equal(fi_av_insert(far->av, &addr, 1, &far->addr, 0, NULL), 1);
	inject(far);
	assert_int_equal(below.started, 1);
	assert_int_equal(below.removed, 0);
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

/* Memory fails: the connection ends, and this instance is refused from then on. */
static void memory_fails(void **state)
{
	const struct tcp_wire_peer wire = { .have = TCP_HAVE_OFFER | TCP_HAVE_TAGGED,
		.contexts = 1 };
	static const uint8_t none[TCP_WIRE_CARD];
	uint8_t card[TCP_WIRE_CARD];
	struct far *far = *state;
	struct pair *p = &far->pair;
	struct tcp_peer *peer = p->conn->peer;
	int fds[2];

	switch_out(far);
	/* Nothing is reached below any more: the operation waits for the next
	 * connection. */
	below.start_ret = -FI_ENOTCONN;
	inject(far);
	assert_int_equal(below.started, 0);
	assert_true(has_failed(far));
	close(p->peer);
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds),
		0);
	p->peer = fds[1];
	p->number = 0;
	wf_lock(&p->tcp->ep.lock);
	assert_int_equal(
		tcp_peer_connected(p->tcp, peer, fds[0], INSTANCE, &wire, TCP_PROVEN),
		0);
	p->conn = peer->conn;
	wf_unlock(&p->tcp->ep.lock);
	pair_progress(p);
	(void)peer_expect(p, TCP_REC_CARD, card);
	assert_memory_equal(card, none, sizeof(card));
	expect_message(far);
	send_card(far);
	assert_int_equal(way_of(far)->apart, TCP_APART_FAILED);
	messages_pass(far);
}

#define BELOW_TEST(name)                                                               \
	cmocka_unit_test_setup_teardown(name, setup_below, teardown_proven)
#define PROVEN_TEST(name)                                                              \
	cmocka_unit_test_setup_teardown(name, setup_proven, teardown_proven)

int main(void)
{
	const struct CMUnitTest tests[] = {
		PROVEN_TEST(an_idle_direction_switches),
		BELOW_TEST(the_marker_waits_for_the_connection_below),
		BELOW_TEST(there_is_no_connection_below),
		PROVEN_TEST(the_endpoint_below_is_full),
		PROVEN_TEST(messages_before_the_answer_go_by_the_connection),
		PROVEN_TEST(a_marker_goes_behind_a_message),
		PROVEN_TEST(no_marker_goes_behind_what_waits),
		PROVEN_TEST(a_busy_direction_waits),
		PROVEN_TEST(a_blocked_direction_waits),
		PROVEN_TEST(the_peer_refuses_for_now),
		PROVEN_TEST(the_peers_direction_switches),
		PROVEN_TEST(a_marker_waits_for_what_was_sent_before),
		PROVEN_TEST(a_marker_waits_for_messages_that_are_held),
		PROVEN_TEST(the_answer_comes_before_the_operation),
		PROVEN_TEST(both_directions_have_switched),
		PROVEN_TEST(a_sleeper_answers_when_it_wakes),
		PROVEN_TEST(the_socket_rests),
		PROVEN_TEST(answers_that_were_not_asked_for),
		PROVEN_TEST(markers_at_any_position),
		PROVEN_TEST(pages_of_any_content),
		BELOW_TEST(a_marker_without_proof),
		BELOW_TEST(a_marker_after_a_refusal),
		BELOW_TEST(a_marker_where_nothing_is_below),
		BELOW_TEST(the_peer_cannot_be_known_below),
		PROVEN_TEST(the_peer_leaves_the_av),
		BELOW_TEST(a_peer_outside_of_the_av),
		PROVEN_TEST(the_connection_ends),
		PROVEN_TEST(memory_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
