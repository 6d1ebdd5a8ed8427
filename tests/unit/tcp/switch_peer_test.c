/* SPDX-License-Identifier: BSD-2-Clause */
/* When operations of the peer come by memory, and what its page may hold. */
#include "switch_fixture.h"

static void the_peers_direction_switches(void **state)
{
	struct far *far = *state;

	expect_marker(far);
	put_marker(far, 0);
	assert_true(said_yes(far));
	assert_true(local_of(far)->in);
	assert_int_equal(below.inserted, 1);
	/* This end's own direction still waits for its answer. */
	assert_int_equal(local_of(far)->out, TCP_OUT_ASKED);
	/* Void ones are repeated, so a second one is answered as well. */
	put_marker(far, 0);
	assert_true(said_yes(far));
	assert_int_equal(far->pair.tcp->memory_conns, 1);
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
	tcp_local_poll(far->pair.conn);
	wf_unlock(&ep->ep.lock);
	wf_ep_srx_unlock(&ep->ep);
	assert_true(said_nothing(far));
	let_pass(far, 1);
	assert_memory_equal(in[1], "efgh", 4);
	assert_true(said_yes(far));
	pair_set_memory_full(&far->pair, false);
}

/* Nothing is looked at any more, and the pages are gone. */
static void both_directions_have_switched(void **state)
{
	struct far *far = *state;
	uint64_t at;

	switch_out(far);
	assert_true(wf_page_marker(far->proof.peer, &at) == WF_PAGE_OVER);
	put_marker(far, 0);
	assert_true(said_yes(far));
	assert_non_null(local_of(far)->proof.own);
	wf_page_mark(far->proof.own, WF_PAGE_OVER, 0);
	pair_progress(&far->pair);
	assert_null(local_of(far)->proof.own);
	assert_null(local_of(far)->proof.peer);
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
	wf_page_mark(far->proof.own, ++far->own_markers, far->pair.put + bytes.len);
	assert_int_equal(poll(&fd, 1, 0), 0);
	peer_send(&far->pair, bytes.at, bytes.len);
	assert_int_equal(poll(&fd, 1, -1), 1);
	pair_progress(&far->pair);
	assert_memory_equal(in, "efgh", 4);
	assert_true(said_yes(far));
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
	wf_page_mark(far->proof.own, ++far->own_markers, 0);
	pair_progress(&far->pair);
	assert_true(said_yes(far));
	messages_pass(far);
}

/* What a page says may be anything. Messages go on, over one transport or the other. */
static void pages_of_any_content(void **state)
{
	struct far *far = *state;
	struct wf_page *page = far->proof.own;
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
	assert_true(tcp_local_proven(local_of(far)));
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
	tell_number(far, WF_PAGE_REFUSED);
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
	assert_true(tcp_local_proven(local_of(far)));
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
	assert_true(is_far(far));
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		PROVEN_TEST(the_peers_direction_switches),
		PROVEN_TEST(a_marker_waits_for_what_was_sent_before),
		PROVEN_TEST(a_marker_waits_for_messages_that_are_held),
		PROVEN_TEST(both_directions_have_switched),
		PROVEN_TEST(a_sleeper_answers_when_it_wakes),
		PROVEN_TEST(markers_at_any_position),
		PROVEN_TEST(pages_of_any_content),
		BELOW_TEST(a_marker_without_proof),
		BELOW_TEST(a_marker_after_a_refusal),
		BELOW_TEST(a_marker_where_nothing_is_below),
		BELOW_TEST(the_peer_cannot_be_known_below),
		PROVEN_TEST(the_peer_leaves_the_av),
		BELOW_TEST(a_peer_outside_of_the_av),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
