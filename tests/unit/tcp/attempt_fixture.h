/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_TCP_ATTEMPT_FIXTURE_H
#define TESTS_UNIT_TCP_ATTEMPT_FIXTURE_H

/* An FI_EP_RDM endpoint and its peer, which the test is: it listens at an address, and
 * connects itself. */
#include "exchange_fixture.h"

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

static inline void step(void)
{
	pair_progress(&the_side->pair);
}

/* Whatever the endpoint can do now is done. */
static inline void settle(void)
{
	for (int i = 0; i < 80; i++)
		step();
}

static inline struct tcp_peers *peers(void)
{
	return the_side->pair.tcp->peers;
}

static inline struct tcp_peer *peer(void)
{
	union wf_sockaddr addr = { .in = the_side->addr };
	struct tcp_peer *ret;

	wf_lock(&the_side->pair.tcp->ep.lock);
	ret = tcp_peer_get(the_side->pair.tcp, &addr);
	wf_unlock(&the_side->pair.tcp->ep.lock);
	assert_non_null(ret);
	return ret;
}

static inline uint16_t own_port(void)
{
	return wf_sockaddr_port(&the_side->pair.tcp->name);
}

static inline int side_setup(void **state)
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

static inline int side_teardown(void **state)
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
static inline void side_again(void **state)
{
	(void)side_teardown(state);
	(void)side_setup(state);
}

/* The peer's address is below the endpoint's. */
static inline void go_below(void)
{
	struct side *s = the_side;
	uint16_t port = own_port();

	close(s->listener);
	do
		s->listener = listen_at(INADDR_LOOPBACK, htons(--port), &s->addr);
	while (s->listener < 0);
	assert_int_equal(fi_av_insert(s->av, &s->addr, 1, &s->far, 0, NULL), 1);
}

static inline void no_longer_listen(void)
{
	close(the_side->listener);
	the_side->listener = -1;
}

/* As with FI_AV_REMOVE_CLEANUP. */
static inline void remove_address(void)
{
	struct wf_ep *ep = &the_side->pair.tcp->ep;

	wf_lock(&ep->lock);
	ep->xfer->addr_removed(ep, the_side->far);
	wf_unlock(&ep->lock);
	assert_int_equal(fi_av_remove(the_side->av, &the_side->far, 1, 0), 0);
}

/* ---- messages ---- */

static const struct tcp_cm_ext known = { .features = TCP_HAVE_ERROR | TCP_HAVE_MATCH,
	.instance = INSTANCE };

static inline void ask_with(const struct tcp_cm_ext *ext, uint16_t port)
{
	const struct tcp_rdm_hello hello = { .version = 1, .port = port, .id = ID };
	uint8_t data[TCP_RDM_DATA];

	tcp_rdm_encode(data, &hello);
	put_message(TCP_CM_REQUEST, ext, data, sizeof(data));
}

static inline void reply_with(const struct tcp_cm_ext *ext, uint16_t port)
{
	const struct tcp_rdm_hello hello = {
		.version = 1, .evaluated = true, .port = port, .id = ID
	};
	uint8_t data[TCP_RDM_DATA];

	tcp_rdm_encode(data, &hello);
	put_message(TCP_CM_REPLY, ext, data, sizeof(data));
}

static inline void reject_with(enum tcp_cm_reason reason, uint64_t instance)
{
	struct tcp_cm_ext ext = { .instance = instance, .reason = (uint8_t)reason };

	put_message(TCP_CM_REJECT, instance ? &ext : NULL, NULL, 0);
}

/* The endpoint's request at the test's listener. */
static inline void get_request(enum tcp_cm_reason reason)
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

static inline void called(enum tcp_cm_reason reason)
{
	accept_other(the_side->listener);
	get_request(reason);
}

/* The test connects to the endpoint, from its host. */
static inline void call(void)
{
	struct sockaddr_in to = the_side->pair.tcp->name.in, from = the_side->addr;

	from.sin_port = 0;
	other = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(other, (struct sockaddr *)&from, sizeof(from)), 0);
	assert_int_equal(connect(other, (struct sockaddr *)&to, sizeof(to)), 0);
}

static inline void get_reply(bool extended)
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
static inline void get_reject(enum tcp_cm_reason reason, uint16_t port)
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

static inline void post_word(void)
{
	memcpy(word, "abcd", sizeof(word));
	assert_int_equal(fi_send(the_side->pair.ep, word, sizeof(word), NULL,
				 the_side->far, word),
		0);
}

/* A message of the endpoint, the first of its connection. */
static inline void get_word(void)
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
static inline void put_word(struct tcp_conn *conn)
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

#endif
