/* SPDX-License-Identifier: BSD-2-Clause */
#include "data_env.h"

#include <arpa/inet.h>
#include <rdma/fi_rma.h>

/* Every field of the work requests of sends, writes and reads, and what their
 * completions say: for each size around the limits, number of buffers and flag. */

enum { MAX_MSG = 1 << 20, BUFFERS = 3, LKEY = 0x7a000001 };

static const uint64_t remote_addr = 0x1122334455667788, remote_data = 0x01020304;
static const uint32_t remote_key = 0xa1b2c3d4;

struct shape {
	enum wf_op_kind kind;
	size_t len, buffers;
	uint64_t flags;
};

struct request {
	struct iovec iov[BUFFERS];
	void *desc[BUFFERS];
	int context;
};

/* No byte of it is accessed. */
static uint8_t *memory_at(size_t at)
{
	return (uint8_t *)(uintptr_t)(0x5000000000 + at);
}

/* All buffers but the last one have one byte. Descriptors are those of different
 * regions; with @bare there are none. */
static void lay_out(struct request *r, const struct shape *s, bool bare)
{
	size_t at = 0;

	for (size_t i = 0; i < s->buffers; i++) {
		size_t len = i + 1 < s->buffers && at < s->len ? 1 : s->len - at;

		r->iov[i] = (struct iovec){ memory_at(2 * at), len };
		r->desc[i] = bare ? NULL : verbs_desc((uint32_t)(LKEY + i));
		at += len;
	}
}

static ssize_t start(struct env *env, const struct shape *s, struct request *r)
{
	const struct fi_rma_iov target = { remote_addr, s->len, remote_key };
	const struct fi_msg msg = { .msg_iov = r->iov,
		.desc = r->desc,
		.iov_count = s->buffers,
		.context = &r->context,
		.data = remote_data };
	const struct fi_msg_rma rma = { .msg_iov = r->iov,
		.desc = r->desc,
		.iov_count = s->buffers,
		.rma_iov = &target,
		.rma_iov_count = 1,
		.context = &r->context,
		.data = remote_data };

	switch (s->kind) {
	case WF_OP_SEND:
		return fi_sendmsg(env->fid, &msg, s->flags);
	case WF_OP_WRITE:
		return fi_writemsg(env->fid, &rma, s->flags);
	default:
		return fi_readmsg(env->fid, &rma, s->flags);
	}
}

static const struct kind {
	enum wf_op_kind kind;
	enum ibv_wr_opcode opcode, with_data;
	enum ibv_wc_opcode ends_as;
	uint64_t comp_flags;
} kinds[] = {
	{ WF_OP_SEND, IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WC_SEND,
		FI_SEND | FI_MSG },
	{ WF_OP_WRITE, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WC_RDMA_WRITE,
		FI_WRITE | FI_RMA },
	{ WF_OP_READ, IBV_WR_RDMA_READ, IBV_WR_RDMA_READ, IBV_WC_RDMA_READ,
		FI_READ | FI_RMA },
};

static unsigned int send_flags_of(const struct shape *s)
{
	unsigned int flags = 0;

	if (s->kind != WF_OP_READ && s->len <= FAKE_INLINE)
		flags |= IBV_SEND_INLINE;
	if (s->flags & FI_COMPLETION)
		flags |= IBV_SEND_SIGNALED;
	if (s->flags & FI_FENCE)
		flags |= IBV_SEND_FENCE;
	return flags;
}

static void check_buffers(
	const struct request *r, const struct shape *s, const struct ibv_sge *sge)
{
	for (size_t i = 0; s->len && i < s->buffers; i++) {
		assert_int_equal(sge[i].addr, (uintptr_t)r->iov[i].iov_base);
		assert_int_equal(sge[i].length, r->iov[i].iov_len);
		assert_int_equal(sge[i].lkey, LKEY + i);
	}
}

static void check_request(const struct env *env, const struct kind *kind,
	const struct shape *s, const struct request *r)
{
	const struct ibv_send_wr *wr = &fake_sends[fake_send_count - 1];
	bool data = s->flags & FI_REMOTE_CQ_DATA;

	assert_int_equal(wr->wr_id, env->ep->sq.head - 1);
	assert_null(wr->next);
	assert_int_equal(wr->opcode, data ? kind->with_data : kind->opcode);
	assert_int_equal(wr->send_flags, send_flags_of(s));
	/* A message without bytes has no buffer. */
	assert_int_equal(wr->num_sge, s->len ? s->buffers : 0);
	check_buffers(r, s, fake_send_sges[fake_send_count - 1]);
	assert_int_equal(ntohl(wr->imm_data), data ? remote_data : 0);
	if (s->kind == WF_OP_SEND)
		return;
	assert_int_equal(wr->wr.rdma.remote_addr, remote_addr);
	assert_int_equal(wr->wr.rdma.rkey, remote_key);
}

/* Send one message that has a completion and complete it, and all before it. Returns
 * the number of completions before that. */
static unsigned int settle(struct env *env, struct fi_cq_data_entry *entry)
{
	struct fi_cq_data_entry got;
	unsigned int before = 0;
	int mark;
	const struct fi_msg msg = { .context = &mark };

	assert_int_equal(fi_sendmsg(env->fid, &msg, FI_COMPLETION), 0);
	fake_complete(env->ep->sq.head - 1, IBV_WC_SUCCESS, IBV_WC_SEND, 0);
	for (;;) {
		assert_int_equal(take(env, &got), 1);
		if (got.op_context == &mark)
			break;
		*entry = got;
		before++;
	}
	assert_int_equal(env->fid->ops->tx_size_left(env->fid), SENDS);
	fake_send_count = 0;
	return before;
}

static void run(struct env *env, const struct kind *kind, const struct shape *s)
{
	struct fi_cq_data_entry entry;
	struct request r;

	lay_out(&r, s, false);
	assert_int_equal(start(env, s, &r), 0);
	assert_int_equal(fake_send_count, 1);
	check_request(env, kind, s, &r);
	if (s->flags & FI_COMPLETION)
		fake_complete(fake_sends[0].wr_id, IBV_WC_SUCCESS, kind->ends_as, 0);
	if (!settle(env, &entry)) {
		assert_false(s->flags & FI_COMPLETION);
		return;
	}
	assert_true(s->flags & FI_COMPLETION);
	assert_ptr_equal(entry.op_context, &r.context);
	assert_int_equal(entry.flags, kind->comp_flags);
}

static const size_t lens[] = { 0, 1, 2, FAKE_INLINE - 1, FAKE_INLINE, FAKE_INLINE + 1,
	MAX_MSG - 1, MAX_MSG };
static const uint64_t all_flags[] = { 0, FI_COMPLETION, FI_COMPLETION | FI_FENCE,
	FI_FENCE, FI_REMOTE_CQ_DATA, FI_REMOTE_CQ_DATA | FI_COMPLETION | FI_FENCE };

static void test_fields(void **state)
{
	struct fi_cq_data_entry entry;
	struct env env;

	(void)state;
	OPEN(FI_EP_MSG, FI_SELECTIVE_COMPLETION, false);
	(void)settle(&env, &entry);
	for (size_t k = 0; k < WF_ARRAY_SIZE(kinds); k++)
		for (size_t l = 0; l < WF_ARRAY_SIZE(lens); l++)
			for (size_t b = lens[l] ? 1 : 0; b <= BUFFERS; b++)
				for (size_t f = 0; f < WF_ARRAY_SIZE(all_flags); f++) {
					struct shape s = { kinds[k].kind, lens[l], b,
						all_flags[f] };

					if (s.kind == WF_OP_READ)
						s.flags &= ~FI_REMOTE_CQ_DATA;
					run(&env, &kinds[k], &s);
				}
	close_env(&env);
}

/* FI_MR_LOCAL: every buffer with bytes that are not in the request needs a
 * descriptor. */
static void test_descriptors(void **state)
{
	struct fi_cq_data_entry entry;
	struct env env;

	(void)state;
	OPEN(FI_EP_MSG, FI_SELECTIVE_COMPLETION, false);
	for (size_t k = 0; k < WF_ARRAY_SIZE(kinds); k++)
		for (size_t l = 0; l < WF_ARRAY_SIZE(lens); l++)
			for (size_t b = lens[l] ? 1 : 0; b <= BUFFERS; b++) {
				struct shape s = { kinds[k].kind, lens[l], b,
					FI_COMPLETION };
				bool needed =
					s.len && !(send_flags_of(&s) & IBV_SEND_INLINE);
				struct request r;

				lay_out(&r, &s, true);
				assert_int_equal(
					start(&env, &s, &r), needed ? -FI_EINVAL : 0);
				assert_int_equal(fake_send_count, needed ? 0 : 1);
				(void)settle(&env, &entry);
				if (!needed || b < 2 || s.len < b)
					continue;
				/* One of several is missing. */
				lay_out(&r, &s, false);
				r.desc[b - 1] = NULL;
				assert_int_equal(start(&env, &s, &r), -FI_EINVAL);
			}
	close_env(&env);
}

/* Nothing longer, and no more buffers, than the limits. */
static void test_limits(void **state)
{
	struct env env;

	(void)state;
	OPEN(FI_EP_MSG, 0, false);
	for (size_t k = 0; k < WF_ARRAY_SIZE(kinds); k++) {
		struct shape s = { kinds[k].kind, MAX_MSG + 1, 1, 0 };
		struct iovec iov[BUFFERS + 1] = { { memory_at(0), 1 } };
		struct fi_msg msg = { .msg_iov = iov, .iov_count = BUFFERS + 1 };
		struct request r;

		lay_out(&r, &s, false);
		assert_int_equal(start(&env, &s, &r), -FI_EMSGSIZE);
		assert_int_equal(fi_sendmsg(env.fid, &msg, 0), -FI_EINVAL);
	}
	assert_int_equal(fake_send_count, 0);
	close_env(&env);
}

/* The queue asks for a completion once in half of it, counted from the last one. */
static void test_signalled(void **state)
{
	enum { HALF = 5 }; /* of SENDS and the slot of a mark */
	struct fi_cq_data_entry entry;
	struct shape s = { WF_OP_SEND, 1, 1, 0 };
	struct request r;
	struct env env;

	(void)state;
	OPEN(FI_EP_MSG, FI_SELECTIVE_COMPLETION, false);
	lay_out(&r, &s, false);
	/* An operation with a completion at each place. */
	for (unsigned int at = 0; at < SENDS; at++) {
		int last = -1;

		(void)settle(&env, &entry);
		for (unsigned int i = 0; i < SENDS; i++) {
			s.flags = i == at ? FI_COMPLETION : 0;
			assert_int_equal(start(&env, &s, &r), 0);
		}
		for (int i = 0; i < SENDS; i++) {
			bool wanted = i == (int)at || i - last == HALF;

			assert_int_equal(
				!!(fake_sends[i].send_flags & IBV_SEND_SIGNALED),
				wanted);
			last = wanted ? i : last;
		}
		s.flags = 0;
		assert_int_equal(start(&env, &s, &r), -FI_EAGAIN);
		fake_complete(
			fake_sends[SENDS - 1].wr_id, IBV_WC_SUCCESS, IBV_WC_SEND, 0);
		assert_int_equal(take(&env, &entry), 1);
		assert_int_equal(take(&env, &entry), -FI_EAGAIN);
	}
	close_env(&env);
}

/* Numbers of requests run free: they wrap around, and free slots are counted across
 * that. */
static void test_wrap(void **state)
{
	static const uint32_t begins[] = { UINT32_MAX, UINT32_MAX - 3, INT32_MAX };
	struct fi_cq_data_entry entry;
	struct env env;

	(void)state;
	OPEN(FI_EP_MSG, 0, false);
	for (size_t b = 0; b < WF_ARRAY_SIZE(begins); b++) {
		struct verbs_queue *queues[] = { &env.ep->sq, &env.ep->rq };

		for (size_t q = 0; q < 2; q++) {
			queues[q]->head = begins[b];
			atomic_store(&queues[q]->tail, begins[b]);
		}
		fake_send_count = fake_recv_count = 0;
		for (unsigned int i = 0; i < SENDS; i++) {
			assert_int_equal(
				fi_send(env.fid, env.buf, 1, NULL, 0, &env.buf[i]), 0);
			assert_int_equal(fi_recv(env.fid, env.buf, 1, desc, 0,
						 &env.buf[SENDS + i]),
				0);
			assert_int_equal(fake_sends[i].wr_id, begins[b] + i);
			assert_int_equal(fake_recvs[i].wr_id,
				VERBS_WR_RECV | (uint32_t)(begins[b] + i));
		}
		assert_int_equal(
			fi_send(env.fid, env.buf, 1, NULL, 0, NULL), -FI_EAGAIN);
		assert_int_equal(
			fi_recv(env.fid, env.buf, 1, desc, 0, NULL), -FI_EAGAIN);
		for (unsigned int i = 0; i < SENDS; i++) {
			fake_complete(
				fake_sends[i].wr_id, IBV_WC_SUCCESS, IBV_WC_SEND, 0);
			assert_int_equal(take(&env, &entry), 1);
			assert_ptr_equal(entry.op_context, &env.buf[i]);
			assert_int_equal(env.fid->ops->tx_size_left(env.fid), i + 1);
			fake_complete(
				fake_recvs[i].wr_id, IBV_WC_SUCCESS, IBV_WC_RECV, 1);
			assert_int_equal(take(&env, &entry), 1);
			assert_ptr_equal(entry.op_context, &env.buf[SENDS + i]);
			assert_int_equal(env.fid->ops->rx_size_left(env.fid), i + 1);
		}
	}
	close_env(&env);
}

/* ---- receives ---- */

static ssize_t post_receive(struct fid_ep *ep, size_t buffers, struct request *r)
{
	const struct shape s = { WF_OP_RECV, 50, buffers, 0 };
	const struct fi_msg msg = { .msg_iov = r->iov,
		.desc = r->desc,
		.iov_count = buffers,
		.context = &r->context };

	lay_out(r, &s, false);
	return fi_recvmsg(ep, &msg, FI_COMPLETION);
}

/* Of a connection, of a shared context, and of datagrams, whose first buffer is for the
 * routing header. */
static void test_receives(void **state)
{
	static const struct {
		enum fi_ep_type type;
		bool shared;
		size_t headers, most;
	} rows[] = {
		{ FI_EP_MSG, false, 0, 3 },
		{ FI_EP_MSG, true, 0, 1 },
		{ FI_EP_DGRAM, false, 1, 2 },
	};

	(void)state;
	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		size_t headers = rows[i].headers;
		struct env env;

		OPEN(rows[i].type, 0, rows[i].shared);
		for (size_t b = 1; b <= rows[i].most; b++) {
			struct fid_ep *ep = env.srx ? env.srx : env.fid;
			const struct ibv_recv_wr *wr = &fake_recvs[b - 1];
			const struct ibv_sge *sge = fake_recv_sge[b - 1];
			const struct shape s = { WF_OP_RECV, 50, b, 0 };
			struct fi_cq_data_entry entry;
			struct request r;

			assert_int_equal(post_receive(ep, b, &r), 0);
			assert_int_equal(wr->num_sge, headers + b);
			assert_null(wr->next);
			assert_true(wr->wr_id & VERBS_WR_RECV);
			check_buffers(&r, &s, sge + headers);
			if (headers) {
				assert_int_equal(sge[0].addr,
					(uintptr_t)env.ep->domain->scratch->header);
				assert_int_equal(sge[0].length, VERBS_GRH_SIZE);
				assert_int_equal(sge[0].lkey, fake_mr.lkey);
			}
			fake_complete(wr->wr_id, IBV_WC_SUCCESS, IBV_WC_RECV, 50);
			assert_int_equal(take(&env, &entry), 1);
			assert_ptr_equal(entry.op_context, &r.context);
			assert_int_equal(entry.len, headers ? 10 : 50);
			assert_int_equal(entry.flags, FI_RECV | FI_MSG);
			assert_int_equal(entry.data, 0);
		}
		close_env(&env);
	}
}

/* The device refuses: the receive was not posted, and its slot is free. */
static void test_refused_receives(void **state)
{
	static const struct {
		int err;
		ssize_t ret;
	} rows[] = { { ENOMEM, -FI_EAGAIN }, { EINVAL, -FI_EINVAL }, { EIO, -FI_EIO } };

	(void)state;
	for (int shared = 0; shared < 2; shared++) {
		struct fi_cq_data_entry entry;
		struct request r[4];
		struct fid_ep *ep;
		struct env env;

		OPEN(FI_EP_MSG, 0, shared);
		ep = shared ? env.srx : env.fid;
		for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
			fake_post_error = rows[i].err;
			assert_int_equal(post_receive(ep, 1, &r[0]), rows[i].ret);
		}
		fake_post_error = 0;
		for (size_t i = 0; i < 4; i++)
			assert_int_equal(post_receive(ep, 1, &r[i]), 0);
		for (size_t i = 0; i < 4; i++) {
			assert_int_equal(fake_recvs[i].wr_id & ~VERBS_WR_RECV, i);
			fake_complete(
				fake_recvs[i].wr_id, IBV_WC_SUCCESS, IBV_WC_RECV, i);
			assert_int_equal(take(&env, &entry), 1);
			assert_ptr_equal(entry.op_context, &r[i].context);
			assert_int_equal(entry.len, i);
		}
		close_env(&env);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_descriptors),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_signalled),
		cmocka_unit_test(test_wrap),
		cmocka_unit_test(test_receives),
		cmocka_unit_test(test_refused_receives),
	};

	return cmocka_run_group_tests(tests, fake_setup, fake_teardown);
}
