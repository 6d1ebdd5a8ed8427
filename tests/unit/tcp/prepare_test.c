/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Which record an operation becomes, by its flags and length and by what the peer knows;
 * and which operations the peer does not know.
 */
#include "conn_fixture.h"

enum {
	SMALL = 64,
	LIMIT = TCP_COPY_MAX + 500,
	DATA = 0x77,
	MOST = TCP_HAVE_OFFER | TCP_HAVE_TAGGED | TCP_HAVE_RDV
};

static uint8_t local[2 * LIMIT];

static int post(struct pair *p, enum wf_op_kind kind, size_t len, uint64_t flags)
{
	struct iovec iov = { local, len };
	struct fi_rma_iov rma_iov = { 0, len, KEY };
	const struct fi_msg msg = {
		.msg_iov = &iov, .iov_count = 1, .context = local, .data = DATA
	};
	const struct fi_msg_tagged tagged = { .msg_iov = &iov,
		.iov_count = 1,
		.context = local,
		.data = DATA,
		.tag = 5 };
	const struct fi_msg_rma rma = { .msg_iov = &iov,
		.iov_count = 1,
		.rma_iov = &rma_iov,
		.rma_iov_count = 1,
		.context = local,
		.data = DATA };

	flags |= FI_COMPLETION;
	switch (kind) {
	case WF_OP_SEND:
		return (int)fi_sendmsg(p->ep, &msg, flags);
	case WF_OP_TSEND:
		return (int)fi_tsendmsg(p->ep, &tagged, flags);
	case WF_OP_WRITE:
		return (int)fi_writemsg(p->ep, &rma, flags);
	case WF_OP_READ:
		return (int)fi_readmsg(p->ep, &rma, flags);
	default:
		return -FI_ENOSYS;
	}
}

/* @more: what the peer knows beside, or does not know, of MOST. */
struct row {
	uint32_t lacks;
	enum wf_op_kind op;
	size_t len;
	uint64_t flags;
	int err; /* if not 0, the operation fails with it */
	enum tcp_rec_kind kind;
	uint16_t rec_flags;
	bool ends; /* it is complete when it was sent */
};

static const struct row rows[] = {
	{ 0, WF_OP_SEND, SMALL, 0, 0, TCP_REC_MSG, 0, true },
	{ 0, WF_OP_SEND, SMALL, FI_TRANSMIT_COMPLETE, 0, TCP_REC_MSG, TCP_FLAG_ACK,
		false },
	{ 0, WF_OP_SEND, SMALL, FI_DELIVERY_COMPLETE | FI_REMOTE_CQ_DATA, 0,
		TCP_REC_MSG, TCP_FLAG_ACK | TCP_FLAG_DATA, false },
	{ 0, WF_OP_SEND, SMALL, FI_FENCE | FI_REMOTE_CQ_DATA, 0, TCP_REC_MSG,
		TCP_FLAG_DATA, true },
	{ 0, WF_OP_SEND, SMALL, FI_MATCH_COMPLETE, 0, TCP_REC_MSG, TCP_FLAG_MATCH,
		false },
	{ TCP_HAVE_MATCH, WF_OP_SEND, SMALL, FI_MATCH_COMPLETE, FI_EOPNOTSUPP },
	{ 0, WF_OP_TSEND, SMALL, FI_FENCE, 0, TCP_REC_TAGGED, 0, true },
	{ TCP_HAVE_TAGGED, WF_OP_TSEND, SMALL, FI_FENCE, FI_EOPNOTSUPP },
	/* Rendezvous. */
	{ 0, WF_OP_SEND, LIMIT, 0, 0, TCP_REC_MSG, 0, true },
	{ 0, WF_OP_SEND, LIMIT + 1, 0, 0, TCP_REC_MSG_RTS, 0, false },
	{ 0, WF_OP_TSEND, LIMIT, 0, 0, TCP_REC_TAGGED, 0, true },
	{ 0, WF_OP_TSEND, LIMIT + 1, FI_REMOTE_CQ_DATA, 0, TCP_REC_RTS, TCP_FLAG_DATA,
		false },
	{ 0, WF_OP_SEND, LIMIT + 1, FI_TRANSMIT_COMPLETE, 0, TCP_REC_MSG_RTS,
		TCP_FLAG_ACK, false },
	{ 0, WF_OP_SEND, LIMIT + 1, FI_DELIVERY_COMPLETE, 0, TCP_REC_MSG_RTS,
		TCP_FLAG_ACK, false },
	{ 0, WF_OP_SEND, LIMIT + 1, FI_MATCH_COMPLETE, 0, TCP_REC_MSG_RTS, TCP_FLAG_ACK,
		false },
	{ TCP_HAVE_RDV_MSG, WF_OP_SEND, LIMIT + 1, 0, 0, TCP_REC_MSG, 0, true },
	{ TCP_HAVE_RDV_MSG, WF_OP_TSEND, LIMIT + 1, 0, 0, TCP_REC_RTS, 0, false },
	{ TCP_HAVE_RDV, WF_OP_TSEND, LIMIT + 1, 0, 0, TCP_REC_TAGGED, 0, true },
	/* Another limit for peers that know no errors. */
	{ TCP_HAVE_ERROR, WF_OP_SEND, LIMIT + 1, 0, 0, TCP_REC_MSG, 0, true },
	{ TCP_HAVE_ERROR, WF_OP_SEND, LIMIT + 100, 0, 0, TCP_REC_MSG, 0, true },
	{ TCP_HAVE_ERROR, WF_OP_SEND, LIMIT + 101, 0, 0, TCP_REC_MSG_RTS, 0, false },
	/* A write may fail at a peer that can tell. */
	{ 0, WF_OP_WRITE, SMALL, 0, 0, TCP_REC_WRITE, TCP_FLAG_ACK, false },
	{ TCP_HAVE_ERROR, WF_OP_WRITE, SMALL, 0, 0, TCP_REC_WRITE, 0, true },
	{ TCP_HAVE_ERROR, WF_OP_WRITE, SMALL, FI_DELIVERY_COMPLETE, 0, TCP_REC_WRITE,
		TCP_FLAG_ACK, false },
	{ TCP_HAVE_ERROR, WF_OP_WRITE, SMALL, FI_TRANSMIT_COMPLETE, 0, TCP_REC_WRITE,
		TCP_FLAG_ACK, false },
	{ TCP_HAVE_ERROR, WF_OP_WRITE, SMALL, FI_REMOTE_CQ_DATA, 0, TCP_REC_WRITE,
		TCP_FLAG_DATA, true },
	{ TCP_HAVE_ERROR, WF_OP_WRITE, SMALL, FI_MATCH_COMPLETE, 0, TCP_REC_WRITE,
		TCP_FLAG_ACK, false },
	{ 0, WF_OP_READ, SMALL, 0, 0, TCP_REC_READ, 0, false },
};

static void become_records(void **state)
{
	struct pair *p = *state;
	size_t before = tcp_params.rendezvous_size, saved = tcp_params.max_saved_size;

	tcp_params.rendezvous_size = LIMIT;
	tcp_params.max_saved_size = LIMIT + 100;
	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		const struct row *row = &rows[i];
		static uint8_t payload[2 * LIMIT];
		struct tcp_record rec;

		p->conn->wire.have = MOST & ~row->lacks;
		if (post(p, row->op, row->len, row->flags))
			fail_msg("row %zu is refused", i);
		pair_progress(p);
		if (row->err) {
			assert_one_ended(p, local, row->err);
			peer_expect_nothing(p);
			continue;
		}
		rec = peer_expect(p, row->kind, payload);
		if (rec.flags != row->rec_flags || p->ended_count != row->ends)
			fail_msg("row %zu: flags %#x, %u ended", i, rec.flags,
				p->ended_count);
		if (row->rec_flags & TCP_FLAG_DATA)
			assert_int_equal(rec.data, DATA);
		if (row->op == WF_OP_TSEND)
			assert_int_equal(rec.tag, 5);
		if (row->rec_flags & TCP_FLAG_MATCH)
			assert_int_equal(rec.id, 1);
		if (rec.kind == TCP_REC_RTS || rec.kind == TCP_REC_MSG_RTS) {
			assert_int_equal(rec.msg_len, row->len);
			assert_int_equal(rec.payload_len, 0);
			assert_int_equal(rec.index, 1);
		}
		peer_expect_nothing(p);
		pair_again(p);
	}
	tcp_params.rendezvous_size = before;
	tcp_params.max_saved_size = saved;
}

/* Payloads of a rendezvous are not sent to machines of the other byte order. */
static void no_rendezvous_with_unlike_machines(void **state)
{
	struct pair *p = *state;
	size_t before = tcp_params.rendezvous_size;
	static uint8_t payload[2 * LIMIT];

	tcp_params.rendezvous_size = LIMIT;
	p->conn->wire.swap = true;
	assert_int_equal(post(p, WF_OP_SEND, LIMIT + 1, 0), 0);
	pair_progress(p);
	assert_one_ended(p, local, 0);
	(void)peer_read(p, payload, sizeof(payload));
	tcp_params.rendezvous_size = before;
}

static void atomics(void **state)
{
	static const struct {
		uint32_t lacks;
		enum fi_datatype type;
		bool fetches;
		int err;
		uint16_t flags;
	} atoms[] = {
		{ 0, FI_UINT64, false, 0, TCP_FLAG_ACK },
		{ 0, FI_UINT64, true, 0, 0 },
		{ 0, FI_LONG_DOUBLE, false, 0, TCP_FLAG_ACK },
		{ TCP_HAVE_ATOMIC, FI_UINT64, false, FI_EOPNOTSUPP, 0 },
		{ TCP_HAVE_ATOMIC, FI_UINT64, true, FI_EOPNOTSUPP, 0 },
		{ TCP_HAVE_LDBL_OWN, FI_UINT64, false, 0, TCP_FLAG_ACK },
		{ TCP_HAVE_LDBL_OWN, FI_LONG_DOUBLE, false, FI_EOPNOTSUPP, 0 },
		{ TCP_HAVE_LDBL_OWN, FI_LONG_DOUBLE_COMPLEX, false, FI_EOPNOTSUPP, 0 },
	};
	struct pair *p = *state;

	for (size_t i = 0; i < WF_ARRAY_SIZE(atoms); i++) {
		uint8_t payload[64];
		struct tcp_record rec;
		ssize_t ret;

		p->conn->wire.have = MOST & ~atoms[i].lacks;
		ret = atoms[i].fetches
			      ? fi_fetch_atomic(p->ep, local, 1, NULL, local + 64, NULL,
					0, 0, KEY, atoms[i].type, FI_SUM, local)
			      : fi_atomic(p->ep, local, 1, NULL, 0, 0, KEY,
					atoms[i].type, FI_SUM, local);
		assert_int_equal(ret, 0);
		pair_progress(p);
		if (atoms[i].err) {
			assert_one_ended(p, local, atoms[i].err);
			peer_expect_nothing(p);
			continue;
		}
		rec = peer_expect(
			p, atoms[i].fetches ? TCP_REC_FETCH : TCP_REC_ATOMIC, payload);
		assert_int_equal(rec.flags, atoms[i].flags);
		assert_int_equal(rec.datatype, atoms[i].type);
		assert_int_equal(rec.atomic_op, FI_SUM);
		assert_int_equal(p->ended_count, 0);
		pair_again(p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		PAIR_TEST(become_records),
		PAIR_TEST(no_rendezvous_with_unlike_machines),
		PAIR_TEST(atomics),
	};

	/* Endpoints that are closed do not wait for the test, which reads no more. */
	(void)setenv("FI_FLUSH_TIMEOUT", "0", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
