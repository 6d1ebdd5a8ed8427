/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernel.h"

#include "../../log_lines.h"

/*
 * Messages that leave: what each errno of a send means, for each way that a message can
 * take, and which messages and datagrams leave together as one train.
 */

enum { LEN = 100 };

/* ---- errors ---- */

static uint8_t bytes[2000];

static ssize_t send_one(struct host *h)
{
	return fi_send(h->fid, bytes, LEN, NULL, h->a, bytes);
}

static ssize_t send_empty(struct host *h)
{
	return fi_send(h->fid, NULL, 0, NULL, h->a, bytes);
}

static ssize_t send_pieces(struct host *h)
{
	const struct iovec iov[] = { { bytes, 1 }, { bytes + 1, LEN - 1 } };

	return fi_sendv(h->fid, iov, NULL, 2, h->a, bytes);
}

static ssize_t send_more(struct host *h, size_t len)
{
	const struct iovec iov = { bytes, len };
	const struct fi_msg msg = {
		.msg_iov = &iov, .iov_count = 1, .addr = h->a, .context = bytes
	};

	return fi_sendmsg(h->fid, &msg, FI_MORE | FI_COMPLETION);
}

/* Too long to be gathered. */
static ssize_t send_long_more(struct host *h)
{
	return send_more(h, 1453);
}

static const struct way {
	ssize_t (*start)(struct host *h);
	size_t len, pieces;
} ways[] = {
	{ send_one, LEN, 1 },
	{ send_empty, 0, 1 },
	{ send_pieces, LEN, 2 },
	{ send_long_more, 1453, 1 },
};

static const int full_errors[] = { EAGAIN, ENOBUFS, ENOMEM };
static const int passing_errors[] = { EINTR, ECONNREFUSED };
static const int fatal_errors[] = { EPERM, EACCES, ENETUNREACH, EHOSTUNREACH, EMSGSIZE,
	EINVAL, EIO, ENOTCONN, EPIPE };

static void check_sent(struct host *h, const struct way *way)
{
	struct fi_cq_tagged_entry e = completed(h, NULL);

	assert_int_equal(kernel.call_count, 1);
	assert_int_equal(kernel.calls[0].len, way->len);
	assert_int_equal(kernel.calls[0].pieces, way->pieces);
	assert_int_equal(kernel.calls[0].segment, 0);
	assert_int_equal(kernel.calls[0].port, PORT_A);
	assert_ptr_equal(e.op_context, bytes);
	assert_int_equal(e.flags, FI_SEND | FI_MSG);
	quiet(h);
	kernel.call_count = 0;
}

static void errors_of_sends(void **state)
{
	struct host h;

	(void)state;
	host_open(&h, (struct host_options){ .caps = FI_MSG });
	for (size_t w = 0; w < WF_ARRAY_SIZE(ways); w++) {
		for (size_t i = 0; i < WF_ARRAY_SIZE(full_errors); i++) {
			kernel_reset();
			fail_sends(full_errors[i], 2);
			assert_int_equal(ways[w].start(&h), -FI_EAGAIN);
			assert_int_equal(ways[w].start(&h), -FI_EAGAIN);
			quiet(&h);
			assert_int_equal(ways[w].start(&h), 0);
			check_sent(&h, &ways[w]);
		}
		for (size_t i = 0; i < WF_ARRAY_SIZE(passing_errors); i++) {
			kernel_reset();
			fail_sends(passing_errors[i], 3);
			assert_int_equal(ways[w].start(&h), 0);
			assert_int_equal(kernel.refused, 3);
			check_sent(&h, &ways[w]);
		}
		for (size_t i = 0; i < WF_ARRAY_SIZE(fatal_errors); i++) {
			struct fi_cq_err_entry err;

			kernel_reset();
			fail_sends(fatal_errors[i], 1);
			assert_int_equal(ways[w].start(&h), 0);
			assert_int_equal(kernel.refused, 1);
			err = failed(&h);
			assert_int_equal(err.err, fatal_errors[i]);
			assert_ptr_equal(err.op_context, bytes);
			assert_int_equal(err.tag, 0);
			assert_int_equal(err.len, 0);
			assert_int_equal(err.flags, FI_SEND | FI_MSG);
			quiet(&h);
		}
	}
	host_close(&h);
}

/* An injected message reports nothing but failures. */
static void errors_of_injects(void **state)
{
	struct host h;

	(void)state;
	host_open(&h, (struct host_options){ .caps = FI_MSG });
	for (size_t i = 0; i < WF_ARRAY_SIZE(full_errors); i++) {
		kernel_reset();
		fail_sends(full_errors[i], 1);
		assert_int_equal(fi_inject(h.fid, bytes, LEN, h.a), -FI_EAGAIN);
		assert_int_equal(fi_inject(h.fid, bytes, LEN, h.a), 0);
		quiet(&h);
	}
	kernel_reset();
	fail_sends(EPERM, 1);
	assert_int_equal(fi_inject(h.fid, bytes, LEN, h.a), 0);
	assert_int_equal(failed(&h).err, EPERM);
	host_close(&h);
}

/* ---- gathered messages ---- */

static void gather(struct host *h, size_t count, size_t len)
{
	for (size_t i = 0; i < count; i++)
		assert_int_equal(send_more(h, len), 0);
}

static void complete_sends(struct host *h, unsigned int count)
{
	while (count--)
		assert_int_equal(completed(h, NULL).flags, FI_SEND | FI_MSG);
	quiet(h);
}

/* A full socket keeps gathered messages; they leave later, and each completes once. */
static void full_while_messages_are_gathered(void **state)
{
	struct host h;

	(void)state;
	host_open(&h, (struct host_options){ .caps = FI_MSG });
	for (size_t i = 0; i < WF_ARRAY_SIZE(full_errors); i++)
		for (unsigned int count = 1; count <= 3; count++) {
			kernel_reset();
			gather(&h, count, LEN);
			fail_sends(full_errors[i], 3);
			progress(&h);
			assert_false(udp_flushed(&h.udp->ep));
			/* Nothing may overtake them. */
			assert_int_equal(send_long_more(&h), -FI_EAGAIN);
			/* This one joins them, and leaves with them. */
			assert_int_equal(send_one(&h), 0);
			assert_int_equal(kernel.refused, 3);
			assert_int_equal(kernel.call_count, 0);
			progress(&h);
			assert_true(udp_flushed(&h.udp->ep));
			assert_int_equal(kernel.call_count, 1);
			assert_int_equal(kernel.calls[0].len, (count + 1) * LEN);
			assert_int_equal(kernel.calls[0].segment, LEN);
			complete_sends(&h, count + 1);
		}
	host_close(&h);
}

/* No thread sleeps while messages are gathered that it could not send. */
static void full_before_a_sleep(void **state)
{
	struct host h;

	(void)state;
	host_open(&h, (struct host_options){ .caps = FI_MSG });
	gather(&h, 2, LEN);
	fail_sends(EAGAIN, 2);
	wf_lock(&h.udp->ep.lock);
	assert_false(udp_arm(&h.udp->ep));
	assert_false(udp_arm(&h.udp->ep));
	assert_true(udp_arm(&h.udp->ep));
	wf_unlock(&h.udp->ep.lock);
	assert_int_equal(kernel.call_count, 1);
	complete_sends(&h, 2);
	host_close(&h);
}

/* A train that is refused is sent message by message; a message that is refused fails
 * alone. */
static void refused_while_messages_are_gathered(void **state)
{
	struct host h;

	(void)state;
	host_open(&h, (struct host_options){ .caps = FI_MSG });
	for (size_t i = 0; i < WF_ARRAY_SIZE(fatal_errors); i++) {
		kernel_reset();
		atomic_store(&h.udp->refused_trains, 0);
		gather(&h, 3, LEN);
		/* A train of 3, its first message; then the train of 2 is sent. */
		fail_sends(fatal_errors[i], 2);
		progress(&h);
		assert_int_equal(failed(&h).err, fatal_errors[i]);
		complete_sends(&h, 2);
		assert_int_equal(kernel.call_count, 1);
		assert_int_equal(kernel.calls[0].len, 2 * LEN);
		assert_true(udp_flushed(&h.udp->ep));
	}
	host_close(&h);
}

/* Which messages are gathered, and with which they leave. */
static void what_is_gathered(void **state)
{
	static const struct {
		size_t len;
		bool waits;
	} rows[] = { { 0, false }, { 1, true }, { 1451, true }, { 1452, true },
		{ 1453, false } };
	struct host h;

	(void)state;
	host_open(&h, (struct host_options){ .caps = FI_MSG });
	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		kernel_reset();
		assert_int_equal(send_more(&h, rows[i].len), 0);
		assert_int_equal(kernel.call_count, !rows[i].waits);
		assert_int_equal(udp_flushed(&h.udp->ep), !rows[i].waits);
		progress(&h);
		assert_int_equal(kernel.call_count, 1);
		assert_int_equal(kernel.calls[0].len, rows[i].len);
		complete_sends(&h, 1);
	}
	host_close(&h);
}

/* As many as one train has, of the longest; the next one sends them. */
static void as_many_as_a_train_has(void **state)
{
	static const struct {
		size_t len;
		unsigned int trains;
	} rows[] = { { 1, 1 }, { 1022, 1 }, { 1023, 2 }, { 1452, 2 } };
	struct host h;

	(void)state;
	host_open(&h, (struct host_options){ .caps = FI_MSG });
	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		kernel_reset();
		gather(&h, 64, rows[i].len);
		assert_int_equal(kernel.call_count, 0);
		gather(&h, 1, rows[i].len);
		assert_int_equal(kernel.call_count, rows[i].trains);
		complete_sends(&h, 65);
		assert_int_equal(kernel.call_count, rows[i].trains + 1);
		assert_int_equal(kernel.calls[rows[i].trains].len, rows[i].len);
	}
	host_close(&h);
}

/* To another peer, another train. */
static void another_peer(void **state)
{
	struct host h;

	(void)state;
	host_open(&h, (struct host_options){ .caps = FI_MSG });
	gather(&h, 2, LEN);
	assert_int_equal(fi_inject(h.fid, bytes, LEN, h.b), 0);
	assert_int_equal(kernel.call_count, 2);
	assert_int_equal(kernel.calls[0].port, PORT_A);
	assert_int_equal(kernel.calls[0].len, 2 * LEN);
	assert_int_equal(kernel.calls[1].port, PORT_B);
	assert_int_equal(kernel.calls[1].len, LEN);
	complete_sends(&h, 2);
	host_close(&h);
}

/* With automatic progress nothing waits. */
static void automatic_progress(void **state)
{
	struct host h;

	(void)state;
	host_open(&h,
		(struct host_options){ .caps = FI_MSG, .progress = FI_PROGRESS_AUTO });
	gather(&h, 2, LEN);
	assert_int_equal(kernel.call_count, 2);
	host_close(&h);
}

/* ---- datagrams of a provider above ---- */

enum { DATAGRAMS_MAX = 600 };

static struct wf_datagram datagrams[DATAGRAMS_MAX];
static struct iovec pieces[8];

/* @count datagrams of @len bytes in @n pieces. */
static void put_datagrams(size_t from, size_t count, size_t len, size_t n)
{
	for (size_t i = from; i < from + count; i++)
		datagrams[i] = (struct wf_datagram){ pieces, n, len };
}

static void set_pieces(size_t len, size_t n)
{
	for (size_t i = 0; i < n; i++)
		pieces[i] = (struct iovec){ bytes, i + 1 < n ? 1 : len + 1 - n };
}

/* How many datagrams of one size are one train: limits of number, bytes and pieces. */
static void trains_of_one_size(void **state)
{
	static const struct {
		size_t count, len, pieces, first;
	} rows[] = {
		{ 1, 1000, 1, 1 },
		{ 2, 1000, 1, 2 },
		{ 63, 1000, 1, 63 },
		{ 64, 1000, 1, 64 },
		{ 65, 1000, 1, 64 },
		/* 65467 bytes */
		{ 7, 9352, 1, 7 },
		{ 7, 9353, 1, 6 },
		{ 2, 32733, 1, 2 },
		{ 2, 32734, 1, 1 },
		{ 64, 8, 8, 64 },
		{ 3, 0, 1, 1 },
	};
	struct host h;

	(void)state;
	host_open(&h, (struct host_options){ .caps = FI_MSG });
	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		static uint8_t big[40000];
		bool train = rows[i].first > 1;
		const struct call *call = &kernel.calls[0];

		kernel_reset();
		set_pieces(rows[i].len, rows[i].pieces);
		if (rows[i].pieces == 1)
			pieces[0] = (struct iovec){ big, rows[i].len };
		put_datagrams(0, rows[i].count, rows[i].len, rows[i].pieces);
		assert_int_equal(
			udp_send_many(&h.udp->ep, h.a, datagrams, rows[i].count),
			rows[i].count);
		assert_int_equal(call->len, rows[i].first * rows[i].len);
		assert_int_equal(call->pieces, rows[i].first * rows[i].pieces);
		assert_int_equal(call->segment, train ? rows[i].len : 0);
		assert_int_equal(call->port, PORT_A);
	}
	host_close(&h);
}

/* All datagrams of a train are as long as the first one, but the last may be
 * shorter. */
static void trains_of_several_sizes(void **state)
{
	static const struct {
		size_t count, lens[5];
		unsigned int calls;
		size_t sent[5], segments[5];
	} rows[] = {
		{ 3, { 10, 10, 9 }, 1, { 29 }, { 10 } },
		{ 3, { 10, 9, 10 }, 2, { 19, 10 }, { 10 } },
		{ 3, { 10, 9, 9 }, 2, { 19, 9 }, { 10 } },
		{ 3, { 9, 10, 10 }, 2, { 9, 20 }, { 0, 10 } },
		{ 3, { 10, 0, 10 }, 3, { 10, 0, 10 }, { 0 } },
		{ 3, { 0, 10, 10 }, 2, { 0, 20 }, { 0, 10 } },
		{ 5, { 10, 10, 1, 1, 1 }, 2, { 21, 2 }, { 10, 1 } },
		{ 2, { 1, 1 }, 1, { 2 }, { 1 } },
		/* 65467 bytes */
		{ 2, { 32734, 32733 }, 1, { 65467 }, { 32734 } },
		{ 2, { 32735, 32733 }, 2, { 32735, 32733 }, { 0 } },
	};
	struct host h;

	(void)state;
	host_open(&h, (struct host_options){ .caps = FI_MSG });
	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		static uint8_t large[40000];
		struct iovec iov[5];

		kernel_reset();
		for (size_t k = 0; k < rows[i].count; k++) {
			iov[k] = (struct iovec){ large, rows[i].lens[k] };
			datagrams[k] =
				(struct wf_datagram){ &iov[k], 1, rows[i].lens[k] };
		}
		assert_int_equal(
			udp_send_many(&h.udp->ep, h.a, datagrams, rows[i].count),
			rows[i].count);
		assert_int_equal(kernel.call_count, rows[i].calls);
		for (unsigned int k = 0; k < rows[i].calls; k++) {
			assert_int_equal(kernel.calls[k].len, rows[i].sent[k]);
			assert_int_equal(kernel.calls[k].segment, rows[i].segments[k]);
		}
	}
	host_close(&h);
}

/* The socket is full at the n-th call: so many datagrams have left. */
static void full_in_the_middle(void **state)
{
	struct host h;

	(void)state;
	host_open(&h, (struct host_options){ .caps = FI_MSG });
	set_pieces(LEN, 1);
	put_datagrams(0, 200, LEN, 1);
	for (size_t i = 0; i < WF_ARRAY_SIZE(full_errors); i++)
		for (unsigned int at = 0; at < 4; at++) {
			kernel_reset();
			fail_sends(0, at);
			fail_sends(full_errors[i], 1);
			assert_int_equal(udp_send_many(&h.udp->ep, h.a, datagrams, 200),
				at * 64);
		}
	/* The same one by one: the train is refused, then the third datagram. */
	kernel_reset();
	fail_sends(EIO, 1);
	fail_sends(0, 2);
	fail_sends(EAGAIN, 1);
	assert_int_equal(udp_send_many(&h.udp->ep, h.a, datagrams, 200), 2);
	host_close(&h);
}

/* Eight trains in a row are refused: no more are tried. One that is sent between them
 * begins the count again. A datagram that is refused alone is lost, as in a network. */
static void trains_are_given_up(void **state)
{
	struct host h;

	(void)state;
	host_open(&h, (struct host_options){ .caps = FI_MSG });
	set_pieces(LEN, 1);
	put_datagrams(0, 3, LEN, 1);
	for (unsigned int round = 0; round < 2; round++) {
		for (unsigned int i = 0; i < 7 + round; i++) {
			kernel_reset();
			log_lines_start();
			fail_sends(EIO, 1);
			assert_int_equal(
				udp_send_many(&h.udp->ep, h.a, datagrams, 3), 3);
			assert_int_equal(kernel.call_count, 3);
			assert_int_equal(kernel.calls[0].segment, 0);
			/* It is told once. */
			assert_int_equal(log_lines_have("leave one by one"), i == 7);
		}
		kernel_reset();
		assert_int_equal(udp_send_many(&h.udp->ep, h.a, datagrams, 3), 3);
		assert_int_equal(kernel.call_count, round ? 3 : 1);
	}
	kernel_reset();
	fail_sends(EMSGSIZE, 1);
	assert_int_equal(udp_send_many(&h.udp->ep, h.a, datagrams, 3), 3);
	assert_int_equal(kernel.call_count, 2);
	/* Gathered messages leave alone as well. */
	kernel_reset();
	gather(&h, 2, LEN);
	progress(&h);
	assert_int_equal(kernel.call_count, 2);
	complete_sends(&h, 2);
	host_close(&h);
}

/* To an address that is not there, all are lost. */
static void no_address(void **state)
{
	struct host h;

	(void)state;
	host_open(&h, (struct host_options){ .caps = FI_MSG });
	set_pieces(LEN, 1);
	put_datagrams(0, 3, LEN, 1);
	assert_int_equal(udp_send_many(&h.udp->ep, 99, datagrams, 3), 3);
	assert_int_equal(kernel.call_count, 0);
	host_close(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(errors_of_sends),
		cmocka_unit_test(errors_of_injects),
		cmocka_unit_test(full_while_messages_are_gathered),
		cmocka_unit_test(full_before_a_sleep),
		cmocka_unit_test(refused_while_messages_are_gathered),
		cmocka_unit_test(what_is_gathered),
		cmocka_unit_test(as_many_as_a_train_has),
		cmocka_unit_test(another_peer),
		cmocka_unit_test(automatic_progress),
		cmocka_unit_test(trains_of_one_size),
		cmocka_unit_test(trains_of_several_sizes),
		cmocka_unit_test(full_in_the_middle),
		cmocka_unit_test(trains_are_given_up),
		cmocka_unit_test(no_address),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
