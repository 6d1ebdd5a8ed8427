/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Messages without a receive while they arrive: whatever is done with a message when
 * the first @cut bytes of its payload have arrived, the rest is stored or dropped
 * correctly.
 */
#include "raw_rdm.h"

enum { LEN = 8, TAG = 7 };

static const char payload[] = "abcdefgh";
static const char ack[] = "03 00 0000 02 00 10 00 1000000000000000";

static struct fi_context2 peeked, received;

static ssize_t start(struct rdm *rdm, const struct iovec *iov, size_t count,
	void *context, uint64_t flags)
{
	struct fi_msg_tagged msg = {
		.msg_iov = iov,
		.iov_count = count,
		.addr = FI_ADDR_UNSPEC,
		.tag = TAG,
		.context = context,
	};

	return fi_trecvmsg(rdm->t.ep, &msg, flags);
}

/* With @flags, until there is one. */
static void peek(struct rdm *rdm, uint64_t flags)
{
	time_t end = now_s() + PATIENCE_S;

	while (!rdm->t.done_count) {
		assert_int_equal(start(rdm, NULL, 0, &peeked, FI_PEEK | flags), 0);
		drive(&rdm->t);
		assert_true(now_s() < end);
	}
	rdm->t.failed_count = 0;
	assert_ptr_equal(completion(&rdm->t).op_context, &peeked);
}

static void send_begin(int fd, size_t cut)
{
	struct bytes head =
		hex("03 01 0400 00 00 18 00 2000000000000000 0700000000000000");

	memcpy(head.at + head.len, payload, cut);
	raw_send(fd, head.at, head.len + cut);
}

static void send_rest(struct rdm *rdm, int fd, size_t cut)
{
	if (cut < LEN)
		raw_send(fd, payload + cut, LEN - cut);
	raw_expect(&rdm->t, fd, ack);
}

static void expect_received(struct rdm *rdm, const char *buf)
{
	struct fi_cq_tagged_entry entry = completion(&rdm->t);

	assert_ptr_equal(entry.op_context, &received);
	assert_int_equal(entry.len, LEN);
	assert_memory_equal(buf, payload, LEN);
}

static void one_is_received(void **state)
{
	struct rdm *rdm = *state;
	int fd = rdm_connect(rdm, VERSION_1);

	for (size_t cut = 0; cut <= LEN; cut++) {
		for (size_t first = 0; first <= LEN; first++) {
			char buf[LEN + 1] = "";
			struct iovec iov[] = { { buf, first },
				{ buf + first, LEN - first } };

			send_begin(fd, cut);
			peek(rdm, 0);
			assert_int_equal(start(rdm, iov, 2, &received, 0), 0);
			send_rest(rdm, fd, cut);
			expect_received(rdm, buf);
		}
	}
	close(fd);
	assert_alive(rdm);
}

static void too_long_a_one_is_cut_off(void **state)
{
	struct rdm *rdm = *state;
	int fd = rdm_connect(rdm, VERSION_1);

	for (size_t cut = 0; cut <= LEN; cut++) {
		for (size_t room = 1; room < LEN; room++) {
			char buf[LEN + 1] = "";
			struct iovec iov = { buf, room };
			time_t end = now_s() + PATIENCE_S;

			send_begin(fd, cut);
			peek(rdm, 0);
			assert_int_equal(start(rdm, &iov, 1, &received, 0), 0);
			send_rest(rdm, fd, cut);
			while (!rdm->t.failed_count) {
				drive(&rdm->t);
				assert_true(now_s() < end);
			}
			assert_int_equal(rdm->t.failed_err, FI_ETRUNC);
			assert_memory_equal(buf, payload, room);
			assert_int_equal(buf[room], 0);
		}
	}
	close(fd);
	assert_alive(rdm);
}

static void one_is_discarded(void **state)
{
	struct rdm *rdm = *state;
	int fd = rdm_connect(rdm, VERSION_1);

	for (size_t cut = 0; cut <= LEN; cut++) {
		char buf[LEN + 1] = "";
		struct iovec iov = { buf, LEN };

		send_begin(fd, cut);
		peek(rdm, FI_DISCARD);
		send_rest(rdm, fd, cut);
		/* The next one is whole. */
		assert_int_equal(start(rdm, &iov, 1, &received, 0), 0);
		send_begin(fd, LEN);
		send_rest(rdm, fd, LEN);
		expect_received(rdm, buf);
	}
	close(fd);
	assert_alive(rdm);
}

/* Like send_begin; the sender asks for a note of the match. */
static void send_begin_match(int fd, size_t cut)
{
	struct bytes head =
		hex("03 01 1000 00 00 20 00 2800000000000000 0700000000000000"
		    "efcdab8967452301");

	memcpy(head.at + head.len, payload, cut);
	raw_send(fd, head.at, head.len + cut);
}

/* Received or discarded, the sender's operation ends with it. */
static void its_sender_hears_of_the_match(void **state)
{
	struct rdm *rdm = *state;
	int fd = rdm_connect(rdm, OURS);

	for (size_t cut = 0; cut <= LEN; cut++) {
		for (int discard = 0; discard < 2; discard++) {
			char buf[LEN + 1] = "";
			struct iovec iov = { buf, LEN };

			send_begin_match(fd, cut);
			peek(rdm, discard ? FI_DISCARD : 0);
			if (!discard)
				assert_int_equal(start(rdm, &iov, 1, &received, 0), 0);
			if (cut < LEN)
				raw_send(fd, payload + cut, LEN - cut);
			raw_expect(&rdm->t, fd,
				"03 46 0000 00 00 18 00 1800000000000000"
				"efcdab8967452301");
			if (!discard)
				expect_received(rdm, buf);
		}
	}
	close(fd);
	assert_alive(rdm);
}

/* All of @len bytes, while the endpoint reads. */
static void send_driven(struct rdm *rdm, int fd, const uint8_t *at, size_t len)
{
	time_t end = now_s() + PATIENCE_S;

	while (len) {
		ssize_t n = send(fd, at, len, MSG_NOSIGNAL | MSG_DONTWAIT);

		assert_true(n > 0 || errno == EAGAIN);
		if (n > 0) {
			at += n;
			len -= (size_t)n;
		}
		drive(&rdm->t);
		assert_true(now_s() < end);
	}
}

/* Messages that were matched half-arrived do not count as waiting any more: after more
 * of them than the limit has room for, the next one is kept, and what is behind it
 * read. */
static void its_memory_is_returned(void **state)
{
	enum { LARGE = 300000, ROUNDS = 8 };
	struct rdm *rdm = *state;
	int fd = rdm_connect(rdm, OURS);
	struct bytes head = hex("03 01 0400 00 00 18 00 f893040000000000"
				"0700000000000000");
	uint8_t *big = calloc(1, LARGE), *buf = malloc(LARGE);
	struct iovec iov = { buf, LARGE };

	assert_true(big && buf);
	for (int round = 0; round <= ROUNDS; round++) {
		raw_send(fd, head.at, head.len);
		send_driven(rdm, fd, big, LARGE / 2);
		peek(rdm, 0);
		if (round == ROUNDS)
			break;
		assert_int_equal(start(rdm, &iov, 1, &received, 0), 0);
		send_driven(rdm, fd, big, LARGE - LARGE / 2);
		raw_expect(&rdm->t, fd, ack);
		assert_int_equal(completion(&rdm->t).len, LARGE);
	}
	send_driven(rdm, fd, big, LARGE - LARGE / 2);
	raw_expect(&rdm->t, fd, ack);
	raw_hex(fd, "03 47 0000 00 00 18 00 1800000000000000 0200000000000000");
	raw_expect(&rdm->t, fd,
		"03 48 0000 00 00 18 00 1800000000000000 0200000000000000");
	close(fd);
	free(big);
	free(buf);
	assert_alive(rdm);
}

static void one_is_claimed(void **state)
{
	struct rdm *rdm = *state;
	int fd = rdm_connect(rdm, VERSION_1);

	for (size_t cut = 0; cut <= LEN; cut++) {
		for (int late = 0; late < 2; late++) {
			char buf[LEN + 1] = "";
			struct iovec iov = { buf, LEN };

			send_begin(fd, cut);
			peek(rdm, FI_CLAIM);
			if (late)
				send_rest(rdm, fd, cut);
			assert_int_equal(start(rdm, &iov, 1, &peeked, FI_CLAIM), 0);
			if (!late)
				send_rest(rdm, fd, cut);
			assert_ptr_equal(completion(&rdm->t).op_context, &peeked);
			assert_memory_equal(buf, payload, LEN);
		}
	}
	close(fd);
	assert_alive(rdm);
}

/* The rest never arrives: a receive of that message fails, and complete messages
 * stay. */
static void its_connection_is_lost(void **state)
{
	struct rdm *rdm = *state;

	for (size_t cut = 0; cut <= LEN; cut++) {
		int fd = rdm_connect(rdm, VERSION_1);
		time_t end = now_s() + PATIENCE_S;
		char buf[LEN + 1] = "";
		struct iovec iov = { buf, LEN };

		send_begin(fd, cut);
		peek(rdm, 0);
		close(fd);
		for (int i = 0; i < 1000; i++)
			drive(&rdm->t);
		assert_int_equal(start(rdm, &iov, 1, &received, 0), 0);
		while (!rdm->t.failed_count && !rdm->t.done_count) {
			drive(&rdm->t);
			assert_true(now_s() < end);
		}
		if (cut == LEN)
			expect_received(rdm, buf);
		else
			assert_int_equal(rdm->t.failed_err, FI_ECANCELED);
		rdm->t.failed_count = 0;
	}
	assert_alive(rdm);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH(one_is_received),
		EACH(too_long_a_one_is_cut_off),
		EACH(one_is_discarded),
		EACH(one_is_claimed),
		EACH(its_connection_is_lost),
		EACH(its_sender_hears_of_the_match),
		EACH(its_memory_is_returned),
	};

	/* Read once, when the provider is first asked for something. */
	assert_int_equal(setenv("FI_TCP_UNEXPECTED_SIZE", "1048576", 1), 0);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
