/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * FI_EP_RDM as the active end: its messages to peers of other implementations, and its
 * handling of their answers, of crossed requests and of restarted peers.
 */
#include "raw_far.h"

static void versions_of_the_past(void **state)
{
	static const uint8_t versions[] = { 0x00, 0x01, 0x81 };
	struct rdm *rdm = *state;

	for (size_t i = 0; i < sizeof(versions); i++) {
		struct far far;
		int fd = connected(rdm, &far, versions[i]);

		close_far(&far, fd);
	}
	assert_alive(rdm);
}

/* The bytes of each operation, as captured between other makes. */
static void operations_in_old_bytes(void **state)
{
	struct rdm *rdm = *state;
	struct far far;
	int fd = connected(rdm, &far, 0x81);
	struct fid_ep *ep = rdm->t.ep;
	struct iovec iov = { .iov_base = rdm->t.region, .iov_len = 4 };
	struct fi_msg_tagged msg = {
		.msg_iov = &iov, .iov_count = 1, .tag = 9, .addr = far.addr
	};
	char buf[4] = { 0 };

	memcpy(rdm->t.region, "wxyz", 4);
	assert_int_equal(fi_send(ep, "abcd", 4, NULL, far.addr, NULL), 0);
	raw_expect(&rdm->t, fd, "03 00 0000 00 00 10 00 1400000000000000 61626364");
	(void)completion(&rdm->t);
	assert_int_equal(
		fi_senddata(ep, "abcd", 4, NULL, 0x0123456789abcdef, far.addr, NULL),
		0);
	raw_expect(&rdm->t, fd,
		"03 00 0100 00 00 18 00 1c00000000000000"
		"efcdab8967452301 61626364");
	(void)completion(&rdm->t);
	assert_int_equal(fi_tinject(ep, "abcd", 4, far.addr, 1), 0);
	raw_expect(&rdm->t, fd,
		"03 01 0000 00 00 18 00 1c00000000000000 0100000000000000 61626364");

	/* Done when it is acknowledged, and not before. */
	assert_int_equal(
		fi_tsendmsg(ep, &msg, FI_DELIVERY_COMPLETE | FI_COMPLETION), 0);
	raw_expect(&rdm->t, fd,
		"03 01 0400 00 00 18 00 1c00000000000000 0900000000000000 7778797a");
	for (int i = 0; i < 1000; i++)
		drive(&rdm->t);
	assert_int_equal(rdm->t.done_count, 0);
	raw_hex(fd, "03 00 0000 02 00 10 00 1000000000000000");
	(void)completion(&rdm->t);

	assert_int_equal(fi_read(ep, buf, 4, NULL, far.addr, 0x1044, 0xc0de, NULL), 0);
	raw_expect(&rdm->t, fd,
		"03 02 0000 00 01 28 00 2800000000000000"
		"4410000000000000 0400000000000000 dec0000000000000");
	raw_hex(fd, "03 03 0000 00 01 10 00 1400000000000000 65666768");
	(void)completion(&rdm->t);
	assert_memory_equal(buf, "efgh", 4);

	assert_int_equal(fi_write(ep, "abcd", 4, NULL, far.addr, 4, 0xc0de, NULL), 0);
	{
		struct bytes got = raw_recv(&rdm->t, fd, 44);
		struct bytes want = hex("03 04 0000 00 01 28 00 2c00000000000000"
					"0400000000000000 0400000000000000"
					"dec0000000000000 61626364");

		assert_int_equal(got.len, want.len);
		got.at[7] = 0;
		/* Whether it asks for an acknowledgement is its own affair. */
		if (got.at[2] & 4) {
			raw_hex(fd, "03 00 0000 02 00 10 00 1000000000000000");
			got.at[2] = 0;
		}
		assert_memory_equal(got.at, want.at, want.len);
	}
	(void)completion(&rdm->t);
	close_far(&far, fd);
}

/* Records are numbered, for the sake of peers that were built to check it. */
static void records_are_numbered(void **state)
{
	struct rdm *rdm = *state;
	struct far far;
	int fd = connected(rdm, &far, 0x81);

	for (unsigned int i = 1; i < 300; i++) {
		struct bytes got;

		assert_int_equal(fi_tinject(rdm->t.ep, "abcd", 4, far.addr, 1), 0);
		got = raw_recv(&rdm->t, fd, 28);
		assert_int_equal(got.len, 28);
		assert_int_equal(got.at[7], i % 256);
		assert_int_equal(got.at[5], 0);
	}
	close_far(&far, fd);
}

/* Nothing new to an old peer: it would hang up, or die. */
static void atomics_are_refused_to_old_peers(void **state)
{
	struct rdm *rdm = *state;
	struct far far;
	int fd = connected(rdm, &far, 0x81);
	uint64_t one = 1;

	time_t end = now_s() + PATIENCE_S;
	ssize_t ret = fi_atomic(
		rdm->t.ep, &one, 1, NULL, far.addr, 0, 0xc0de, FI_UINT64, FI_SUM, NULL);

	/* At once, or by an error entry. */
	while (!ret && !rdm->t.failed_count) {
		drive(&rdm->t);
		assert_true(now_s() < end);
	}
	assert_int_equal(ret ? -ret : rdm->t.failed_err, FI_EOPNOTSUPP);
	assert_int_equal(fi_tinject(rdm->t.ep, "abcd", 4, far.addr, 1), 0);
	raw_expect(&rdm->t, fd,
		"03 01 0000 00 00 18 00 1c00000000000000 0100000000000000 61626364");
	close_far(&far, fd);
}

static void answers_that_are_none(void **state)
{
	static const char *const texts[] = {
		"48 54 54 50 2f 31 2e 31 20 34 30 30",
		"02 01 0008 " CM_OLD LITTLE "00 00 0000 00000202",
		"03 00 0008 " CM_OLD LITTLE "00 00 0001 00000202",
		"03 01 0000 " CM_OLD LITTLE,
		"03 01 0101 " CM_OLD LITTLE,
		"03 06 0008 " CM_OLD "0000000000000000 00 00 0001 00000202",
		"03 06 0002 " CM_OLD "0000000000000000 01 01",
	};
	struct rdm *rdm = *state;
	struct far far;
	bool sent = false;
	struct bytes request;
	int fd;

	open_lower(rdm, &far);
	for (size_t i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
		fd = accept_from(rdm, &far, &sent, 1);
		(void)take_request(rdm, fd);
		raw_hex(fd, texts[i]);
		raw_expect_closed(&rdm->t, fd);
		assert_alive(rdm);
	}
	/* And when it is one at last, all is well. */
	fd = accept_from(rdm, &far, &sent, 1);
	request = take_request(rdm, fd);
	reply(fd, &request, 0x81);
	send_rest(rdm, &far, &sent, 1);
	raw_expect(&rdm->t, fd,
		"03 01 0000 00 00 18 00 1c00000000000000 0100000000000000 61626364");
	close_far(&far, fd);
}

static void crossed_with_a_lower_peer(void **state)
{
	struct bytes request, mine, got;
	struct rdm *rdm = *state;
	bool sent = false;
	struct far far;
	int fd, theirs;

	open_lower(rdm, &far);
	fd = accept_from(rdm, &far, &sent, 1);
	mine = take_request(rdm, fd);
	theirs = request_from(rdm, &far, 1, &request);
	got = raw_recv(&rdm->t, theirs, 40);
	assert_int_equal(got.len, 40);
	assert_int_equal(got.at[1], 6);
	assert_memory_equal(got.at + 32, request.at + 32, 8);
	raw_expect_closed(&rdm->t, theirs);
	reply(fd, &mine, 0x81);
	send_rest(rdm, &far, &sent, 1);
	raw_expect(&rdm->t, fd,
		"03 01 0000 00 00 18 00 1c00000000000000 0100000000000000 61626364");
	close_far(&far, fd);
}

/* Theirs survives; mine is rejected by the same peer. */
static void crossed_with_a_higher_peer(void **state)
{
	struct bytes request, mine;
	struct rdm *rdm = *state;
	bool sent = false;
	struct far far;
	int fd, theirs;

	open_higher(rdm, &far);
	fd = accept_from(rdm, &far, &sent, 1);
	mine = take_request(rdm, fd);
	theirs = request_from(rdm, &far, 1, &request);
	expect_type(rdm, theirs, 1);
	reject(fd, &mine, CM_OLD);
	raw_expect_closed(&rdm->t, fd);
	send_rest(rdm, &far, &sent, 1);
	raw_expect(&rdm->t, theirs,
		"03 01 0000 00 00 18 00 1c00000000000000 0100000000000000 61626364");
	close_far(&far, theirs);
}

/* While a connection exists no request replaces it, whatever identity the request has.
 * When it has ended, the next request is accepted. */
static void second_requests(void **state)
{
	struct rdm *rdm = *state;
	struct bytes request;
	struct far far;
	int first, again;

	first = connected(rdm, &far, 0x81);
	for (uint8_t id = 2; id < 5; id++) {
		again = request_from(rdm, &far, id, &request);
		expect_type(rdm, again, 6);
		raw_expect_closed(&rdm->t, again);
	}
	assert_int_equal(fi_tinject(rdm->t.ep, "abcd", 4, far.addr, 1), 0);
	raw_expect(&rdm->t, first,
		"03 01 0000 00 00 18 00 1c00000000000000 0100000000000000 61626364");
	close(first);
	again = request_from(rdm, &far, 3, &request);
	expect_type(rdm, again, 1);
	vouch(rdm, &far);
	raw_hex(again, "03 04 0400 00 00 10 00 1000000000000000");
	raw_expect(&rdm->t, again, "03 00 0000 02 00 10 00 1000000000000000");
	close_far(&far, again);
}

/* A peer that rejects is alive, unlike a host that refuses: it is asked again, for
 * longer than refusals are tolerated. */
static void a_busy_peer_is_asked_again(void **state)
{
	enum { BUSY_NS = 200000000 };
	struct rdm *rdm = *state;
	struct bytes request;
	struct timespec ts;
	bool sent = false;
	uint64_t now, end = 0;
	struct far far;
	int fd;

	open_lower(rdm, &far);
	for (;;) {
		fd = accept_from(rdm, &far, &sent, 1);
		request = take_request(rdm, fd);
		(void)clock_gettime(CLOCK_MONOTONIC, &ts);
		now = (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
		end = end ? end : now + BUSY_NS;
		if (now >= end)
			break;
		reject(fd, &request, CM_OLD);
		raw_expect_closed(&rdm->t, fd);
	}
	reply(fd, &request, 0x81);
	send_rest(rdm, &far, &sent, 1);
	raw_expect(&rdm->t, fd,
		"03 01 0000 00 00 18 00 1c00000000000000 0100000000000000 61626364");
	(void)completion(&rdm->t);
	assert_int_equal(rdm->t.failed_count, 0);
	close_far(&far, fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH(versions_of_the_past),
		EACH(operations_in_old_bytes),
		EACH(records_are_numbered),
		EACH(atomics_are_refused_to_old_peers),
		EACH(answers_that_are_none),
		EACH(crossed_with_a_lower_peer),
		EACH(crossed_with_a_higher_peer),
		EACH(second_requests),
		EACH(a_busy_peer_is_asked_again),
	};

	(void)setenv("FI_TCP_REFUSED_TIMEOUT", "50", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
