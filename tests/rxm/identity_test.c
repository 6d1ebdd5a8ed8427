/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A request contains the port at which its sender listens; any process of that host can
 * send it. Messages go to the process that listens there and to no other, and none
 * comes in from another one (docs/design/identity.md).
 */
#include "raw.h"

enum { MESSAGES = 40, LEN = 4 };

enum { ACCEPTS = 1, REJECTS = 6 };

/* A socket that asks for a connection to @end and claims to listen at @port. */
static int claim(struct rdm_end *end, uint16_t port)
{
	struct bytes request =
		hex("03 00 0018 00000000 0000000000000000 0000000000000000"
		    "0100000000000000"
		    "01 02 04 03 0000 02 00 00400000 00100000 05000000 7f1b0000");
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	memcpy(request.at + CM_LEN + 4, &port, sizeof(port));
	assert_int_equal(connect(fd, (void *)&end->addr, sizeof(end->addr)), 0);
	put(fd, request.at, request.len);
	return fd;
}

/* The request of @fd is rejected, and nothing else comes. */
static void expect_rejected(struct rdm_end *end, int fd)
{
	uint8_t head[CM_LEN], data[16];

	assert_int_equal(get(end, fd, head, sizeof(head)), sizeof(head));
	assert_int_equal(head[1], REJECTS);
	assert_true(get(end, fd, data, sizeof(data)) <= sizeof(data));
	close(fd);
}

static void expect_silence(struct rdm_end *end, int fd)
{
	struct fi_cq_tagged_entry entry;
	char byte;

	for (int i = 0; i < 1000; i++)
		assert_int_equal(step(end, &entry), 0);
	assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, EAGAIN);
}

/* A message from @from to @to, both of which run, arrives. */
static void deliver(struct rdm_end *from, struct rdm_end *to, fi_addr_t addr)
{
	time_t end = time(NULL) + limit_ms(20000) / 1000;
	struct fi_cq_tagged_entry entry;
	struct fi_context2 tx, rx;
	char out[LEN] = "abc", in[LEN] = "";
	bool sent = false, received = false;

	assert_int_equal(fi_trecv(to->ep, in, LEN, NULL, FI_ADDR_UNSPEC, 7, 0, &rx), 0);
	assert_int_equal(fi_tsend(from->ep, out, LEN, NULL, addr, 7, &tx), 0);
	while (!sent || !received) {
		int ret = step(from, &entry);

		assert_true(ret >= 0 && time(NULL) < end);
		sent |= ret > 0;
		ret = step(to, &entry);
		assert_true(ret >= 0);
		received |= ret > 0;
	}
	assert_memory_equal(in, out, LEN);
}

struct pair {
	struct rdm_end own, peer;
	fi_addr_t addr; /* of the peer */
};

static void open_pair(struct pair *pair)
{
	setup(&pair->own);
	setup(&pair->peer);
	assert_int_equal(
		fi_av_insert(pair->own.av, &pair->peer.addr, 1, &pair->addr, 0, NULL),
		1);
}

static void close_pair(struct pair *pair)
{
	rdm_end_close(&pair->own);
	rdm_end_close(&pair->peer);
}

static uint16_t port_of(const struct rdm_end *end)
{
	return ntohs(end->addr.sin_port);
}

/* The peer is connected: all messages go to it, although another process claims its
 * port. */
static void test_a_connection_is_not_taken_over(void **state)
{
	struct pair pair;

	(void)state;
	open_pair(&pair);
	deliver(&pair.own, &pair.peer, pair.addr);
	for (int i = 0; i < MESSAGES; i++) {
		int stranger = claim(&pair.own, port_of(&pair.peer));

		deliver(&pair.own, &pair.peer, pair.addr);
		expect_rejected(&pair.own, stranger);
	}
	close_pair(&pair);
}

/* The stranger comes before there is a connection: the peer is asked. */
static void test_nor_an_address_without_connection(void **state)
{
	struct pair pair;
	int stranger;

	(void)state;
	open_pair(&pair);
	stranger = claim(&pair.own, port_of(&pair.peer));
	expect_silence(&pair.own, stranger);
	for (int i = 0; i < MESSAGES; i++)
		deliver(&pair.own, &pair.peer, pair.addr);
	expect_rejected(&pair.own, stranger);
	close_pair(&pair);
}

/* A request that claims the address of the endpoint that it is sent to. */
static void test_nor_the_address_of_the_endpoint(void **state)
{
	struct rdm_end own;

	(void)state;
	setup(&own);
	expect_rejected(&own, claim(&own, port_of(&own)));
	rdm_end_close(&own);
}

/* An endpoint that no AV has gets through, as a request without a listener does. */
static void test_the_unknown_get_through(void **state)
{
	struct rdm_end own, peer;
	fi_addr_t addr;

	(void)state;
	setup(&own);
	setup(&peer);
	assert_int_equal(fi_av_insert(peer.av, &own.addr, 1, &addr, 0, NULL), 1);
	deliver(&peer, &own, addr);
	rdm_end_close(&own);
	rdm_end_close(&peer);
}

/* ---- peers of another make, played by a listener ---- */

struct far {
	struct sockaddr_in name;
	fi_addr_t addr;
	int listener;
};

static void open_far(struct rdm_end *end, struct far *far, uint16_t port)
{
	far->listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	far->name = end->addr;
	far->name.sin_port = htons(unheard_port(port));
	assert_int_equal(bind(far->listener, (void *)&far->name, sizeof(far->name)), 0);
	assert_int_equal(listen(far->listener, 4), 0);
	assert_int_equal(fi_av_insert(end->av, &far->name, 1, &far->addr, 0, NULL), 1);
}

/* The endpoint's request to the listener. */
static int take_request(struct rdm_end *end, struct far *far)
{
	time_t limit = time(NULL) + limit_ms(20000) / 1000;
	uint8_t head[CM_LEN], data[256];
	struct fi_cq_tagged_entry entry;
	int fd;

	while ((fd = accept4(far->listener, NULL, NULL, SOCK_CLOEXEC)) < 0) {
		assert_int_equal(step(end, &entry), 0);
		assert_true(time(NULL) < limit);
	}
	assert_int_equal(get(end, fd, head, sizeof(head)), sizeof(head));
	assert_int_equal(get(end, fd, data, head[3]), head[3]);
	return fd;
}

static void answer(int fd, const char *text)
{
	struct bytes bytes = hex(text);

	put(fd, bytes.at, bytes.len);
}

#define NO_EXT       "00000000 0000000000000000 0000000000000000"
#define IS_CONNECTED "03 06 0002" NO_EXT "0000000000000000 01 02"
#define ACCEPTED                                                                       \
	"03 01 0010" NO_EXT "0100000000000000"                                         \
	"00000000 801b0000 00100000 02 000000"

/* One that rejects has a connection: it is the one that asked. */
static void test_a_peer_of_another_make_is_known_by_its_reject(void **state)
{
	struct rdm_end own;
	uint8_t head[CM_LEN];
	struct far far;
	int peer, fd;

	(void)state;
	setup(&own);
	open_far(&own, &far, 12000);
	peer = claim(&own, ntohs(far.name.sin_port));
	fd = take_request(&own, &far);
	expect_silence(&own, peer);
	answer(fd, IS_CONNECTED);
	assert_int_equal(get(&own, peer, head, sizeof(head)), sizeof(head));
	assert_int_equal(head[1], ACCEPTS);
	close(peer);
	close(fd);
	close(far.listener);
	rdm_end_close(&own);
}

/* The requests of both ends cross, and that of the higher address is used; but not that
 * of a stranger. */
static void test_crossed_requests_are_no_proof(void **state)
{
	struct fi_context2 tx;
	struct rdm_end own;
	struct far far;
	int stranger, fd;

	(void)state;
	setup(&own);
	open_far(&own, &far, 62000);
	assert_int_equal(fi_tsend(own.ep, "abc", LEN, NULL, far.addr, 7, &tx), 0);
	fd = take_request(&own, &far);
	stranger = claim(&own, ntohs(far.name.sin_port));
	expect_silence(&own, stranger);
	answer(fd, ACCEPTED);
	expect_rejected(&own, stranger);
	close(fd);
	close(far.listener);
	rdm_end_close(&own);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_connection_is_not_taken_over),
		cmocka_unit_test(test_nor_an_address_without_connection),
		cmocka_unit_test(test_nor_the_address_of_the_endpoint),
		cmocka_unit_test(test_the_unknown_get_through),
		cmocka_unit_test(test_a_peer_of_another_make_is_known_by_its_reject),
		cmocka_unit_test(test_crossed_requests_are_no_proof),
	};

	(void)setenv("FI_TCP_LOCAL", "tcp", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
