/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Striped messages: stripe_test LINKS, with two rails or more, as the application sees
 * them. What ordinary messages promise, the conformance program shows with striping,
 * too.
 */
#include "lnx_pair.h"

enum { LARGE = (3 << 20) + 5, TAG = 7 };

static struct rdm_end from, to;
static fi_addr_t to_addr;
static uint8_t *out, *in;

/* The completions of both ends: one of a transmission, one of a receive. */
struct seen {
	struct fi_cq_tagged_entry tx, rx;
	struct fi_cq_err_entry err;
	fi_addr_t src;
	bool has_tx, has_rx, has_err;
};

static void poll_end(struct rdm_end *end, struct seen *seen)
{
	struct fi_cq_tagged_entry entry;
	fi_addr_t src;
	ssize_t ret = fi_cq_readfrom(end->cq, &entry, 1, &src);

	if (ret == -FI_EAVAIL) {
		seen->err = (struct fi_cq_err_entry){ 0 };
		assert_int_equal(fi_cq_readerr(end->cq, &seen->err, 0), 1);
		seen->has_err = true;
	} else if (ret == 1 && entry.flags & FI_SEND) {
		seen->tx = entry;
		seen->has_tx = true;
	} else if (ret == 1) {
		seen->rx = entry;
		seen->src = src;
		seen->has_rx = true;
	}
}

#define UNTIL(seen, what)                                                              \
	do {                                                                           \
		time_t deadline = now_s() + PATIENCE_S;                                \
		while (!(what)) {                                                      \
			poll_end(&from, seen);                                         \
			poll_end(&to, seen);                                           \
			assert_true(now_s() < deadline);                               \
		}                                                                      \
	} while (0)

static void send_iov(const struct iovec *iov, size_t count, uint64_t data,
	uint64_t flags, struct fi_context2 *context, struct seen *seen)
{
	struct fi_msg_tagged msg = { .msg_iov = iov,
		.iov_count = count,
		.addr = to_addr,
		.tag = TAG,
		.context = context,
		.data = data };
	time_t deadline = now_s() + PATIENCE_S;
	ssize_t ret;

	while ((ret = fi_tsendmsg(from.ep, &msg, flags)) == -FI_EAGAIN) {
		poll_end(&from, seen);
		poll_end(&to, seen);
		assert_true(now_s() < deadline);
	}
	assert_int_equal(ret, 0);
}

static void send_one(size_t len, uint64_t data, uint64_t flags,
	struct fi_context2 *context, struct seen *seen)
{
	const struct iovec iov = { out, len };

	send_iov(&iov, 1, data, flags, context, seen);
}

static void receive(size_t len, struct fi_context2 *context)
{
	assert_int_equal(
		fi_trecv(to.ep, in, len, NULL, FI_ADDR_UNSPEC, TAG, 0, context), 0);
}

static void fill(unsigned int seed)
{
	for (size_t i = 0; i < LARGE; i++)
		out[i] = (uint8_t)(i * 31 + (i >> 11) + seed);
	memset(in, 0, LARGE);
}

static void check_received(const struct seen *seen, size_t len, uint64_t data,
	uint64_t flags, const void *context)
{
	assert_ptr_equal(seen->rx.op_context, context);
	assert_int_equal(seen->rx.len, len);
	assert_true(seen->rx.tag == TAG);
	assert_true((seen->rx.flags & FI_REMOTE_CQ_DATA) == flags);
	assert_true(!flags || seen->rx.data == data);
	assert_memory_equal(in, out, len);
}

static int open_ends(void **state)
{
	out = malloc(LARGE);
	in = malloc(LARGE);
	assert_true(out && in);
	rdm_end_open(&from, lnx_info(FI_FORMAT_UNSPEC, NULL, NULL, 0), 0, FI_WAIT_NONE);
	rdm_end_open(&to, lnx_info(FI_FORMAT_UNSPEC, NULL, NULL, 0), 0, FI_WAIT_NONE);
	to_addr = end_insert(&from, to.name);
	(void)end_insert(&to, from.name);
	return 0;
}

static int close_ends(void **state)
{
	rdm_end_close(&from);
	rdm_end_close(&to);
	free(out);
	free(in);
	return 0;
}

/* Every size, with CQ data and without, to a receive that waits and to one that comes
 * later. */
static void it_arrives_whole(void **state)
{
	static const size_t sizes[] = { 0, 1, 4095, 4096, 4097, 65536, 1000001, LARGE };
	struct fi_context2 tx, rx;

	for (unsigned int i = 0; i < 4 * sizeof(sizes) / sizeof(sizes[0]); i++) {
		size_t len = sizes[i / 4];
		uint64_t flags = i & 1 ? FI_REMOTE_CQ_DATA : 0;
		uint64_t data = UINT64_C(0xfedcba9876543210) + i;
		struct seen seen = { 0 };

		fill(i);
		if (i & 2)
			receive(len, &rx);
		send_one(len, data, flags, &tx, &seen);
		for (int k = 0; k < 100; k++) {
			poll_end(&from, &seen);
			poll_end(&to, &seen);
		}
		if (!(i & 2))
			receive(len, &rx);
		UNTIL(&seen, seen.has_tx && seen.has_rx);
		assert_false(seen.has_err);
		assert_ptr_equal(seen.tx.op_context, &tx);
		check_received(&seen, len, data, flags, &rx);
		assert_int_equal(seen.src, 0);
	}
}

/* What does not fit is not read, and the sender is done all the same. */
static void a_buffer_is_too_small(void **state)
{
	struct seen seen = { 0 };
	struct fi_context2 tx, rx;

	fill(1);
	receive(100000, &rx);
	send_one(LARGE, 3, FI_REMOTE_CQ_DATA, &tx, &seen);
	UNTIL(&seen, seen.has_tx && seen.has_err);
	assert_int_equal(seen.err.err, FI_ETRUNC);
	assert_ptr_equal(seen.err.op_context, &rx);
	assert_int_equal(seen.err.len, 100000);
	assert_int_equal(seen.err.olen, LARGE - 100000);
	assert_true(seen.err.data == 3);
	assert_memory_equal(in, out, 100000);
	assert_int_equal(in[100000], 0);
}

static void buffers_are_in_pieces(void **state)
{
	const struct iovec parts[] = { { out, 70001 }, { out + 70001, 1 },
		{ out + 70002, LARGE - 70002 } };
	const struct iovec room[] = { { in, 1 }, { in + 1, 1000000 },
		{ in + 1000001, LARGE - 1000001 } };
	struct fi_context2 tx, rx;
	struct fi_msg_tagged msg = { .msg_iov = room,
		.iov_count = 3,
		.addr = FI_ADDR_UNSPEC,
		.tag = TAG,
		.context = &rx };
	struct seen seen = { 0 };

	fill(2);
	assert_int_equal(fi_trecvmsg(to.ep, &msg, 0), 0);
	send_iov(parts, 3, 0, 0, &tx, &seen);
	UNTIL(&seen, seen.has_tx && seen.has_rx);
	check_received(&seen, LARGE, 0, 0, &rx);
}

static void look(uint64_t flags, struct fi_context2 *context, struct seen *seen)
{
	struct fi_msg_tagged msg = {
		.addr = FI_ADDR_UNSPEC, .tag = TAG, .context = context
	};

	do {
		seen->has_err = false;
		assert_int_equal(fi_trecvmsg(to.ep, &msg, FI_PEEK | flags), 0);
		UNTIL(seen, seen->has_rx || seen->has_err);
		assert_true(seen->has_rx || seen->err.err == FI_ENOMSG);
	} while (!seen->has_rx);
	assert_ptr_equal(seen->rx.op_context, context);
}

static void it_is_found_claimed_and_received(void **state)
{
	const struct iovec room = { in, LARGE };
	struct fi_context2 tx, rx;
	struct fi_msg_tagged msg = { .msg_iov = &room,
		.iov_count = 1,
		.addr = FI_ADDR_UNSPEC,
		.tag = TAG,
		.context = &rx };
	struct seen seen = { 0 };

	fill(3);
	send_one(LARGE, 44, FI_REMOTE_CQ_DATA, &tx, &seen);
	look(0, &rx, &seen);
	assert_int_equal(seen.rx.len, LARGE);
	assert_true(seen.rx.flags & FI_REMOTE_CQ_DATA && seen.rx.data == 44);
	seen.has_rx = false;
	look(FI_CLAIM, &rx, &seen);
	assert_int_equal(seen.rx.len, LARGE);
	seen.has_rx = false;
	assert_int_equal(fi_trecvmsg(to.ep, &msg, FI_CLAIM), 0);
	UNTIL(&seen, seen.has_tx && seen.has_rx);
	check_received(&seen, LARGE, 44, FI_REMOTE_CQ_DATA, &rx);
}

/* Also when it was claimed before. */
static void it_is_discarded(void **state)
{
	struct fi_context2 tx, rx;
	struct fi_msg_tagged msg = {
		.addr = FI_ADDR_UNSPEC, .tag = TAG, .context = &rx
	};

	for (int claimed = 0; claimed < 2; claimed++) {
		struct seen seen = { 0 };

		send_one(LARGE, 0, 0, &tx, &seen);
		look(claimed ? FI_CLAIM : FI_DISCARD, &rx, &seen);
		assert_int_equal(seen.rx.len, LARGE);
		seen.has_rx = false;
		if (claimed)
			assert_int_equal(
				fi_trecvmsg(to.ep, &msg, FI_CLAIM | FI_DISCARD), 0);
		UNTIL(&seen, seen.has_tx && (!claimed || seen.has_rx));
		assert_false(seen.has_err);
	}
}

/* Small messages between large ones meet receives in the order of sending. */
static void they_stay_in_order(void **state)
{
	enum { COUNT = 40 };
	static struct fi_context2 tx[COUNT], rx[COUNT];
	static uint8_t room[COUNT][70000];
	struct seen seen = { 0 };
	unsigned int received = 0;

	fill(4);
	for (unsigned int i = 0; i < COUNT; i++)
		assert_int_equal(fi_trecv(to.ep, room[i], sizeof(room[i]), NULL,
					 FI_ADDR_UNSPEC, TAG, 0, &rx[i]),
			0);
	for (unsigned int i = 0; i < COUNT; i++) {
		const struct iovec iov = { out + i, i % 3 ? 70000 - i : 1 + i };

		send_iov(&iov, 1, 0, 0, &tx[i], &seen);
		received += seen.has_rx;
		seen.has_rx = false;
	}
	for (time_t deadline = now_s() + PATIENCE_S; received < COUNT;) {
		poll_end(&from, &seen);
		poll_end(&to, &seen);
		received += seen.has_rx;
		seen.has_rx = false;
		assert_true(now_s() < deadline);
	}
	for (unsigned int i = 0; i < COUNT; i++)
		assert_memory_equal(room[i], out + i, i % 3 ? 70000 - i : 1 + i);
	for (int k = 0; k < 10000; k++)
		poll_end(&from, &seen);
}

/* Endpoints are closed while messages wait, are read, or are not answered. */
static void they_are_under_way_at_the_end(void **state)
{
	struct fi_context2 tx[4], rx[4];
	struct seen seen = { 0 };

	for (int i = 0; i < 4; i++)
		send_one(LARGE, 0, 0, &tx[i], &seen);
	for (int i = 0; i < 2; i++)
		receive(LARGE, &rx[i]);
	for (int i = 0; i < 20; i++)
		poll_end(&to, &seen);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			it_arrives_whole, open_ends, close_ends),
		cmocka_unit_test_setup_teardown(
			a_buffer_is_too_small, open_ends, close_ends),
		cmocka_unit_test_setup_teardown(
			buffers_are_in_pieces, open_ends, close_ends),
		cmocka_unit_test_setup_teardown(
			it_is_found_claimed_and_received, open_ends, close_ends),
		cmocka_unit_test_setup_teardown(it_is_discarded, open_ends, close_ends),
		cmocka_unit_test_setup_teardown(
			they_stay_in_order, open_ends, close_ends),
		cmocka_unit_test_setup_teardown(
			they_are_under_way_at_the_end, open_ends, close_ends),
	};

	if (argc != 2)
		return 2;
	/* Read when the providers are first asked for something. */
	(void)setenv("FI_LNX_PROV_LINKS", argv[1], 1);
	(void)setenv("FI_LNX_STRIPE_SIZE", "4096", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
