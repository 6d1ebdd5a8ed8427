/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * When operations go by memory instead of the connection: each direction for itself,
 * with a peer that the test plays and an endpoint below that it plays as well.
 */
#include "far_fixture.h"

#include "providers/tcp/local/switch.h"

#define OWN_NAME "own below"

/* ---- shared memory ---- */

/* What the endpoint below does, and what it was asked for. */
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

static const char *below_name(const struct tcp_ep *ep)
{
	(void)ep;
	return below.name;
}

static int below_insert(struct tcp_ep *ep, fi_addr_t user_id, const void *name,
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

static int below_reach(struct tcp_ep *ep, fi_addr_t addr)
{
	(void)ep;
	assert_int_equal(addr, BELOW_ADDR);
	below.asked++;
	return below.reach_ret;
}

static void below_remove(struct tcp_ep *ep, fi_addr_t addr, int err)
{
	(void)ep;
	(void)err;
	assert_int_equal(addr, BELOW_ADDR);
	below.removed++;
}

static ssize_t below_start(struct tcp_ep *ep, fi_addr_t addr, struct wf_op *op)
{
	(void)ep;
	assert_int_equal(addr, BELOW_ADDR);
	if (below.start_ret)
		return below.start_ret;
	below.started++;
	below.op = *op;
	return 0;
}

static const struct tcp_below_ops below_ops = {
	.name = below_name,
	.insert = below_insert,
	.reach = below_reach,
	.remove = below_remove,
	.start = below_start,
};

/* ---- the endpoint ---- */

/* Nothing is proven yet. */
static int setup_below(void **state)
{
	memset(&below, 0, sizeof(below));
	below.name = OWN_NAME;
	(void)setup(state);
	((struct far *)*state)->pair.tcp->below_ops = &below_ops;
	return 0;
}

static void prove(struct far *far)
{
	uint64_t number = read_card(far);

	send_card(far);
	(void)peer_expect(&far->pair, TCP_REC_PROOF, NULL);
	send_number(far, number);
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

static void put_bare(struct far *far, enum tcp_rec_kind kind, uint64_t id)
{
	const struct tcp_record rec = { .kind = (uint8_t)kind, .id = id };

	peer_record(&far->pair, &rec, NULL);
	pair_progress(&far->pair);
}

static void send_bare(struct far *far, enum tcp_rec_kind kind, uint64_t id)
{
	put_bare(far, kind, id);
	pair_progress(&far->pair);
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
	let_pass(far, 5);
	assert_memory_equal(in, "efgh", 4);
}

static void switch_out(struct far *far)
{
	(void)peer_expect(&far->pair, TCP_REC_MARKER, NULL);
	send_bare(far, TCP_REC_MARKER_RESP, 1);
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
	peer_expect_nothing(&far->pair);
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
	peer_expect_nothing(&far->pair);
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
	peer_expect_nothing(&far->pair);
	assert_int_equal(below.asked, 1);
	assert_int_equal(way_of(far)->out, TCP_OUT_SOCKET);
}

static void the_endpoint_below_is_full(void **state)
{
	struct far *far = *state;

	switch_out(far);
	below.start_ret = -FI_EAGAIN;
	assert_int_equal(fi_inject(far->pair.ep, "abcd", 4, far->addr), -FI_EAGAIN);
	peer_expect_nothing(&far->pair);
}

static void messages_before_the_answer_go_by_the_connection(void **state)
{
	struct far *far = *state;

	(void)peer_expect(&far->pair, TCP_REC_MARKER, NULL);
	inject(far);
	pair_progress(&far->pair);
	expect_message(far);
	/* The answer does not speak of that message. */
	send_bare(far, TCP_REC_MARKER_RESP, 1);
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
	(void)peer_expect(&far->pair, TCP_REC_MARKER, NULL);
	inject(far);
	pair_progress(&far->pair);
	expect_message(far);
	send_bare(far, TCP_REC_MARKER_RESP, 1);
	pair_progress(&far->pair);
	pair_progress(&far->pair);
	peer_expect_nothing(&far->pair);
}

static void a_marker_goes_behind_a_message(void **state)
{
	struct far *far = *state;

	make_due(far);
	inject(far);
	expect_message(far);
	switch_out(far);
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
	peer_expect_nothing(&far->pair);
	inject(far);
	expect_message(far);
	let_pass(far, 8);
	peer_expect_nothing(&far->pair);
	send_bare(far, TCP_REC_ACK, 0);
	switch_out(far);
}

/* The marker waits for the acknowledgement of a message. */
static void a_busy_direction_waits(void **state)
{
	struct far *far = *state;
	struct fi_msg msg = { .addr = far->addr };

	(void)peer_expect(&far->pair, TCP_REC_MARKER, NULL);
	assert_int_equal(
		fi_sendmsg(far->pair.ep, &msg, FI_COMPLETION | FI_DELIVERY_COMPLETE),
		0);
	send_bare(far, TCP_REC_MARKER_RESP, 1);
	(void)peer_expect(&far->pair, TCP_REC_MSG, NULL);
	let_pass(far, 8);
	peer_expect_nothing(&far->pair);
	assert_int_equal(way_of(far)->out, TCP_OUT_WAITS);
	send_bare(far, TCP_REC_ACK, 0);
	let_pass(far, 1);
	assert_int_equal(far->pair.ended_count, 1);
	switch_out(far);
}

/* Bytes that the kernel has not taken are under way. */
static void a_blocked_direction_waits(void **state)
{
	struct far *far = *state;

	(void)peer_expect(&far->pair, TCP_REC_MARKER, NULL);
	kernel.takes = 0;
	inject(far);
	send_bare(far, TCP_REC_MARKER_RESP, 1);
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
		(void)peer_expect(&far->pair, TCP_REC_MARKER, NULL);
		put_bare(far, TCP_REC_MARKER_RESP, 0);
		inject(far);
		pair_progress(&far->pair);
		expect_message(far);
		peer_expect_nothing(&far->pair);
		let_pass(far, tries);
	}
	switch_out(far);
}

static void the_peers_direction_switches(void **state)
{
	struct far *far = *state;

	(void)peer_expect(&far->pair, TCP_REC_MARKER, NULL);
	send_bare(far, TCP_REC_MARKER, 0);
	assert_int_equal(peer_expect(&far->pair, TCP_REC_MARKER_RESP, NULL).id, 1);
	assert_true(way_of(far)->in);
	assert_int_equal(below.inserted, 1);
	/* This end's own direction still waits for its answer. */
	assert_int_equal(way_of(far)->out, TCP_OUT_ASKED);
	/* Void ones are repeated, so a second one is answered as well. */
	send_bare(far, TCP_REC_MARKER, 0);
	assert_int_equal(peer_expect(&far->pair, TCP_REC_MARKER_RESP, NULL).id, 1);
	assert_int_equal(far->pair.tcp->near, 1);
}

/* A call later the peer may have posted its next message, and its marker is void. */
static void a_marker_is_answered_in_the_same_call(void **state)
{
	struct far *far = *state;

	(void)peer_expect(&far->pair, TCP_REC_MARKER, NULL);
	for (int i = 0; i < 3; i++) {
		put_bare(far, TCP_REC_MARKER, 0);
		assert_int_equal(
			peer_expect(&far->pair, TCP_REC_MARKER_RESP, NULL).id, 1);
		peer_expect_nothing(&far->pair);
	}
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

static void an_answer_that_was_not_asked_for(void **state)
{
	struct far *far = *state;

	switch_out(far);
	send_bare(far, TCP_REC_MARKER_RESP, 1);
	assert_true(has_failed(far));
	assert_int_equal(below.removed, 1);
	assert_int_equal(far->pair.tcp->near, 0);
}

static void an_answer_that_says_neither(void **state)
{
	struct far *far = *state;

	send_bare(far, TCP_REC_MARKER_RESP, 2);
	assert_true(has_failed(far));
}

/* The peer was refused, or has not sent its number: its marker is one too early. */
static void a_marker_without_proof(void **state)
{
	struct far *far = *state;

	(void)read_card(far);
	send_bare(far, TCP_REC_MARKER, 0);
	assert_true(has_failed(far));
}

static void a_marker_after_a_refusal(void **state)
{
	struct far *far = *state;

	(void)read_card(far);
	send_card(far);
	send_number(far, 0);
	send_bare(far, TCP_REC_MARKER, 0);
	assert_true(has_failed(far));
}

static void a_marker_where_nothing_is_below(void **state)
{
	struct far *far = *state;
	uint64_t number = read_card(far);

	below.name = NULL;
	send_card(far);
	send_number(far, number);
	assert_true(tcp_way_proven(way_of(far)));
	(void)peer_expect(&far->pair, TCP_REC_PROOF, NULL);
	peer_expect_nothing(&far->pair);
	send_bare(far, TCP_REC_MARKER, 0);
	assert_true(has_failed(far));
}

/* The endpoint below does not take the peer: the connection goes on without. */
static void the_peer_cannot_be_known_below(void **state)
{
	struct far *far = *state;
	uint64_t number = read_card(far);

	below.insert_ret = -FI_ENOMEM;
	send_card(far);
	(void)peer_expect(&far->pair, TCP_REC_PROOF, NULL);
	send_number(far, number);
	let_pass(far, 8);
	peer_expect_nothing(&far->pair);
	send_bare(far, TCP_REC_MARKER, 0);
	assert_int_equal(peer_expect(&far->pair, TCP_REC_MARKER_RESP, NULL).id, 0);
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
	(void)peer_expect(&far->pair, TCP_REC_PROOF, NULL);
	send_number(far, number);
	let_pass(far, 6);
	assert_false(has_failed(far));
	send_bare(far, TCP_REC_MARKER, 0);
	assert_int_equal(peer_expect(&far->pair, TCP_REC_MARKER_RESP, NULL).id, 0);
	a_message_comes(far);
	assert_int_equal(below.inserted, 0);
	know(far, &addr);
	send_bare(far, TCP_REC_MARKER, 0);
	assert_int_equal(peer_expect(&far->pair, TCP_REC_MARKER_RESP, NULL).id, 1);
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
	assert_int_equal(peer_expect(p, TCP_REC_PROOF, NULL).id, 0);
	send_number(far, 0);
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
		PROVEN_TEST(a_marker_is_answered_in_the_same_call),
		PROVEN_TEST(the_socket_rests),
		PROVEN_TEST(an_answer_that_was_not_asked_for),
		PROVEN_TEST(an_answer_that_says_neither),
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
