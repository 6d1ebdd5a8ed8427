/* SPDX-License-Identifier: BSD-2-Clause */
#include "conn_fixture.h"

#include "providers/rxm/conn/credit.h"

/* How connections come to be and end, and what becomes of operations then. */

enum { STRANGER = 4343, STRANGER_ID = 99, STRANGER_PID = 5 };

static uint8_t buf[4096];

static int lone_setup(void **state)
{
	struct pair *p = malloc(sizeof(*p));

	assert_non_null(p);
	peer_flow = RXM_FLOW_OFF;
	rxm_params.refused_timeout = 2000;
	pair_open(p);
	*state = p;
	return 0;
}

#define LONE_TEST(name) cmocka_unit_test_setup_teardown(name, lone_setup, pair_teardown)

static struct rxm_conn *first_conn(const struct pair *p)
{
	assert_false(wf_list_empty(&p->rxm->conns));
	return wf_list_entry(p->rxm->conns.next, struct rxm_conn, link);
}

static void assert_no_conn(const struct pair *p)
{
	assert_true(wf_list_empty(&p->rxm->conns));
	assert_int_equal(p->rxm->conn_count, 0);
	assert_int_equal(p->rxm->peers->ids.count, 0);
}

static void test_the_request(void **state)
{
	struct pair *p = *state;
	struct sockaddr_in peer = fake_name(PEER_PORT);
	struct rxm_hello hello;
	struct rxm_conn *conn;

	assert_int_equal(fi_send(p->ep, buf, 8, NULL, p->addr, buf), 0);
	pair_progress(p);
	assert_int_equal(fake.connects, 1);
	conn = first_conn(p);
	assert_int_equal(conn->state, RXM_CONN_CONNECTING);
	assert_ptr_equal(conn->peer->conn, conn);
	assert_memory_equal(&fake_ep_of(fake.last)->dest, &peer, sizeof(peer));
	assert_int_equal(fake.dest_len, sizeof(peer));
	assert_true(fake_ep_of(fake.last)->enabled);
	assert_null(rxm_hello_read_request(fake.hello, fake.hello_len, BUFFER, &hello));
	assert_int_equal(hello.id, conn->id);
	assert_int_equal(hello.id >> 31, 0);
	assert_int_equal(hello.pid, p->rxm->peers->pid);
	assert_int_equal(hello.rx_depth, 128);
	assert_int_equal(hello.flow, RXM_FLOW_ON);
	assert_int_equal(hello.port, FAKE_PORT);
	assert_true(hello.asks);
	assert_int_equal(hello.about, 0);
	/* It is not there yet. */
	assert_int_equal(fake.post_count, 0);
	peer_accepts(p);
	assert_int_equal(conn->state, RXM_CONN_UP);
	assert_null(conn->attempt);
	assert_int_equal(conn->peer_id, PEER_ID);
	assert_int_equal(conn->peer_pid, 77);
	assert_int_equal(fake.post_count, 1);
	/* An event that comes twice. */
	peer_accepts(p);
	assert_int_equal(fake.post_count, 1);
	assert_int_equal(conn->state, RXM_CONN_UP);
}

static void test_a_host_that_refuses(void **state)
{
	struct pair *p = *state;

	rxm_params.refused_timeout = 0;
	assert_int_equal(fi_send(p->ep, buf, 8, NULL, p->addr, buf), 0);
	pair_progress(p);
	fake_event_error(fake.last, FI_ECONNREFUSED, NULL, 0);
	pair_progress(p);
	assert_one_ended(p, buf, FI_ECONNREFUSED);
	assert_no_conn(p);
	/* A peer that rejects is there: it is asked again. */
	assert_int_equal(fi_send(p->ep, buf, 8, NULL, p->addr, buf), 0);
	pair_progress(p);
	fake_event_error(fake.last, FI_ECONNREFUSED, "\1\2", 2);
	pair_progress(p);
	assert_int_equal(p->ended_count, 0);
	assert_no_conn(p);
	assert_int_equal(p->rxm->data.pending, 1);
	assert_int_equal(fi_cancel(&p->ep->fid, buf), 0);
	pair_progress(p);
	assert_one_ended(p, buf, FI_ECANCELED);
	assert_int_equal(p->rxm->data.pending, 0);
}

static void test_an_acceptance_that_is_too_short(void **state)
{
	struct pair *p = *state;
	uint8_t data[RXM_ACCEPT_LEN - 1] = { 0 };

	assert_int_equal(fi_send(p->ep, buf, 8, NULL, p->addr, buf), 0);
	pair_progress(p);
	fake_event(FI_CONNECTED, fake.last, data, sizeof(data));
	pair_progress(p);
	assert_no_conn(p);
	assert_int_equal(p->ended_count, 0);
	assert_int_equal(p->rxm->data.pending, 1);
}

/* What was sent ends with an error, and later messages use a new connection. */
static void test_the_peer_ends_the_connection(void **state)
{
	struct pair *p = *state;

	pair_connect(p);
	assert_int_equal(fi_send(p->ep, buf, 300, NULL, p->addr, buf), 0);
	assert_int_equal(fake.post_count, 1);
	fake_event(FI_SHUTDOWN, p->conn->below.fid, NULL, 0);
	pair_progress(p);
	assert_one_ended(p, buf, FI_ECANCELED);
	assert_no_conn(p);
	assert_int_equal(p->rxm->data.pending, 0);
	assert_int_equal(fi_send(p->ep, buf, 300, NULL, p->addr, buf), 0);
	pair_progress(p);
	assert_int_equal(fake.connects, 2);
	peer_accepts(p);
	assert_int_equal(fake.post_count, 2);
	/* An error of a connection that is up. */
	fake_event_error(fake.last, FI_EIO, NULL, 0);
	pair_progress(p);
	assert_one_ended(p, buf, FI_EIO);
	assert_no_conn(p);
	/* Events of endpoints that were closed. */
	fake_event(FI_SHUTDOWN, fake.last, NULL, 0);
	fake_event_error(fake.last, FI_EIO, NULL, 0);
	pair_progress(p);
	assert_no_conn(p);
}

static void test_an_address_is_removed(void **state)
{
	struct pair *p = *state;

	pair_connect(p);
	assert_int_equal(fi_send(p->ep, buf, 300, NULL, p->addr, buf), 0);
	p->rxm->ep.xfer->addr_removed(&p->rxm->ep, p->addr);
	assert_int_equal(p->conn->err, FI_ECONNABORTED);
	pair_progress(p);
	assert_no_conn(p);
	/* The application wants to hear no more of the peer. */
	assert_int_equal(p->ended_count, 0);
	assert_int_equal(p->rxm->data.pending, 0);
	/* There is no connection to remove. */
	p->rxm->ep.xfer->addr_removed(&p->rxm->ep, p->addr);
}

/* ---- credits ---- */

static void peer_gives(struct pair *p, uint64_t count)
{
	struct rxm_hdr credit;

	rxm_put_credit(&credit, 0, count);
	peer_packet(p, &credit, NULL, 0);
}

static void test_credits(void **state)
{
	struct pair *p = *state;

	peer_flow = RXM_FLOW_ON;
	assert_int_equal(fi_send(p->ep, buf, 300, NULL, p->addr, buf), 0);
	pair_progress(p);
	peer_accepts(p);
	p->conn = first_conn(p);
	assert_true(p->conn->credited);
	assert_int_equal(p->conn->peer_depth, 64);
	/* The first one is for telling the peer of the buffers. */
	assert_int_equal(fake.post_count, 1);
	assert_int_equal(packet_at(0).kind, RXM_CREDIT);
	assert_int_equal(packet_at(0).credits, 127);
	assert_int_equal(p->conn->credits, 0);
	assert_int_equal(p->conn->reposted, 0);
	assert_int_equal(fi_send(p->ep, buf, 301, NULL, p->addr, buf), 0);
	pair_progress(p);
	assert_int_equal(fake.post_count, 1);
	/* The last one is for the next such packet. */
	peer_gives(p, 1);
	assert_int_equal(fake.post_count, 1);
	/* The buffer of the packet with the credit was posted again. */
	assert_int_equal(p->conn->reposted, 1);
	peer_gives(p, 1);
	assert_int_equal(fake.post_count, 2);
	assert_int_equal(packet_at(1).size, 300);
	assert_int_equal(p->conn->credits, 1);
	peer_gives(p, 1);
	assert_int_equal(packet_at(2).size, 301);
	assert_int_equal(p->conn->reposted, 3);
	/* No more than the peer has buffers. */
	peer_gives(p, 1000);
	assert_int_equal(p->conn->credits, 64);
	p->conn->reposted = 62;
	assert_false(rxm_credit_due(p->conn));
	peer_gives(p, 1);
	assert_int_equal(p->conn->reposted, 63);
	assert_int_equal(fake.post_count, 3);
	/* The queue is full: the next progress call tries again. */
	fake.refuse[FAKE_INJECT] = -FI_EAGAIN;
	peer_gives(p, 1);
	assert_int_equal(p->conn->reposted, 64);
	assert_int_equal(fake.post_count, 3);
	fake.refuse[FAKE_INJECT] = 0;
	pair_progress(p);
	assert_int_equal(fake.post_count, 4);
	assert_int_equal(packet_at(3).credits, 64);
	assert_int_equal(p->conn->reposted, 0);
	assert_int_equal(p->conn->credits, 63);
}

static void test_too_many_credits(void **state)
{
	struct pair *p = *state;

	peer_flow = RXM_FLOW_ON;
	pair_connect(p);
	peer_gives(p, UINT32_MAX / 2);
	assert_int_equal(first_conn(p)->state, RXM_CONN_UP);
	peer_gives(p, UINT32_MAX / 2 + 1);
	assert_no_conn(p);
}

/* ---- requests of peers ---- */

static struct fid handle;

static void peer_asks(struct pair *p, uint16_t port, uint32_t eager, bool asks)
{
	struct rxm_hello hello = { .id = STRANGER_ID,
		.pid = STRANGER_PID,
		.rx_depth = 32,
		.flow = RXM_FLOW_OFF,
		.port = port,
		.eager_size = eager };
	struct sockaddr_in from = fake_name(12345);
	struct fi_info *info = fake_info();
	uint8_t data[RXM_HELLO_MAX];
	size_t len = RXM_REQUEST_LEN;

	info->handle = &handle;
	info->dest_addr = malloc(sizeof(from));
	assert_non_null(info->dest_addr);
	memcpy(info->dest_addr, &from, sizeof(from));
	info->dest_addrlen = sizeof(from);
	rxm_hello_request(data, &hello);
	if (asks)
		len = rxm_hello_add_question(data, len, 0);
	fake_event(FI_CONNREQ, NULL, data, len);
	fake.events[(fake.event_put - 1) % 32].info = info;
	pair_progress(p);
}

static void assert_rejected(unsigned int count, enum rxm_reason reason)
{
	assert_int_equal(fake.rejects, count);
	assert_int_equal(rxm_hello_read_reject(fake.hello, fake.hello_len), reason);
}

/* The peer answers the question whether the request was its own. */
static void peer_answers(struct pair *p, enum rxm_answer answer)
{
	uint8_t data[RXM_REJECT_MAX];

	rxm_hello_reject(data, RXM_REASON_CONNECTED, answer);
	fake_event_error(fake.last, FI_ECONNREFUSED, data, sizeof(data));
	pair_progress(p);
}

static void test_a_request_is_verified(void **state)
{
	struct pair *p = *state;
	struct sockaddr_in from = fake_name(STRANGER);
	struct rxm_hello hello;
	struct rxm_conn *conn;

	peer_asks(p, STRANGER, BUFFER, true);
	assert_int_equal(fake.accepts, 0);
	assert_int_equal(fake.rejects, 0);
	/* At the port that the request names. */
	assert_int_equal(fake.connects, 1);
	assert_memory_equal(&fake_ep_of(fake.last)->dest, &from, sizeof(from));
	assert_null(rxm_hello_read_request(fake.hello, fake.hello_len, BUFFER, &hello));
	assert_int_equal(hello.about, (uint64_t)STRANGER_PID << 32 | STRANGER_ID);
	peer_answers(p, RXM_ANSWER_OWN);
	assert_int_equal(fake.accepts, 1);
	assert_int_equal(fake.rejects, 0);
	assert_ptr_equal(fake_ep_of(fake.last)->handle, &handle);
	conn = first_conn(p);
	assert_int_equal(conn->state, RXM_CONN_ACCEPTING);
	assert_int_equal(conn->peer_id, STRANGER_ID);
	assert_int_equal(conn->peer_pid, STRANGER_PID);
	assert_int_equal(conn->peer_depth, 32);
	assert_true(rxm_hello_read_accept(fake.hello, fake.hello_len, &hello));
	assert_int_equal(hello.id, conn->id);
	assert_int_equal(hello.pid, p->rxm->peers->pid);
	assert_int_equal(hello.rx_depth, 128);
	assert_int_equal(hello.flow, RXM_FLOW_ON);
	fake_event(FI_CONNECTED, fake.last, NULL, 0);
	pair_progress(p);
	assert_int_equal(conn->state, RXM_CONN_UP);
	assert_int_equal(conn->peer_id, STRANGER_ID);
	assert_false(conn->credited);
	/* Another one of the same peer: the connection stands. */
	peer_asks(p, STRANGER, BUFFER, true);
	assert_rejected(1, RXM_REASON_CONNECTED);
	assert_int_equal(rxm_hello_read_answer(fake.hello, fake.hello_len),
		RXM_ANSWER_NOT_ASKED);
	assert_int_equal(p->rxm->conn_count, 1);
	/* A peer that is still there takes a packet. */
	assert_int_equal(fake.post_count, 1);
}

static void test_a_request_of_another_process(void **state)
{
	struct pair *p = *state;

	peer_asks(p, STRANGER, BUFFER, true);
	assert_int_equal(fake.connects, 1);
	peer_answers(p, RXM_ANSWER_NOT_OWN);
	assert_rejected(1, RXM_REASON_CONNECTED);
	assert_int_equal(fake.accepts, 0);
	assert_no_conn(p);
}

/* What a rejection, or the lack of an answer, says of the request that is verified. */
static void test_answers_about_a_request(void **state)
{
	enum { NO_DATA = -1, BARE = -2 };
	static const struct {
		bool asks;
		int answer, err;
		unsigned int accepts, rejects;
	} rows[] = {
		{ true, RXM_ANSWER_OWN, FI_ECONNREFUSED, 1, 0 },
		{ true, RXM_ANSWER_NOT_OWN, FI_ECONNREFUSED, 0, 1 },
		{ true, RXM_ANSWER_NOT_ASKED, FI_ECONNREFUSED, 0, 0 },
		/* Only an endpoint that asks answers. */
		{ true, BARE, FI_ECONNREFUSED, 0, 1 },
		{ false, RXM_ANSWER_OWN, FI_ECONNREFUSED, 0, 1 },
		{ false, BARE, FI_ECONNREFUSED, 1, 0 },
		/* The peer cannot be asked; or its queue of connections is full. */
		{ true, NO_DATA, FI_ECONNREFUSED, 1, 0 },
		{ true, NO_DATA, FI_ETIMEDOUT, 0, 0 },
	};
	struct pair *p = *state;

	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		pair_close(p);
		pair_open(p);
		peer_asks(p, STRANGER, BUFFER, rows[i].asks);
		assert_int_equal(fake.connects, 1);
		if (rows[i].answer >= 0) {
			peer_answers(p, (enum rxm_answer)rows[i].answer);
		} else {
			fake_event_error(fake.last, rows[i].err, "\1\2",
				rows[i].answer == BARE ? 2 : 0);
			pair_progress(p);
		}
		assert_int_equal(fake.accepts, rows[i].accepts);
		assert_int_equal(fake.rejects, rows[i].rejects);
		assert_int_equal(p->rxm->conn_count, rows[i].accepts);
	}
}

static void test_requests_that_are_invalid(void **state)
{
	struct pair *p = *state;

	peer_asks(p, STRANGER, BUFFER + 1, true);
	assert_rejected(1, RXM_REASON_REFUSED);
	peer_asks(p, 0, BUFFER, true);
	assert_rejected(2, RXM_REASON_REFUSED);
	/* It names this endpoint's own address. */
	peer_asks(p, FAKE_PORT, BUFFER, true);
	assert_rejected(3, RXM_REASON_REFUSED);
	assert_int_equal(fake.connects, 0);
	assert_int_equal(fake.accepts, 0);
	assert_no_conn(p);
}

/* Both ends ask at the same time: the request of the one with the larger address, in
 * network byte order, is used. */
static void test_requests_that_cross(void **state)
{
	struct pair *p = *state;
	struct sockaddr_in small = fake_name(3000);
	fi_addr_t addr;

	assert_int_equal(fi_send(p->ep, buf, 8, NULL, p->addr, buf), 0);
	pair_progress(p);
	assert_int_equal(fake.connects, 1);
	peer_asks(p, PEER_PORT, BUFFER, true);
	assert_int_equal(fake.rejects, 0);
	assert_non_null(first_conn(p)->peer->unverified);
	assert_int_equal(p->rxm->conn_count, 1);
	pair_close(p);
	pair_open(p);
	/* The peer's is smaller: 3000 is 0x0bb8, 4000 is 0x0fa0. */
	assert_int_equal(fi_av_insert(p->av, &small, 1, &addr, 0, NULL), 1);
	assert_int_equal(fi_send(p->ep, buf, 8, NULL, addr, buf), 0);
	pair_progress(p);
	assert_int_equal(fake.connects, 1);
	peer_asks(p, 3000, BUFFER, true);
	assert_rejected(1, RXM_REASON_CONNECTED);
	peer_accepts(p);
	assert_int_equal(fake.post_count, 1);
}

static void test_requests_that_come_to_nothing(void **state)
{
	struct pair *p = *state;
	struct rxm_conn *conn;

	fake.connect_err = -FI_EIO;
	assert_int_equal(fi_send(p->ep, buf, 8, NULL, p->addr, buf), 0);
	pair_progress(p);
	assert_int_equal(fake.connects, 1);
	assert_no_conn(p);
	assert_int_equal(p->rxm->data.pending, 1);
	pair_close(p);
	pair_open(p);
	/* The peer says nothing. */
	assert_int_equal(fi_send(p->ep, buf, 8, NULL, p->addr, buf), 0);
	pair_progress(p);
	conn = first_conn(p);
	rxm_cm_expired(&conn->attempt->base);
	assert_int_equal(conn->attempt->base.deadline_ns, UINT64_MAX);
	assert_int_equal(conn->state, RXM_CONN_DOWN);
	assert_int_equal(conn->err, FI_ETIMEDOUT);
	assert_false(conn->was_up);
	pair_progress(p);
	assert_no_conn(p);
	pair_close(p);
	pair_open(p);
	/* It closes the connection instead of an answer. */
	assert_int_equal(fi_send(p->ep, buf, 8, NULL, p->addr, buf), 0);
	pair_progress(p);
	fake_event(FI_SHUTDOWN, fake.last, NULL, 0);
	pair_progress(p);
	assert_no_conn(p);
	assert_int_equal(fake.post_count, 0);
	assert_int_equal(p->ended_count, 0);
}

/* The peer was restarted: its end of the old connection comes just before its request. */
static void test_a_request_after_the_end(void **state)
{
	struct pair *p = *state;

	pair_connect(p);
	assert_int_equal(fi_send(p->ep, buf, 300, NULL, p->addr, buf), 0);
	fake_event(FI_SHUTDOWN, p->conn->below.fid, NULL, 0);
	peer_asks(p, PEER_PORT, BUFFER, true);
	assert_one_ended(p, buf, FI_ECANCELED);
	assert_int_equal(fake.rejects, 0);
	assert_int_equal(fake.connects, 2);
	/* A second one, while the first one is being verified. */
	peer_asks(p, PEER_PORT, BUFFER, true);
	assert_int_equal(fake.rejects, 1);
	assert_int_equal(fake.connects, 2);
	peer_answers(p, RXM_ANSWER_OWN);
	assert_int_equal(fake.accepts, 1);
	assert_int_equal(p->rxm->conn_count, 1);
}

/* An endpoint that sends to itself has a connection for each direction. */
static void test_the_endpoint_itself(void **state)
{
	struct pair *p = *state;
	struct sockaddr_in own = fake_name(FAKE_PORT), from = fake_name(12345);
	struct fi_info *info;
	fi_addr_t addr;

	assert_int_equal(fi_av_insert(p->av, &own, 1, &addr, 0, NULL), 1);
	assert_int_equal(fi_send(p->ep, buf, 8, NULL, addr, buf), 0);
	pair_progress(p);
	assert_int_equal(fake.connects, 1);
	info = fake_info();
	info->handle = &handle;
	info->dest_addr = malloc(sizeof(from));
	assert_non_null(info->dest_addr);
	memcpy(info->dest_addr, &from, sizeof(from));
	info->dest_addrlen = sizeof(from);
	fake_event(FI_CONNREQ, NULL, fake.hello, fake.hello_len);
	fake.events[(fake.event_put - 1) % 32].info = info;
	pair_progress(p);
	assert_int_equal(fake.accepts, 1);
	assert_int_equal(fake.connects, 1);
	assert_int_equal(p->rxm->conn_count, 2);
	/* The first one is for what it sends. */
	assert_ptr_equal(first_conn(p)->peer->conn, first_conn(p));
	assert_int_equal(first_conn(p)->state, RXM_CONN_CONNECTING);
}

/* A packet comes before the event that the connection is up. */
static void test_a_packet_before_the_event(void **state)
{
	struct pair *p = *state;
	struct rxm_hello hello = { .id = PEER_ID, .pid = 77, .flow = RXM_FLOW_OFF };
	struct rxm_message msg = { .size = 8 };
	uint8_t data[RXM_ACCEPT_LEN], bytes[RXM_HEADER + 8] = { 0 }, to[8];
	struct rxm_hdr hdr;

	assert_int_equal(fi_recv(p->ep, to, 8, NULL, p->addr, to), 0);
	assert_int_equal(fi_inject(p->ep, buf, 8, p->addr), 0);
	pair_progress(p);
	p->conn = first_conn(p);
	rxm_put_eager(&hdr, p->conn->id, &msg);
	memcpy(bytes, &hdr, sizeof(hdr));
	memset(bytes + RXM_HEADER, 7, 8);
	rxm_hello_accept(data, &hello);
	fake_arrives(fake.last, bytes, sizeof(bytes));
	fake_event(FI_CONNECTED, fake.last, data, sizeof(data));
	wf_ep_srx_lock(&p->rxm->ep);
	wf_lock(&p->rxm->ep.lock);
	assert_true(rxm_poll_cq(p->rxm));
	assert_int_equal(p->conn->state, RXM_CONN_UP);
	wf_unlock(&p->rxm->ep.lock);
	wf_ep_srx_unlock(&p->rxm->ep);
	pair_progress(p);
	assert_int_equal(p->ended[0].flags, FI_MSG | FI_RECV);
	assert_int_equal(to[7], 7);
	assert_one_ended(p, to, 0);
	assert_int_equal(fake.post_count, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LONE_TEST(test_the_request),
		LONE_TEST(test_a_host_that_refuses),
		LONE_TEST(test_an_acceptance_that_is_too_short),
		LONE_TEST(test_the_peer_ends_the_connection),
		LONE_TEST(test_an_address_is_removed),
		LONE_TEST(test_credits),
		LONE_TEST(test_too_many_credits),
		LONE_TEST(test_a_request_is_verified),
		LONE_TEST(test_a_request_of_another_process),
		LONE_TEST(test_answers_about_a_request),
		LONE_TEST(test_requests_that_are_invalid),
		LONE_TEST(test_requests_that_cross),
		LONE_TEST(test_requests_that_come_to_nothing),
		LONE_TEST(test_a_request_after_the_end),
		LONE_TEST(test_the_endpoint_itself),
		LONE_TEST(test_a_packet_before_the_event),
	};

	fake_reset();
	return cmocka_run_group_tests(tests, NULL, NULL);
}
