/* SPDX-License-Identifier: BSD-2-Clause */
/* Attempts of an FI_EP_RDM endpoint to connect, with all answers. */
#include "attempt_fixture.h"

/* Operations wait for the connection. Its peer may be verifying it until it sends
 * something, or for a second. */
static void connects(void **state)
{
	for (int speaks = 0; speaks < 2; speaks++) {
		struct pair *p = &the_side->pair;
		uint32_t refs = peer()->ip.remote.refs;

		post_word();
		called(TCP_REASON_NONE);
		assert_int_equal(p->ended_count, 0);
		assert_non_null(peer()->attempt);
		assert_int_equal(peer()->ip.remote.refs, refs + 1);
		reply_with(&known, own_port());
		get_word();
		assert_one_ended(p, word, 0);
		assert_null(peer()->attempt);
		assert_int_equal(peer()->ip.remote.refs, refs + 1);
		assert_null(peer()->unverified);
		assert_int_equal(peer()->remote_id, ID);
		assert_int_equal(peer()->remote_instance, INSTANCE);
		assert_int_equal(peer()->conn->instance, INSTANCE);
		assert_int_equal(peer()->conn->wire.have,
			known.features | TCP_HAVE_TAGGED | TCP_HAVE_RDV);
		assert_ptr_equal(peer()->route, peer()->conn);
		assert_true(tcp_peers_owe(p->tcp));
		if (speaks)
			put_word(peer()->conn);
		else
			seconds_pass(2);
		assert_false(tcp_peers_owe(p->tcp));
		assert_true(wf_list_empty(&peers()->unconfirmed));
		side_again(state);
	}
}

/* While a caller has not said what it wants, it may be one that verifies. */
static void a_caller_may_verify(void **state)
{
	struct pair *p = &the_side->pair;
	struct tcp_cm_ext ext = known;
	int first;

	(void)state;
	post_word();
	called(TCP_REASON_NONE);
	reply_with(&known, own_port());
	get_word();
	first = other;
	seconds_pass(2);
	call();
	while (!peers()->callers)
		step();
	assert_true(tcp_peers_owe(p->tcp));
	ext.reason = TCP_REASON_CONNECTED;
	ask_with(&ext, ntohs(the_side->addr.sin_port));
	get_reject(TCP_REASON_CONNECTED, ntohs(the_side->addr.sin_port));
	assert_int_equal(peers()->callers, 0);
	assert_true(wf_list_empty(&peers()->unconfirmed));
	other = first;
}

/* A reject for good fails what waits; after any other answer the peer is asked again,
 * until the limit has passed. */
static void answers(void **state)
{
	static const struct {
		enum tcp_cm_reason reason; /* TCP_REASONS: the reply is not valid */
		bool final;
		int err; /* at the limit */
	} rows[] = {
		{ TCP_REASON_REFUSED, true, FI_ECONNREFUSED },
		{ TCP_REASON_NONE, false, FI_ECONNREFUSED },
		{ TCP_REASON_CROSSED, false, FI_ECONNREFUSED },
		{ TCP_REASON_CONNECTED, false, FI_ECONNREFUSED },
		{ TCP_REASON_PROTOCOL, false, FI_ECONNREFUSED },
		{ TCP_REASON_BUSY, false, FI_ECONNREFUSED },
		{ TCP_REASONS, false, FI_EPROTO },
	};

	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		struct pair *p = &the_side->pair;
		unsigned int limit_s = (unsigned int)p->tcp->conf.connect_ms / 1000;

		post_word();
		for (int again = 0; again < 2; again++) {
			called(TCP_REASON_NONE);
			if (rows[i].reason == TCP_REASONS)
				reply_with(&known, (uint16_t)(own_port() + 1));
			else
				reject_with(rows[i].reason, INSTANCE);
			get_end();
			settle();
			if (rows[i].final)
				break;
			assert_null(peer()->attempt);
			assert_null(peer()->conn);
			assert_int_equal(peer()->ip.remote.err, rows[i].err);
			assert_int_equal(p->ended_count, 0);
			if (!again)
				seconds_pass(RETRY_S);
		}
		if (!rows[i].final) {
			no_longer_listen();
			seconds_pass(limit_s);
			settle();
		}
		assert_one_ended(p, word, rows[i].err);
		side_again(state);
	}
}

/* The end of the socket, and silence. */
static void no_answer(void **state)
{
	struct pair *p = &the_side->pair;

	(void)state;
	post_word();
	called(TCP_REASON_NONE);
	close_other();
	while (peer()->attempt)
		step();
	assert_int_equal(peer()->ip.remote.err, FI_ECONNRESET);
	assert_int_equal(p->ended_count, 0);
	seconds_pass(RETRY_S);
	called(TCP_REASON_NONE);
	assert_int_equal(
		peer()->attempt->base.deadline_ns, peer()->attempt->cm.deadline_ns);
	seconds_pass((unsigned int)p->tcp->conf.connect_ms / 1000);
	settle();
	assert_one_ended(p, word, FI_ETIMEDOUT);
	get_end();
}

/* Without memory for an attempt, it is made later. */
static void no_memory_for_an_attempt(void **state)
{
	struct pair *p = &the_side->pair;
	struct tcp_peer *far = peer();
	int next;

	(void)state;
	next = refuse_next_fd();
	wf_lock(&p->tcp->ep.lock);
	refuse_one("memory", 1, ENOMEM);
	tcp_attempt_start(p->tcp, far);
	assert_true(refuse_end());
	wf_unlock(&p->tcp->ep.lock);
	assert_int_equal(refuse_next_fd(), next);
	assert_null(peer()->attempt);
	assert_int_equal(peer()->ip.remote.err, FI_ENOMEM);
}

/* An operation that waits for the connection is cancelled, another one goes on. */
static void cancelled_while_it_waits(void **state)
{
	struct pair *p = &the_side->pair;
	uint8_t kept[4] = "abcd";

	(void)state;
	post_word();
	assert_int_equal(
		fi_send(p->ep, kept, sizeof(kept), NULL, the_side->far, kept), 0);
	called(TCP_REASON_NONE);
	assert_int_equal(fi_cancel(&p->ep->fid, kept + 1), 0);
	assert_int_equal(fi_cancel(&p->ep->fid, word), 0);
	settle();
	assert_one_ended(p, word, FI_ECANCELED);
	reply_with(&known, own_port());
	get_word();
	settle();
	assert_one_ended(p, kept, 0);
	p->peer = other;
	peer_expect_nothing(p);
	p->peer = -1;
}

/* The address is removed: the connection ends. */
static void the_address_is_removed(void **state)
{
	struct side *s = the_side;

	(void)state;
	post_word();
	called(TCP_REASON_NONE);
	reply_with(&known, own_port());
	get_word();
	remove_address();
	get_end();
	settle();
	assert_true(wf_list_empty(&s->pair.tcp->conns));
	assert_int_equal(s->pair.tcp->conn_count, 0);
}

static void no_memory_for_the_connection(void **state)
{
	(void)state;
	post_word();
	called(TCP_REASON_NONE);
	reply_with(&known, own_port());
	refuse_one("memory", 1, ENOMEM);
	get_end();
	assert_true(refuse_end());
	assert_null(peer()->conn);
	assert_null(peer()->attempt);
	assert_int_equal(peer()->ip.remote.err, FI_ENOMEM);
	assert_int_equal(the_side->pair.ended_count, 0);
	seconds_pass(RETRY_S);
	called(TCP_REASON_NONE);
}

/* No socket listens there: that has a limit of its own. */
static void refused_by_the_host(void **state)
{
	struct pair *p = &the_side->pair;

	(void)state;
	assert_in_range(p->tcp->conf.refused_ms, 1, p->tcp->conf.connect_ms - 1001);
	no_longer_listen();
	post_word();
	settle();
	assert_int_equal(peer()->ip.remote.err, FI_ECONNREFUSED);
	assert_int_not_equal(peer()->ip.remote.refused_ns, 0);
	assert_int_equal(p->ended_count, 0);
	seconds_pass((unsigned int)p->tcp->conf.refused_ms / 1000 + 1);
	settle();
	assert_one_ended(p, word, FI_ECONNREFUSED);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		SIDE_TEST(connects),
		SIDE_TEST(a_caller_may_verify),
		SIDE_TEST(answers),
		SIDE_TEST(no_answer),
		SIDE_TEST(no_memory_for_an_attempt),
		SIDE_TEST(refused_by_the_host),
		SIDE_TEST(cancelled_while_it_waits),
		SIDE_TEST(the_address_is_removed),
		SIDE_TEST(no_memory_for_the_connection),
	};

	/* Endpoints that are closed do not wait for the test, which reads no more. */
	(void)setenv("FI_FLUSH_TIMEOUT", "0", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
