/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Peers of tcp;ofi_rxm that leave and come again, as plain sockets: what is sent
 * afterwards uses the new connection, however much the endpoint has noticed of the end
 * of the old one.
 */
#include "raw.h"

enum { TAG = 9 };

struct back {
	struct rdm_end env;
	uint16_t port;
	fi_addr_t addr;
	uint64_t id;
};

static void open_back(struct back *back, uint16_t port)
{
	struct sockaddr_in addr;

	setup(&back->env);
	back->port = unheard_port(port);
	addr = back->env.addr;
	addr.sin_port = htons(back->port);
	assert_int_equal(fi_av_insert(back->env.av, &addr, 1, &back->addr, 0, NULL), 1);
}

static int meet(struct back *back)
{
	int fd = send_request(&back->env, EAGER_MAX, back->port, NULL, 0);
	struct reply reply;

	get_reply(&back->env, fd, &reply);
	back->id = id_in(&reply);
	return fd;
}

/* A message of the endpoint comes to @fd, and one from there arrives. */
static void exchange(struct back *back, int fd)
{
	enum { PACKET = CORE_LEN + HDR_LEN + 4 };
	time_t end = time(NULL) + limit_ms(20000) / 1000;
	struct fi_cq_tagged_entry entry;
	struct fi_context2 tx, rx;
	uint8_t packet_in[PACKET];
	bool sent = false, came = false;
	char in[4] = "";

	assert_int_equal(
		fi_trecv(back->env.ep, in, 4, NULL, FI_ADDR_UNSPEC, TAG, 0, &rx), 0);
	packet(fd, back->id, TAGGED("0400000000000000", "0900000000000000") "61626364");
	assert_int_equal(
		fi_tsend(back->env.ep, "wxyz", 4, NULL, back->addr, TAG, &tx), 0);
	while (!sent || !came) {
		int ret = step(&back->env, &entry);

		assert_true(ret >= 0 && time(NULL) < end);
		sent |= ret > 0 && entry.op_context == &tx;
		came |= ret > 0 && entry.op_context == &rx;
	}
	assert_memory_equal(in, "abcd", 4);
	assert_int_equal(get(&back->env, fd, packet_in, PACKET), PACKET);
	assert_memory_equal(packet_in + PACKET - 4, "wxyz", 4);
}

/* The peer is there again before the endpoint has noticed anything. */
static void the_end_is_not_noticed(void **state)
{
	struct back back;
	int fd;

	(void)state;
	open_back(&back, 21000);
	fd = meet(&back);
	exchange(&back, fd);
	for (int i = 0; i < 5; i++) {
		close(fd);
		fd = meet(&back);
		exchange(&back, fd);
	}
	close(fd);
	rdm_end_close(&back.env);
}

/* The endpoint has done all that follows from the end. */
static void the_end_is_noticed(void **state)
{
	struct fi_cq_tagged_entry entry;
	struct back back;
	int fd;

	(void)state;
	open_back(&back, 22000);
	for (int i = 0; i < 5; i++) {
		fd = meet(&back);
		exchange(&back, fd);
		close(fd);
		for (int k = 0; k < 300; k++)
			assert_int_equal(step(&back.env, &entry), 0);
	}
	rdm_end_close(&back.env);
}

/* What was sent to the peer that left is not lost if it did not reach the queue below:
 * it waits for the peer. */
static void a_message_waits_for_the_peer(void **state)
{
	enum { PACKET = CORE_LEN + HDR_LEN + 4 };
	struct fi_cq_tagged_entry entry;
	uint8_t bytes[PACKET];
	struct fi_context2 tx;
	struct back back;
	int fd;

	(void)state;
	open_back(&back, 23000);
	fd = meet(&back);
	exchange(&back, fd);
	close(fd);
	for (int k = 0; k < 300; k++)
		assert_int_equal(step(&back.env, &entry), 0);
	assert_int_equal(
		fi_tsend(back.env.ep, "wxyz", 4, NULL, back.addr, TAG, &tx), 0);
	fd = send_request(&back.env, EAGER_MAX, back.port, NULL, 0);
	assert_int_equal(
		get(&back.env, fd, bytes, CM_LEN + ACCEPT_LEN), CM_LEN + ACCEPT_LEN);
	assert_int_equal(get(&back.env, fd, bytes, PACKET), PACKET);
	assert_memory_equal(bytes + PACKET - 4, "wxyz", 4);
	close(fd);
	rdm_end_close(&back.env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_end_is_not_noticed),
		cmocka_unit_test(the_end_is_noticed),
		cmocka_unit_test(a_message_waits_for_the_peer),
	};

	(void)setenv("FI_TCP_LOCAL", "tcp", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
