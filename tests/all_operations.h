/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_ALL_OPERATIONS_H
#define TESTS_ALL_OPERATIONS_H

/*
 * Operations of all kinds between two endpoints of this process, which are started
 * together, in both directions and with the lengths that make a difference: for tests
 * that disturb the provider below. One thread.
 */
#include <time.h>

#include "loopback.h"
#include "time_limits.h"

#include <rdma/fi_atomic.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>
#include <rdma/fi_tagged.h>

enum {
	BUFFER = 512,     /* bytes of a packet or segment */
	SEGMENTED = 2048, /* the longest message in segments */
	LONG = 6000,
	LIMIT_MS = 10000,
	KEY_IN = 11,
	KEY_OUT = 12,
	TAG = 0x100,
};

enum kind { SEND, INJECT, WRITE, READ, ATOMIC, FETCH, COMPARE };

/* Operations, in the order of their start. Each one has LONG bytes of in[] and out[],
 * by its place here. */
static const struct row {
	enum kind kind;
	bool back; /* from right to left */
	uint16_t len;
} rows[] = {
	{ SEND, false, 4 },
	{ SEND, true, 4 },
	{ INJECT, false, 16 },
	{ SEND, false, 0 },
	{ SEND, false, BUFFER },
	{ SEND, true, BUFFER + 1 },
	{ SEND, false, SEGMENTED },
	{ SEND, false, LONG },
	{ SEND, true, LONG },
	{ WRITE, false, 100 },
	{ WRITE, true, LONG },
	{ READ, false, LONG },
	{ READ, true, 8 },
	{ ATOMIC, false, 8 },
	{ FETCH, false, 8 },
	{ COMPARE, true, 8 },
	/* More than there are credits. */
	{ SEND, false, 4 },
	{ SEND, false, 400 },
	{ SEND, false, 4 },
	{ INJECT, false, 4 },
	{ SEND, false, 4 },
	{ SEND, false, 4 },
	{ SEND, true, 4 },
	{ SEND, true, 400 },
	{ SEND, true, 4 },
	{ SEND, true, 4 },
	{ SEND, true, 4 },
	{ SEND, true, 4 },
	{ SEND, false, SEGMENTED },
};

enum { ROWS = sizeof(rows) / sizeof(rows[0]) };

struct row_state {
	struct fi_context2 tx, rx;
	bool sent, received; /* they have ended, or need not end */
	int err;
};

static struct rdm_end left, right;
/* Of in[] and out[] at both ends. */
static struct fid_mr *regions[4];
static bool has_descs;
static fi_addr_t to_left, to_right;
static uint8_t in[ROWS][LONG], out[ROWS][LONG];
static struct row_state states[ROWS];

/* ---- what is opened ---- */

static inline void expose(struct rdm_end *end, struct fid_mr **ret)
{
	const uint64_t access = FI_SEND | FI_RECV | FI_READ | FI_WRITE |
				FI_REMOTE_READ | FI_REMOTE_WRITE;

	assert_int_equal(fi_mr_reg(end->domain, in, sizeof(in), access, 0, KEY_IN, 0,
				 &ret[0], NULL),
		0);
	assert_int_equal(fi_mr_reg(end->domain, out, sizeof(out), access, 0, KEY_OUT, 0,
				 &ret[1], NULL),
		0);
}

/* @mr_mode: with FI_MR_LOCAL, operations have descriptors. */
static inline void open_both(const char *provider, int mr_mode)
{
	const uint64_t caps = FI_MSG | FI_TAGGED | FI_RMA | FI_ATOMIC;

	has_descs = mr_mode & FI_MR_LOCAL;
	loopback_open_mr(&left, provider, caps, mr_mode);
	loopback_open_mr(&right, provider, caps, mr_mode);
	assert_int_equal(fi_av_insert(left.av, &right.addr, 1, &to_right, 0, NULL), 1);
	assert_int_equal(fi_av_insert(right.av, &left.addr, 1, &to_left, 0, NULL), 1);
	expose(&left, regions);
	expose(&right, regions + 2);
}

static inline void close_both(void)
{
	for (int i = 0; i < 4; i++)
		assert_int_equal(fi_close(&regions[i]->fid), 0);
	rdm_end_close(&left);
	rdm_end_close(&right);
}

/* ---- progress ---- */

static inline void ended(const void *context, int err)
{
	for (size_t i = 0; i < ROWS; i++) {
		struct row_state *state = &states[i];

		if (context != &state->tx && context != &state->rx)
			continue;
		if (context == &state->tx) {
			assert_false(state->sent);
			state->sent = true;
		} else {
			assert_false(state->received);
			state->received = true;
		}
		if (err)
			state->err = err;
		return;
	}
	/* An injected operation. */
	assert_true(err);
}

static inline void step(struct rdm_end *end)
{
	struct fi_cq_err_entry err = { 0 };
	struct fi_cq_tagged_entry entry;
	ssize_t n = fi_cq_read(end->cq, &entry, 1);

	if (n == 1) {
		ended(entry.op_context, 0);
		return;
	}
	if (n == -FI_EAGAIN)
		return;
	assert_int_equal(n, -FI_EAVAIL);
	assert_int_equal(fi_cq_readerr(end->cq, &err, 0), 1);
	assert_true(err.err > 0);
	ended(err.op_context, err.err);
}

static inline void step_both(void)
{
	step(&left);
	step(&right);
}

/* ---- the operations ---- */

static inline bool is_message(const struct row *row)
{
	return row->kind == SEND || row->kind == INJECT;
}

static inline uint64_t *number(uint8_t *bytes)
{
	return (uint64_t *)(void *)bytes;
}

static inline void prepare(size_t i)
{
	const struct row *row = &rows[i];
	struct row_state *state = &states[i];

	*state = (struct row_state){ .sent = row->kind == INJECT,
		.received = !is_message(row) };
	for (size_t k = 0; k < row->len; k++)
		out[i][k] = (uint8_t)(i + k * 7);
	memset(in[i], 0xee, row->len);
	if (row->kind == ATOMIC || row->kind == FETCH || row->kind == COMPARE) {
		*number(out[i]) = 1000 + i;
		*number(in[i]) = 7;
		*number(in[i] + 8) = 7; /* the comparand */
	}
}

/* Descriptors of buffers in in[] or @is_out, at one end; NULL: they need none. */
static inline void **descs(bool is_left, bool is_out, void *ret[3])
{
	for (int i = 0; i < 3; i++)
		ret[i] = fi_mr_desc(regions[2 * !is_left + is_out]);
	return has_descs ? ret : NULL;
}

static inline ssize_t post_receive(size_t i)
{
	const struct row *row = &rows[i];
	struct rdm_end *end = row->back ? &left : &right;
	const struct iovec iov[3] = { { in[i], row->len / 3 },
		{ in[i] + row->len / 3, row->len / 2 },
		{ in[i] + row->len / 3 + row->len / 2,
			row->len - row->len / 3 - row->len / 2 } };
	void *desc[3];

	return fi_trecvv(end->ep, iov, descs(row->back, false, desc), 3, FI_ADDR_UNSPEC,
		TAG + i, 0, &states[i].rx);
}

static inline ssize_t post_atomic(size_t i, struct fid_ep *ep, fi_addr_t to)
{
	const uint64_t at = i * LONG;
	void *context = &states[i].tx;

	switch (rows[i].kind) {
	case ATOMIC:
		return fi_atomic(ep, out[i], 1, NULL, to, at, KEY_IN, FI_UINT64, FI_SUM,
			context);
	case FETCH:
		return fi_fetch_atomic(ep, out[i], 1, NULL, in[i] + 16, NULL, to, at,
			KEY_IN, FI_UINT64, FI_SUM, context);
	default:
		return fi_compare_atomic(ep, out[i], 1, NULL, in[i] + 8, NULL,
			in[i] + 16, NULL, to, at, KEY_IN, FI_UINT64, FI_CSWAP, context);
	}
}

static inline ssize_t post_one(size_t i)
{
	const struct row *row = &rows[i];
	struct fid_ep *ep = row->back ? right.ep : left.ep;
	fi_addr_t to = row->back ? to_left : to_right;
	const struct iovec iov[2] = { { out[i], row->len / 2 },
		{ out[i] + row->len / 2, row->len - row->len / 2 } };
	void *context = &states[i].tx, *desc[3];
	void **of_out = descs(!row->back, true, desc);

	switch (row->kind) {
	case SEND:
		return fi_tsendv(ep, iov, of_out, 2, to, TAG + i, context);
	case INJECT:
		return fi_tinject(ep, out[i], row->len, to, TAG + i);
	case WRITE:
		return fi_writev(ep, iov, of_out, 2, to, i * LONG, KEY_IN, context);
	case READ:
		(void)descs(!row->back, false, desc);
		return fi_read(ep, in[i], row->len, has_descs ? *desc : NULL, to,
			i * LONG, KEY_OUT, context);
	default:
		return post_atomic(i, ep, to);
	}
}

/* Start all; one that is refused is ended. */
static inline void start_all(void)
{
	for (size_t i = 0; i < ROWS; i++) {
		ssize_t ret;

		prepare(i);
		if (is_message(&rows[i]))
			assert_int_equal(post_receive(i), 0);
		while ((ret = post_one(i)) == -FI_EAGAIN)
			step_both();
		if (ret) {
			states[i].sent = true;
			states[i].err = (int)-ret;
		}
	}
}

static inline bool arrived(size_t i)
{
	switch (rows[i].kind) {
	case ATOMIC:
		return *number(in[i]) == 1007 + i;
	case FETCH:
		return *number(in[i]) == 1007 + i && *number(in[i] + 16) == 7;
	case COMPARE:
		return *number(in[i]) == 1000 + i && *number(in[i] + 16) == 7;
	default:
		return !memcmp(in[i], out[i], rows[i].len);
	}
}

static inline bool all_sent(void)
{
	for (size_t i = 0; i < ROWS; i++)
		if (!states[i].sent)
			return false;
	return true;
}

/* Is no operation under way? Then closing the endpoint waits for nothing. */
static inline bool is_idle(const struct rdm_end *end)
{
	return end->ep->ops->tx_size_left(end->ep) == (ssize_t)end->info->tx_attr->size;
}

static inline bool all_arrived(void)
{
	for (size_t i = 0; i < ROWS; i++) {
		assert_int_equal(states[i].err, 0);
		if (!states[i].received || !arrived(i))
			return false;
	}
	return all_sent() && is_idle(&left) && is_idle(&right);
}

static inline bool all_received(void)
{
	for (size_t i = 0; i < ROWS; i++)
		if (!states[i].received)
			return false;
	return true;
}

static inline void run_until(bool (*is_done)(void))
{
	time_t end = now_s() + limit_ms(LIMIT_MS) / 1000;

	while (!is_done()) {
		step_both();
		assert_true(now_s() < end);
	}
}

#endif
