/* SPDX-License-Identifier: BSD-2-Clause */
/* Requests of a peer at an FI_EP_RDM endpoint: how an accepted one is verified, and which
 * are refused. */
#include "attempt_fixture.h"

#include "../../log_lines.h"
#include "sys/fds.h"

/* The test's request is accepted, and not verified yet. */
static int accepted(const struct tcp_cm_ext *ext)
{
	uint32_t refs = peer()->ip.remote.refs;
	int ret;

	call();
	ask_with(ext, ntohs(the_side->addr.sin_port));
	get_reply(ext != NULL);
	assert_non_null(peer()->unverified);
	assert_null(peer()->conn);
	assert_int_equal(peer()->remote_id, ID);
	assert_int_equal(peer()->remote_instance, ext ? INSTANCE : 0);
	assert_int_equal(peers()->callers, 0);
	assert_in_range(peer()->ip.remote.refs, refs + 1, refs + 2);
	ret = other;
	other = -1;
	return ret;
}

/* What the listener answers to the endpoint, which asks it whether the connection is its
 * own. */
static void verified(void **state)
{
	static const struct {
		bool extended;
		enum tcp_cm_reason reason; /* TCP_REASONS: it accepts */
		uint64_t instance;
		bool used, refused;
	} rows[] = {
		{ true, TCP_REASON_CONNECTED, INSTANCE, true, false },
		{ true, TCP_REASON_CROSSED, INSTANCE, false, false },
		{ true, TCP_REASON_BUSY, INSTANCE, false, false },
		{ true, TCP_REASON_CONNECTED, INSTANCE + 1, false, true },
		{ true, TCP_REASON_CONNECTED, 0, false, true },
		{ true, TCP_REASONS, INSTANCE, false, true },
		{ false, TCP_REASON_NONE, 0, true, false },
		{ false, TCP_REASON_CONNECTED, INSTANCE, false, true },
	};

	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		int first = accepted(rows[i].extended ? &known : NULL);
		struct tcp_conn *conn = peer()->unverified;

		called(TCP_REASON_CONNECTED);
		assert_true(peer()->attempt->verifies);
		if (rows[i].reason == TCP_REASONS)
			reply_with(&known, own_port());
		else
			reject_with(rows[i].reason, rows[i].instance);
		if (rows[i].reason != TCP_REASONS) {
			get_end();
			settle();
		} else {
			while (!peer()->conn)
				step();
			close_other();
		}
		other = first;
		if (rows[i].used) {
			assert_ptr_equal(peer()->conn, conn);
			assert_null(peer()->unverified);
			put_word(conn);
			post_word();
			get_word();
		} else if (rows[i].refused) {
			get_end();
			assert_null(peer()->unverified);
		} else {
			assert_ptr_equal(peer()->unverified, conn);
			assert_null(peer()->conn);
			close_other();
			/* It is asked again. */
			seconds_pass(RETRY_S);
			called(TCP_REASON_CONNECTED);
		}
		side_again(state);
	}
}

/* The address is removed before the connection is verified. */
static void the_address_is_removed(void **state)
{
	struct side *s = the_side;
	int first = accepted(&known);

	(void)state;
	called(TCP_REASON_CONNECTED);
	/* It is found by the index in the AV. */
	post_word();
	remove_address();
	close_other();
	other = first;
	get_end();
	settle();
	assert_true(wf_list_empty(&s->pair.tcp->conns));
}

/* No socket listens at the address: only the caller can be meant. */
static void nobody_else_listens(void **state)
{
	struct tcp_conn *conn;

	(void)state;
	no_longer_listen();
	call();
	ask_with(&known, ntohs(the_side->addr.sin_port));
	get_reply(true);
	while (!peer()->conn)
		step();
	conn = peer()->conn;
	put_word(conn);
	post_word();
	get_word();
}

/* A request beside a connection that stands may be from a peer that lost it: the peer is
 * asked whether it has it still, once. */
static void beside_a_connection_that_is_probed(void **state)
{
	struct tcp_cm_ext probed = known;
	uint16_t port = ntohs(the_side->addr.sin_port);
	struct pair *p = &the_side->pair;
	int first;

	(void)state;
	probed.features |= TCP_HAVE_PROBE;
	no_longer_listen();
	call();
	ask_with(&probed, port);
	get_reply(true);
	while (!peer()->conn)
		step();
	first = other;
	for (int i = 0; i < 2; i++) {
		call();
		ask_with(&probed, port);
		get_reject(TCP_REASON_CONNECTED, port);
	}
	wait_for(first, POLLIN);
	other = p->peer = first;
	p->conn = peer()->conn;
	assert_int_equal(peer_expect(p, TCP_REC_PROBE, NULL).id, 1);
	peer_expect_nothing(p);
	assert_true(p->conn->probing);
	peer_record(
		p, &(struct tcp_record){ .kind = TCP_REC_PROBE_RESP, .id = 1 }, NULL);
	while (p->conn->probing)
		step();
	assert_int_equal(p->conn->err, 0);
	p->peer = -1;
}

/* A request beside the connection that stands is refused, and told if it is from another
 * process. One that is dead makes room. */
static void beside_a_connection(void **state)
{
	struct tcp_cm_ext stranger = known;
	int first, connected;

	(void)state;
	stranger.instance++;
	for (connected = 0; connected < 2; connected++) {
		uint16_t port = ntohs(the_side->addr.sin_port);

		if (connected)
			no_longer_listen();
		call();
		ask_with(&known, port);
		get_reply(true);
		while (connected && !peer()->conn)
			step();
		first = other;
		call();
		log_lines_start();
		ask_with(&known, port);
		get_reject(TCP_REASON_CONNECTED, port);
		assert_false(log_lines_have("another process"));
		call();
		ask_with(&stranger, port);
		get_reject(TCP_REASON_CONNECTED, port);
		if (!connected)
			assert_true(log_lines_have("another process"));
		assert_int_equal(peer()->remote_instance, INSTANCE);
		other = first;
		close_other();
		if (connected) {
			call();
			ask_with(&stranger, port);
			get_reply(true);
			assert_int_equal(peer()->remote_instance, INSTANCE + 1);
		}
		side_again(state);
	}
}

/* Who is no endpoint of this kind, or says that it is this endpoint. */
static void strangers(void **state)
{
	static const uint8_t rxm[24] = { 1, 2, 4, 3 };
	struct tcp_cm_msg msg;

	(void)state;
	call();
	put_message(TCP_CM_REQUEST, &known, rxm, sizeof(rxm));
	msg = get_message(TCP_CM_REJECT, NULL, 0);
	assert_int_equal(msg.ext.reason, TCP_REASON_PROTOCOL);
	get_end();
	call();
	put("\x02", 1);
	get_end();
	the_side->addr.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	call();
	ask_with(&known, own_port());
	get_reject(TCP_REASON_REFUSED, own_port());
	assert_int_equal(peers()->callers, 0);
}

/* Two requests under way at once: that of the higher address becomes the connection. If
 * the peer says that it has accepted the other one, that does. */
static void crossed(void **state)
{
	static const struct {
		bool below;
		enum tcp_cm_reason said;
		bool own_is_used;
	} rows[] = {
		{ false, TCP_REASON_NONE, false },
		{ true, TCP_REASON_NONE, true },
		{ false, TCP_REASON_CONNECTED, true },
	};

	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		struct tcp_cm_ext ext = known;
		uint16_t port;
		int own;

		if (rows[i].below)
			go_below();
		ext.reason = (uint8_t)rows[i].said;
		port = ntohs(the_side->addr.sin_port);
		post_word();
		called(TCP_REASON_NONE);
		own = other;
		call();
		ask_with(&ext, port);
		if (rows[i].own_is_used) {
			get_reject(TCP_REASON_CROSSED, port);
			other = own;
			reply_with(&known, own_port());
			get_word();
		} else {
			int theirs;

			get_reply(true);
			assert_non_null(peer()->unverified);
			theirs = other;
			other = own;
			/* The answer to its own request verifies the connection. */
			reject_with(TCP_REASON_CONNECTED, INSTANCE);
			get_end();
			other = theirs;
			get_word();
		}
		side_again(state);
	}
}

/* The listener rejects because it asks itself: it is asked at once, not after a while. */
static void crossed_while_unverified(void **state)
{
	for (int crosses = 0; crosses < 2; crosses++) {
		struct pollfd pfd = { .events = POLLIN };
		int first, theirs;

		post_word();
		called(TCP_REASON_NONE);
		first = other;
		call();
		ask_with(&known, ntohs(the_side->addr.sin_port));
		get_reply(true);
		theirs = other;
		other = first;
		assert_false(peer()->attempt->verifies);
		assert_non_null(peer()->unverified);
		reject_with(crosses ? TCP_REASON_CROSSED : TCP_REASON_BUSY, INSTANCE);
		get_end();
		settle();
		pfd.fd = the_side->listener;
		assert_int_equal(poll(&pfd, 1, 0), crosses);
		if (!crosses)
			seconds_pass(RETRY_S);
		called(TCP_REASON_CONNECTED);
		assert_true(peer()->attempt->verifies);
		close(theirs);
		side_again(state);
	}
}

/* The reply to the endpoint's own request is in the socket when the peer, which verifies
 * that request, asks: it is read first. */
static void replied_before_the_request(void **state)
{
	uint16_t port = ntohs(the_side->addr.sin_port);
	int own, theirs;

	(void)state;
	post_word();
	called(TCP_REASON_NONE);
	own = other;
	call();
	ask_with(&known, port);
	theirs = other;
	other = own;
	reply_with(&known, own_port());
	other = theirs;
	get_reject(TCP_REASON_CONNECTED, port);
	other = own;
	get_word();
}

/* The reply leaves when the kernel takes it. */
static void replies_late(void **state)
{
	(void)state;
	call();
	kernel.takes = 0;
	ask_with(&known, ntohs(the_side->addr.sin_port));
	settle();
	assert_int_equal(peers()->callers, 1);
	assert_null(peer()->unverified);
	kernel.takes = SIZE_MAX;
	get_reply(true);
	assert_non_null(peer()->unverified);
	assert_int_equal(peers()->callers, 0);
}

/* No descriptor is left to ask the listener at the caller's address: the endpoint's own
 * listener lends its spare one. */
static void the_spare_descriptor(void **state)
{
	int first;

	(void)state;
	/* From now on the limit is what it is. */
	(void)wf_fds_more();
	call();
	refuse_one("socket", 1, EMFILE);
	ask_with(&known, ntohs(the_side->addr.sin_port));
	get_reply(true);
	first = other;
	called(TCP_REASON_CONNECTED);
	assert_true(refuse_end());
	reject_with(TCP_REASON_CONNECTED, INSTANCE);
	get_end();
	while (!peer()->conn)
		step();
	assert_true(peers()->listener.reserve >= 0);
	other = first;
	put_word(peer()->conn);
}

/* Callers that say nothing: within their limit, and where a descriptor is needed. */
static void silent_callers(void **state)
{
	struct tcp_listener *listener = &peers()->listener;
	uint16_t port = ntohs(the_side->addr.sin_port);

	(void)state;
	assert_false(tcp_attempt_free_descriptor(listener));
	call();
	while (peers()->callers != 1)
		step();
	assert_false(tcp_attempt_free_descriptor(listener));
	seconds_pass(2);
	settle();
	assert_int_equal(peers()->callers, 1);
	assert_true(tcp_attempt_free_descriptor(listener));
	assert_int_equal(peers()->callers, 0);
	get_end();
	call();
	while (peers()->callers != 1)
		step();
	seconds_pass(2);
	/* As there were too many of them. */
	wf_lock(&the_side->pair.tcp->ep.lock);
	tcp_attempts_drop_silent(the_side->pair.tcp, wf_now_ns());
	wf_unlock(&the_side->pair.tcp->ep.lock);
	assert_int_equal(peers()->callers, 0);
	get_end();
	call();
	while (peers()->callers != 1)
		step();
	seconds_pass((unsigned int)the_side->pair.tcp->conf.connect_ms / 1000 + 1);
	settle();
	assert_int_equal(peers()->callers, 0);
	get_end();
	/* Bytes that it has sent do not count. */
	call();
	ask_with(&known, port);
	get_reply(true);
}

/* Without memory for the attempt or the connection, the caller is dropped. */
static void no_memory_for_a_caller(void **state)
{
	(void)state;
	for (unsigned int nth = 1; nth <= 2; nth++) {
		int next = refuse_next_fd();

		call();
		ask_with(&known, ntohs(the_side->addr.sin_port));
		refuse_one("memory", nth, ENOMEM);
		settle();
		assert_true(refuse_end());
		if (nth > 1) {
			uint8_t data[TCP_RDM_DATA];

			assert_int_equal(get_message(TCP_CM_REJECT, data, sizeof(data))
						 .ext.reason,
				TCP_REASON_BUSY);
		}
		get_end();
		assert_int_equal(peers()->callers, 0);
		assert_int_equal(refuse_next_fd(), next);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SIDE_TEST(verified),
		SIDE_TEST(the_address_is_removed),
		SIDE_TEST(nobody_else_listens),
		SIDE_TEST(beside_a_connection),
		SIDE_TEST(beside_a_connection_that_is_probed),
		SIDE_TEST(strangers),
		SIDE_TEST(crossed),
		SIDE_TEST(crossed_while_unverified),
		SIDE_TEST(replied_before_the_request),
		SIDE_TEST(replies_late),
		SIDE_TEST(the_spare_descriptor),
		SIDE_TEST(silent_callers),
		SIDE_TEST(no_memory_for_a_caller),
	};

	/* Endpoints that are closed do not wait for the test, which reads no more. */
	(void)setenv("FI_FLUSH_TIMEOUT", "0", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
