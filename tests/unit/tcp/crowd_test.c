/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * An endpoint with more connections than are read in each progress call: the others are
 * found by the epoll set.
 */
#include "conn_fixture.h"

#include <arpa/inet.h>

#include "providers/tcp/conn/peer.h"

enum {
	MANY = 3 * TCP_HOT_MAX,
	/* Progress calls after which bytes of each connection were read. */
	CALLS = 64,
	LEN = 8,
};

struct crowd {
	struct pair pair;
	struct fid_av *av;
	struct tcp_conn *conn[MANY];
	int socket[MANY];
	fi_addr_t addr[MANY];
	uint64_t in[MANY];
};

/* The fixture's peer is peer @i. */
static void turn_to(struct crowd *c, int i)
{
	c->pair.peer = c->socket[i];
	c->pair.conn = c->conn[i];
	c->pair.number = 0;
}

static void connect_one(struct crowd *c, int i)
{
	const struct tcp_wire_peer wire = {
		.have = (TCP_HAVE_OFFER & ~(uint32_t)TCP_HAVE_LOCAL) | TCP_HAVE_TAGGED,
		.contexts = 1,
	};
	union wf_sockaddr addr = { .in = { .sin_family = AF_INET,
					   .sin_port = htons((uint16_t)(9 + i)) } };
	struct tcp_ep *ep = c->pair.tcp;
	struct tcp_peer *peer;
	int fds[2];

	addr.in.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	assert_int_equal(fi_av_insert(c->av, &addr.in, 1, &c->addr[i], 0, NULL), 1);
	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds),
		0);
	wf_lock(&ep->ep.lock);
	peer = tcp_peer_get(ep, &addr);
	assert_non_null(peer);
	assert_int_equal(tcp_peer_connected(ep, peer, fds[0], 1 + (uint64_t)i, &wire,
				 TCP_VERIFIED),
		0);
	c->conn[i] = peer->conn;
	wf_unlock(&ep->ep.lock);
	c->socket[i] = fds[1];
}

static int setup(void **state)
{
	struct crowd *c = calloc(1, sizeof(*c));

	assert_non_null(c);
	pair_open_rdm(&c->pair, FI_MSG | FI_TAGGED, &c->av);
	for (int i = 0; i < MANY; i++)
		connect_one(c, i);
	*state = c;
	return 0;
}

static int teardown(void **state)
{
	struct crowd *c = *state;
	struct pair *p = &c->pair;

	for (int i = 0; i < MANY; i++)
		if (c->socket[i] >= 0)
			close(c->socket[i]);
	p->peer = -1;
	assert_int_equal(fi_close(&p->ep->fid), 0);
	p->ep = NULL;
	assert_int_equal(fi_close(&c->av->fid), 0);
	pair_close(p);
	free(c);
	return 0;
}

static void progress(struct crowd *c, int calls)
{
	while (calls--)
		pair_progress(&c->pair);
}

static int hot_ones(const struct crowd *c)
{
	int n = 0;

	for (int i = 0; i < MANY; i++)
		n += c->conn[i]->hot;
	assert_int_equal(n, c->pair.tcp->hot_count);
	return n;
}

static int cold_one(const struct crowd *c)
{
	for (int i = 0; i < MANY; i++)
		if (!c->conn[i]->hot)
			return i;
	fail_msg("all are hot");
	return -1;
}

static void post_receives(struct crowd *c, int n)
{
	for (int i = 0; i < n; i++)
		assert_int_equal(fi_recv(c->pair.ep, &c->in[i], LEN, NULL,
					 FI_ADDR_UNSPEC, &c->in[i]),
			0);
}

static void send_from(struct crowd *c, int i)
{
	const struct tcp_record rec = { .kind = TCP_REC_MSG, .payload_len = LEN };
	uint64_t value = 1000 + (uint64_t)i;

	turn_to(c, i);
	peer_record(&c->pair, &rec, &value);
}

static void all_are_heard(void **state)
{
	struct crowd *c = *state;
	uint64_t sum = 0;

	assert_int_equal(hot_ones(c), TCP_HOT_MAX);
	post_receives(c, MANY);
	for (int i = 0; i < MANY; i++)
		send_from(c, i);
	progress(c, CALLS);
	assert_int_equal(c->pair.ended_count, MANY);
	for (int i = 0; i < MANY; i++)
		sum += c->in[i];
	assert_int_equal(sum, 1000 * MANY + MANY * (MANY - 1) / 2);
	assert_int_equal(hot_ones(c), TCP_HOT_MAX);
}

/* One after the other, so that each poll of the set finds one. */
static void each_is_heard_and_answered(void **state)
{
	struct crowd *c = *state;
	uint64_t out;

	for (int i = 0; i < MANY; i++) {
		c->pair.ended_count = 0;
		post_receives(c, 1);
		send_from(c, i);
		progress(c, CALLS);
		assert_int_equal(c->pair.ended_count, 1);
		assert_int_equal(c->in[0], 1000 + i);
		assert_int_equal(fi_inject(c->pair.ep, "answered", LEN, c->addr[i]), 0);
		progress(c, 1);
		(void)peer_expect(&c->pair, TCP_REC_MSG, &out);
		assert_memory_equal(&out, "answered", LEN);
	}
}

static void silence_cools(void **state)
{
	struct crowd *c = *state;

	progress(c, 4096);
	/* A few stay hot. */
	assert_int_equal(hot_ones(c), 4);
}

/* Where there is room among the hot ones, bytes make a connection one of them. */
static void bytes_warm(void **state)
{
	struct crowd *c = *state;
	int cold;

	progress(c, 4096);
	cold = cold_one(c);
	post_receives(c, 1);
	send_from(c, cold);
	progress(c, CALLS);
	assert_int_equal(c->pair.ended_count, 1);
	assert_true(c->conn[cold]->hot);
}

/* A message for which there is no memory stays in the socket, which is not read until a
 * receive is posted. The epoll set does not report it meanwhile. */
static void a_cold_one_is_held_up(void **state)
{
	struct crowd *c = *state;
	int cold = cold_one(c);
	int before;

	turn_to(c, cold);
	pair_set_memory_full(&c->pair, true);
	send_from(c, cold);
	progress(c, CALLS);
	assert_int_equal(c->pair.ended_count, 0);
	assert_true(c->conn[cold]->hot);
	before = hot_ones(c);
	assert_int_equal(wf_watches_poll(&c->pair.tcp->watches), 0);
	pair_set_memory_full(&c->pair, false);
	post_receives(c, 1);
	progress(c, CALLS);
	assert_int_equal(c->pair.ended_count, 1);
	assert_int_equal(c->in[0], 1000 + cold);
	assert_int_equal(before, TCP_HOT_MAX + 1);
}

static void a_cold_one_dies(void **state)
{
	struct crowd *c = *state;
	int cold = cold_one(c);

	close(c->socket[cold]);
	c->socket[cold] = -1;
	for (int i = 0; i < CALLS; i++)
		fi_cq_read(c->pair.cq, NULL, 0);
	wf_lock(&c->pair.tcp->ep.lock);
	for (int i = 0; i < MANY; i++)
		if (i != cold)
			assert_int_equal(c->conn[i]->err, 0);
	wf_unlock(&c->pair.tcp->ep.lock);
	/* The others are served. */
	post_receives(c, 1);
	send_from(c, (cold + 1) % MANY);
	progress(c, CALLS);
	assert_int_equal(c->pair.ended_count, 1);
}

#define CROWD_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CROWD_TEST(all_are_heard),
		CROWD_TEST(each_is_heard_and_answered),
		CROWD_TEST(silence_cools),
		CROWD_TEST(bytes_warm),
		CROWD_TEST(a_cold_one_is_held_up),
		CROWD_TEST(a_cold_one_dies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
