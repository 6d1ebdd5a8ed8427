/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Connections between FI_EP_RDM endpoints: the attempts of the endpoint and those of its
 * peer, which the test is, with all answers, and how an accepted one is verified.
 */
#include "exchange_fixture.h"

#include "../../log_lines.h"
#include "providers/tcp/conn/peer.h"

enum { ID = 77, RETRY_S = 3 };

struct side {
	struct pair pair;
	struct fid_av *av;
	int listener; /* of the test; -1: none listens */
	struct sockaddr_in addr;
	fi_addr_t far;
};

static struct side *the_side;

static void step(void)
{
	pair_progress(&the_side->pair);
}

/* Whatever the endpoint can do now is done. */
static void settle(void)
{
	for (int i = 0; i < 80; i++)
		step();
}

static struct tcp_peers *peers(void)
{
	return the_side->pair.tcp->peers;
}

static struct tcp_peer *peer(void)
{
	union wf_sockaddr addr = { .in = the_side->addr };
	struct tcp_peer *ret;

	wf_lock(&the_side->pair.tcp->ep.lock);
	ret = tcp_peer_get(the_side->pair.tcp, &addr);
	wf_unlock(&the_side->pair.tcp->ep.lock);
	assert_non_null(ret);
	return ret;
}

static uint16_t own_port(void)
{
	return wf_sockaddr_port(&the_side->pair.tcp->name);
}

static int side_setup(void **state)
{
	struct side *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	pair_open_rdm(&s->pair, FI_MSG | FI_TAGGED, &s->av);
	/* The host is above the endpoint's, whatever the ports are. */
	s->listener = listen_at(INADDR_LOOPBACK + 1, 0, &s->addr);
	assert_int_equal(fi_av_insert(s->av, &s->addr, 1, &s->far, 0, NULL), 1);
	*state = the_side = s;
	return 0;
}

static int side_teardown(void **state)
{
	struct side *s = *state;

	close_other();
	if (s->listener >= 0)
		close(s->listener);
	assert_int_equal(fi_close(&s->pair.ep->fid), 0);
	s->pair.ep = NULL;
	assert_int_equal(fi_close(&s->av->fid), 0);
	pair_close(&s->pair);
	free(s);
	return 0;
}

#define SIDE_TEST(name) cmocka_unit_test_setup_teardown(name, side_setup, side_teardown)

/* Begin anew with another endpoint and another peer. */
static void side_again(void **state)
{
	(void)side_teardown(state);
	(void)side_setup(state);
}

/* The peer's address is below the endpoint's. */
static void go_below(void)
{
	struct side *s = the_side;
	uint16_t port = own_port();

	close(s->listener);
	do
		s->listener = listen_at(INADDR_LOOPBACK, htons(--port), &s->addr);
	while (s->listener < 0);
	assert_int_equal(fi_av_insert(s->av, &s->addr, 1, &s->far, 0, NULL), 1);
}

static void no_longer_listen(void)
{
	close(the_side->listener);
	the_side->listener = -1;
}

/* ---- messages ---- */

static const struct tcp_cm_ext known = { .features = TCP_HAVE_ERROR | TCP_HAVE_MATCH,
	.instance = INSTANCE };

static void ask_with(const struct tcp_cm_ext *ext, uint16_t port)
{
	const struct tcp_rdm_hello hello = { .version = 1, .port = port, .id = ID };
	uint8_t data[TCP_RDM_DATA];

	tcp_rdm_encode(data, &hello);
	put_message(TCP_CM_REQUEST, ext, data, sizeof(data));
}

static void reply_with(const struct tcp_cm_ext *ext, uint16_t port)
{
	const struct tcp_rdm_hello hello = {
		.version = 1, .evaluated = true, .port = port, .id = ID
	};
	uint8_t data[TCP_RDM_DATA];

	tcp_rdm_encode(data, &hello);
	put_message(TCP_CM_REPLY, ext, data, sizeof(data));
}

static void reject_with(enum tcp_cm_reason reason, uint64_t instance)
{
	struct tcp_cm_ext ext = { .instance = instance, .reason = (uint8_t)reason };

	put_message(TCP_CM_REJECT, instance ? &ext : NULL, NULL, 0);
}

/* The endpoint's request at the test's listener. */
static void get_request(enum tcp_cm_reason reason)
{
	uint8_t data[TCP_RDM_DATA];
	struct tcp_rdm_hello hello;
	struct tcp_cm_msg msg = get_message(TCP_CM_REQUEST, data, sizeof(data));

	assert_int_equal(tcp_rdm_decode_request(data, sizeof(data), &hello), 0);
	assert_int_equal(hello.version, TCP_RDM_VERSION);
	assert_false(hello.evaluated);
	assert_false(hello.firewall);
	assert_int_equal(hello.port, own_port());
	assert_int_equal(hello.id, peers()->id);
	assert_int_equal(msg.ext.instance, peers()->instance);
	assert_int_equal(msg.ext.reason, reason);
	assert_int_equal(msg.ext.contexts, 1);
	assert_int_equal(msg.ext.features & TCP_HAVE_TAGGED_MSG, 0);
}

static void called(enum tcp_cm_reason reason)
{
	accept_other(the_side->listener);
	get_request(reason);
}

/* The test connects to the endpoint, from its host. */
static void call(void)
{
	struct sockaddr_in to = the_side->pair.tcp->name.in, from = the_side->addr;

	from.sin_port = 0;
	other = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(other, (struct sockaddr *)&from, sizeof(from)), 0);
	assert_int_equal(connect(other, (struct sockaddr *)&to, sizeof(to)), 0);
}

static void get_reply(bool extended)
{
	uint8_t data[TCP_RDM_DATA];
	struct tcp_rdm_hello hello;
	struct tcp_cm_msg msg = get_message(TCP_CM_REPLY, data, sizeof(data));

	assert_int_equal(tcp_rdm_decode_reply(data, sizeof(data),
				 ntohs(the_side->addr.sin_port), &hello),
		0);
	assert_true(hello.evaluated);
	assert_int_equal(hello.id, peers()->id);
	assert_int_equal(msg.ext.instance, extended ? peers()->instance : 0);
}

/* A reject whose data are those of the request. */
static void get_reject(enum tcp_cm_reason reason, uint16_t port)
{
	const struct tcp_rdm_hello hello = { .version = 1, .port = port, .id = ID };
	uint8_t want[TCP_RDM_DATA], data[TCP_RDM_DATA];
	struct tcp_cm_msg msg = get_message(TCP_CM_REJECT, data, sizeof(data));

	tcp_rdm_encode(want, &hello);
	assert_memory_equal(data, want, sizeof(want));
	assert_int_equal(msg.ext.reason, reason);
	get_end();
}

static uint8_t word[4], in[4];

static void post_word(void)
{
	memcpy(word, "abcd", sizeof(word));
	assert_int_equal(fi_send(the_side->pair.ep, word, sizeof(word), NULL,
				 the_side->far, word),
		0);
}

/* A message of the endpoint, the first of its connection. */
static void get_word(void)
{
	struct pair *p = &the_side->pair;
	struct pollfd pfd = { .fd = other, .events = POLLIN };

	while (!poll(&pfd, 1, 0))
		step();
	p->peer = other;
	p->number = 0;
	p->conn = peer()->conn;
	assert_non_null(p->conn);
	(void)peer_expect(p, TCP_REC_MSG, in);
	p->peer = -1;
	assert_memory_equal(in, "abcd", sizeof(in));
}

/* A message to the endpoint, the first of its connection. */
static void put_word(struct tcp_conn *conn)
{
	const struct tcp_record rec = { .kind = TCP_REC_MSG, .payload_len = 4 };
	struct pair *p = &the_side->pair;

	memset(in, 0, sizeof(in));
	p->ended_count = 0;
	p->peer = other;
	p->conn = conn;
	assert_int_equal(fi_recv(p->ep, in, sizeof(in), NULL, FI_ADDR_UNSPEC, in), 0);
	peer_record(p, &rec, "efgh");
	p->peer = -1;
	while (!p->ended_count)
		step();
	assert_one_ended(p, in, 0);
	assert_memory_equal(in, "efgh", sizeof(in));
}

/* ---- attempts of the endpoint ---- */

/* Operations wait for the connection. Its peer may be verifying it until it sends
 * something, or for a second. */
static void connects(void **state)
{
	for (int speaks = 0; speaks < 2; speaks++) {
		struct pair *p = &the_side->pair;

		post_word();
		called(TCP_REASON_NONE);
		assert_int_equal(p->ended_count, 0);
		assert_non_null(peer()->attempt);
		reply_with(&known, own_port());
		get_word();
		assert_one_ended(p, word, 0);
		assert_null(peer()->attempt);
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
	assert_int_equal(tcp_attempt_start(p->tcp, far), -FI_ENOMEM);
	assert_true(refuse_end());
	wf_unlock(&p->tcp->ep.lock);
	assert_int_equal(refuse_next_fd(), next);
	assert_null(peer()->attempt);
	assert_int_equal(peer()->ip.remote.err, FI_ENOMEM);
}

/* ---- attempts of the peer ---- */

/* The test's request is accepted, and not verified yet. */
static int accepted(const struct tcp_cm_ext *ext)
{
	int ret;

	call();
	ask_with(ext, ntohs(the_side->addr.sin_port));
	get_reply(ext != NULL);
	assert_non_null(peer()->unverified);
	assert_null(peer()->conn);
	assert_int_equal(peer()->remote_id, ID);
	assert_int_equal(peer()->remote_instance, ext ? INSTANCE : 0);
	assert_int_equal(peers()->callers, 0);
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
	int first;

	(void)state;
	post_word();
	called(TCP_REASON_NONE);
	first = other;
	call();
	ask_with(&known, ntohs(the_side->addr.sin_port));
	get_reply(true);
	close_other();
	other = first;
	assert_false(peer()->attempt->verifies);
	assert_non_null(peer()->unverified);
	reject_with(TCP_REASON_CROSSED, INSTANCE);
	while (peer()->attempt && !peer()->attempt->verifies)
		step();
	assert_true(!peer()->attempt || peer()->attempt->verifies);
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
		SIDE_TEST(connects),
		SIDE_TEST(a_caller_may_verify),
		SIDE_TEST(answers),
		SIDE_TEST(no_answer),
		SIDE_TEST(no_memory_for_an_attempt),
		SIDE_TEST(verified),
		SIDE_TEST(nobody_else_listens),
		SIDE_TEST(beside_a_connection),
		SIDE_TEST(strangers),
		SIDE_TEST(crossed),
		SIDE_TEST(crossed_while_unverified),
		SIDE_TEST(silent_callers),
		SIDE_TEST(no_memory_for_a_caller),
	};

	/* Endpoints that are closed do not wait for the test, which reads no more. */
	(void)setenv("FI_FLUSH_TIMEOUT", "0", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
