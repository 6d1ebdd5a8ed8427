/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * FI_FENCE behind a rendezvous: the fenced operation is not sent until the earlier
 * message has its clear to send and is in the stream, and is acknowledged if its
 * completion level requires that. CS-024.
 */
#include "raw_far.h"

enum { LONG = 70000, LOOKS = 2000 };

struct fence {
	struct rdm *rdm;
	struct far far;
	int fd;
	uint8_t *payload;
	struct fi_rma_iov target;
	struct iovec small, large;
};

/* A request of one of ours, so that messages above 64 KiB are announced first. */
static void open_fence(struct fence *f, struct rdm *rdm)
{
	struct bytes request = hex("03 00 0008 " CM_OURS LITTLE "01 00 0000 00000300");

	memset(f, 0, sizeof(*f));
	f->rdm = rdm;
	open_lower(rdm, &f->far);
	/* No socket listens there, so a peer that connects may claim the address. */
	close(f->far.listener);
	f->far.listener = -1;
	f->fd = raw_connect(&rdm->t.name);
	memcpy(request.at + 34, &f->far.name.sin_port, 2);
	raw_send(f->fd, request.at, request.len);
	assert_int_equal(raw_recv(&rdm->t, f->fd, 40).len, 40);
	f->payload = calloc(1, LONG);
	assert_non_null(f->payload);
	memset(rdm->t.region, 'f', 4);
	f->small = (struct iovec){ rdm->t.region, 4 };
	f->large = (struct iovec){ f->payload, LONG };
	f->target = (struct fi_rma_iov){ 0x10, 4, 0xc0de };
}

static void close_fence(struct fence *f)
{
	close_far(&f->far, f->fd);
	free(f->payload);
}

static void send_long(struct fence *f, uint64_t flags)
{
	struct fi_msg_tagged msg = {
		.msg_iov = &f->large, .iov_count = 1, .tag = 9, .addr = f->far.addr
	};

	assert_int_equal(fi_tsendmsg(f->rdm->t.ep, &msg, flags | FI_COMPLETION), 0);
}

static void fenced_write(struct fence *f)
{
	struct fi_msg_rma msg = { .msg_iov = &f->small,
		.iov_count = 1,
		.addr = f->far.addr,
		.rma_iov = &f->target,
		.rma_iov_count = 1 };

	assert_int_equal(fi_writemsg(f->rdm->t.ep, &msg, FI_FENCE | FI_COMPLETION), 0);
}

/* A message posted behind the fence, which stays behind it. */
static void send_behind(struct fence *f)
{
	assert_int_equal(fi_tinject(f->rdm->t.ep, "abcd", 4, f->far.addr, 7), 0);
}

static void expect_nothing(struct fence *f)
{
	char byte;

	for (int i = 0; i < LOOKS; i++) {
		drive(&f->rdm->t);
		assert_int_equal(recv(f->fd, &byte, 1, MSG_DONTWAIT), -1);
		assert_int_equal(errno, EAGAIN);
	}
}

/* The announcement; returns its index. */
static uint8_t expect_announced(struct fence *f)
{
	struct bytes got = raw_recv(&f->rdm->t, f->fd, 32);

	assert_int_equal(got.len, 32);
	assert_int_equal(got.at[1], 5);
	assert_int_equal(got.at[16], 9);
	return got.at[4];
}

static void clear_to_send(struct fence *f, uint8_t index)
{
	struct bytes cts = hex("03 06 0000 00 00 10 00 1000000000000000");

	cts.at[4] = index;
	raw_send(f->fd, cts.at, cts.len);
}

static void expect_data(struct fence *f, uint8_t index)
{
	struct bytes got = raw_recv(&f->rdm->t, f->fd, 16);

	assert_int_equal(got.len, 16);
	assert_int_equal(got.at[1], 7);
	assert_int_equal(got.at[4], index);
	for (size_t left = LONG; left;) {
		got = raw_recv(&f->rdm->t, f->fd, left < 1000 ? left : 1000);
		assert_true(got.len > 0);
		left -= got.len;
	}
}

static void expect_write(struct fence *f)
{
	raw_expect(&f->rdm->t, f->fd,
		"03 04 0400 00 01 28 00 2c00000000000000 1000000000000000"
		"0400000000000000 dec0000000000000 66666666");
	raw_hex(f->fd, "03 00 0000 02 00 10 00 1000000000000000");
	(void)completion(&f->rdm->t);
}

static void expect_behind(struct fence *f)
{
	raw_expect(&f->rdm->t, f->fd,
		"03 01 0000 00 00 18 00 1c00000000000000 0700000000000000 61626364");
}

/* The clearance comes when the fenced write has been waiting for a while. */
static void the_data_go_before_what_is_fenced(void **state)
{
	struct fence f;
	uint8_t index;

	open_fence(&f, *state);
	send_long(&f, 0);
	fenced_write(&f);
	send_behind(&f);
	index = expect_announced(&f);
	expect_nothing(&f);
	clear_to_send(&f, index);
	expect_data(&f, index);
	(void)completion(&f.rdm->t);
	expect_write(&f);
	expect_behind(&f);
	close_fence(&f);
}

/* The same with two messages, cleared in the other order. */
static void the_data_of_each_message(void **state)
{
	uint8_t first, second;
	struct fence f;

	open_fence(&f, *state);
	send_long(&f, 0);
	send_long(&f, 0);
	fenced_write(&f);
	first = expect_announced(&f);
	second = expect_announced(&f);
	clear_to_send(&f, second);
	expect_data(&f, second);
	expect_nothing(&f);
	clear_to_send(&f, first);
	expect_data(&f, first);
	expect_write(&f);
	close_fence(&f);
}

/* Sent is not enough where the send is complete once it is received. */
static void and_their_acknowledgement(void **state)
{
	struct fence f;
	uint8_t index;

	open_fence(&f, *state);
	send_long(&f, FI_DELIVERY_COMPLETE);
	fenced_write(&f);
	index = expect_announced(&f);
	clear_to_send(&f, index);
	expect_data(&f, index);
	expect_nothing(&f);
	raw_hex(f.fd, "03 00 0000 02 00 10 00 1000000000000000");
	(void)completion(&f.rdm->t);
	expect_write(&f);
	close_fence(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		EACH(the_data_go_before_what_is_fenced),
		EACH(the_data_of_each_message),
		EACH(and_their_acknowledgement),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
