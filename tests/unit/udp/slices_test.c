/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernel.h"

/*
 * Multi-receive buffers: where each datagram is, and with which one the buffer is
 * released, for each size around the limits; with and without the space that a
 * datagram's source takes.
 */

enum { SIZE = 1000, MIN = 100 };

static uint8_t buf[SIZE];

struct row {
	size_t min;
	size_t lens[4]; /* of the datagrams until the release */
	unsigned int count;
};

/* The last datagram of each row releases the buffer, and no other one. */
static const struct row rows[] = {
	{ MIN, { SIZE - MIN + 1 }, 1 },
	{ MIN, { SIZE - MIN, 1 }, 2 },
	{ MIN, { SIZE - MIN - 1, 1, 1 }, 3 },
	{ MIN, { SIZE - MIN, 0, MIN }, 3 },
	{ MIN, { 1, SIZE - MIN }, 2 },
	{ MIN, { SIZE }, 1 },
	{ 1, { SIZE - 1, 1 }, 2 },
	{ 1, { SIZE - 1, 0, 1 }, 3 },
	{ SIZE, { 1 }, 1 },
	{ SIZE, { 0, 1 }, 2 },
	{ SIZE + 1, { 0 }, 1 },
};

static void run(struct host *h, const struct row *row)
{
	size_t at = 0;

	post_slices(h, buf, SIZE, row->min);
	for (unsigned int i = 0; i < row->count; i++) {
		bool last = i + 1 == row->count;
		struct fi_cq_tagged_entry e;
		fi_addr_t src;

		arrive((struct arrival){
			.len = row->lens[i], .seed = i, .port = PORT_B });
		e = completed(h, &src);
		assert_int_equal(
			e.flags, FI_MSG | FI_RECV | (last ? FI_MULTI_RECV : 0));
		assert_int_equal(e.len, row->lens[i]);
		assert_ptr_equal(e.op_context, buf);
		assert_ptr_equal(e.buf, buf + at);
		assert_int_equal(src, h->b);
		check_bytes(e.buf, i, 0, e.len);
		at += row->lens[i];
	}
	/* No receive is left. */
	kernel.poll_count = 0;
	progress(h);
	assert_int_equal(kernel.poll_count, 0);
}

static void released_below_the_minimum(void **state)
{
	struct host h;

	(void)state;
	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		host_open(&h, (struct host_options){
				      .caps = FI_MSG | FI_MULTI_RECV | FI_SOURCE });
		run(&h, &rows[i]);
		quiet(&h);
		host_close(&h);
	}
}

/* Too long for what is left: an error, and a release of its own; a datagram that fits
 * exactly is whole. */
static void too_long(void **state)
{
	struct host h;

	(void)state;
	for (size_t over = 1; over < 3; over++) {
		struct fi_cq_tagged_entry e;
		struct fi_cq_err_entry err;

		host_open(&h, (struct host_options){ .caps = FI_MSG | FI_MULTI_RECV });
		post_slices(&h, buf, SIZE, MIN);
		arrive((struct arrival){ .len = 600, .seed = 1, .port = PORT_A });
		assert_int_equal(completed(&h, NULL).len, 600);
		arrive((struct arrival){
			.len = 400 + over, .seed = 2, .port = PORT_A });
		progress(&h);
		err = failed(&h);
		assert_int_equal(err.err, FI_ETRUNC);
		assert_int_equal(err.len, 400);
		assert_int_equal(err.olen, over);
		assert_ptr_equal(err.buf, buf + 600);
		check_bytes(buf + 600, 2, 0, 400);
		e = completed(&h, NULL);
		assert_int_equal(e.flags, FI_MULTI_RECV);
		assert_ptr_equal(e.op_context, buf);
		quiet(&h);
		host_close(&h);
	}
}

/* Where successes are not reported, the release is, by an entry of its own. */
static void released_without_completions(void **state)
{
	const struct iovec iov = { buf, SIZE };
	const struct fi_msg msg = { .msg_iov = &iov, .iov_count = 1, .context = buf };
	size_t min = MIN;
	struct host h;

	(void)state;
	host_open(&h, (struct host_options){
			      .caps = FI_MSG | FI_MULTI_RECV, .selective = true });
	assert_int_equal(fi_setopt(&h.fid->fid, FI_OPT_ENDPOINT, FI_OPT_MIN_MULTI_RECV,
				 &min, sizeof(min)),
		0);
	assert_int_equal(fi_recvmsg(h.fid, &msg, FI_MULTI_RECV), 0);
	arrive((struct arrival){ .len = SIZE - MIN, .port = PORT_A });
	quiet(&h);
	arrive((struct arrival){ .len = 1, .port = PORT_A });
	assert_int_equal(completed(&h, NULL).flags, FI_MULTI_RECV);
	quiet(&h);
	host_close(&h);
}

/* With its source before each datagram: it is released when less than the minimum, or
 * no byte behind the space of a source, would be left. */
static void sources_in_the_buffer(void **state)
{
	enum { SPACE = WF_SOURCE_SPACE };
	static const struct row sourced[] = {
		{ MIN, { SIZE - SPACE - MIN, 1 }, 2 },
		{ MIN, { SIZE - SPACE - MIN + 1 }, 1 },
		{ 1, { SIZE - 2 * SPACE - 1, 1 }, 2 },
		{ 1, { SIZE - 2 * SPACE }, 1 },
		{ SPACE + 1, { SIZE - 2 * SPACE - 1, 1 }, 2 },
		{ SPACE + 2, { SIZE - 2 * SPACE - 1 }, 1 },
		{ MIN, { 100, 200, 300, 250 }, 4 },
	};
	struct host h;

	(void)state;
	for (size_t r = 0; r < WF_ARRAY_SIZE(sourced); r++) {
		const struct row *row = &sourced[r];
		uint8_t *at = buf;

		host_open(&h, (struct host_options){ .caps = FI_MSG | FI_MULTI_RECV,
				      .sources = true });
		post_slices(&h, buf, SIZE, row->min);
		for (unsigned int i = 0; i < row->count; i++) {
			uint16_t port = i % 2 ? PORT_STRANGER : PORT_A;
			struct sockaddr_in name = name_of(port);
			struct fi_cq_tagged_entry e;

			arrive((struct arrival){
				.len = row->lens[i], .seed = i, .port = port });
			e = completed(&h, NULL);
			assert_int_equal(e.len, row->lens[i]);
			assert_ptr_equal(e.buf, at + SPACE);
			assert_int_equal(e.data, (uintptr_t)at);
			assert_memory_equal(at, &name, sizeof(name));
			check_bytes(e.buf, i, 0, e.len);
			assert_int_equal(
				!!(e.flags & FI_MULTI_RECV), i + 1 == row->count);
			at += SPACE + row->lens[i];
		}
		assert_int_equal(kernel.arrival_next, row->count);
		quiet(&h);
		host_close(&h);
	}
}

/* A buffer just large enough, and one byte too small, with sources. */
static void sources_and_long_datagrams(void **state)
{
	struct host h;

	(void)state;
	for (size_t over = 0; over < 2; over++) {
		size_t len = SIZE - WF_SOURCE_SPACE + over;

		host_open(&h, (struct host_options){ .caps = FI_MSG | FI_MULTI_RECV,
				      .sources = true });
		post_slices(&h, buf, SIZE, MIN);
		arrive((struct arrival){ .len = len, .seed = 5, .port = PORT_A });
		progress(&h);
		if (over) {
			struct fi_cq_err_entry err = failed(&h);

			assert_int_equal(err.err, FI_ETRUNC);
			assert_int_equal(err.len, len - 1);
			assert_int_equal(err.olen, 1);
			assert_int_equal(completed(&h, NULL).flags, FI_MULTI_RECV);
		} else {
			assert_int_equal(completed(&h, NULL).len, len);
		}
		quiet(&h);
		check_bytes(buf + WF_SOURCE_SPACE, 5, 0, SIZE - WF_SOURCE_SPACE);
		host_close(&h);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(released_below_the_minimum),
		cmocka_unit_test(too_long),
		cmocka_unit_test(released_without_completions),
		cmocka_unit_test(sources_in_the_buffer),
		cmocka_unit_test(sources_and_long_datagrams),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
