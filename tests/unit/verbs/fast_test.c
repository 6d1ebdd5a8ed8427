/* SPDX-License-Identifier: BSD-2-Clause */
#include "data_env.h"

/* The fast path of small messages: which calls take it, and that its requests are those
 * of the general calls. */

static unsigned int general_sends, general_injects, general_recvs;

static ssize_t count_send(struct fid_ep *ep, const void *buf, size_t len, void *d,
	fi_addr_t addr, void *context)
{
	general_sends++;
	return 0;
}

static ssize_t count_inject(
	struct fid_ep *ep, const void *buf, size_t len, fi_addr_t addr)
{
	general_injects++;
	return 0;
}

static ssize_t count_recv(struct fid_ep *ep, void *buf, size_t len, void *d,
	fi_addr_t addr, void *context)
{
	general_recvs++;
	return 0;
}

/* What the fast path leaves is counted, and goes no further. */
static void count_general(struct env *env)
{
	general_sends = general_injects = general_recvs = 0;
	env->ep->fast.general.send = count_send;
	env->ep->fast.general.inject = count_inject;
	env->ep->fast.general.recv = count_recv;
}

static ssize_t send_len(struct env *env, size_t len, void *d)
{
	return fi_send(env->fid, env->buf, len, d, 0, &env->info);
}

static void test_sends(void **state)
{
	struct env env;

	(void)state;
	OPEN(FI_EP_MSG, 0, false);
	count_general(&env);
	assert_int_equal(send_len(&env, 1, NULL), 0);
	assert_int_equal(send_len(&env, FAKE_INLINE, desc), 0);
	assert_int_equal(send_len(&env, FAKE_INLINE + 1, desc), 0);
	assert_int_equal(fi_inject(env.fid, env.buf + 2, FAKE_INLINE, 0), 0);
	assert_int_equal(general_sends + general_injects, 0);
	assert_int_equal(fake_send_count, 4);
	for (unsigned int i = 0; i < 4; i++) {
		const struct ibv_send_wr *wr = &fake_sends[i];

		assert_int_equal(wr->wr_id, i);
		assert_int_equal(wr->opcode, IBV_WR_SEND);
		assert_int_equal(wr->num_sge, 1);
		assert_null(wr->next);
		assert_int_equal(!!(wr->send_flags & IBV_SEND_INLINE), i != 2);
		/* An injected message reports nothing. */
		assert_int_equal(!!(wr->send_flags & IBV_SEND_SIGNALED), i != 3);
	}
	assert_int_equal(fake_send_sge[0].length, 1);
	assert_int_equal(fake_send_sge[2].lkey, 5);
	assert_int_equal(fake_send_sge[3].addr, (uintptr_t)env.buf + 2);
	close_env(&env);
}

/* No bytes, too many for the device or for one without a descriptor, no connection, a
 * queue without room, an error of the device: the general call decides. */
static void test_left_sends(void **state)
{
	struct env env;

	(void)state;
	OPEN(FI_EP_MSG, 0, false);
	count_general(&env);
	assert_int_equal(send_len(&env, 0, NULL), 0);
	assert_int_equal(send_len(&env, FAKE_INLINE + 1, NULL), 0);
	assert_int_equal(send_len(&env, (1 << 20) + 1, desc), 0);
	atomic_store(&env.ep->ready, false);
	assert_int_equal(send_len(&env, 1, NULL), 0);
	atomic_store(&env.ep->ready, true);
	fake_post_error = EIO;
	assert_int_equal(send_len(&env, 1, NULL), 0);
	fake_post_error = 0;
	assert_int_equal(general_sends, 5);
	assert_int_equal(fi_inject(env.fid, env.buf, 0, 0), 0);
	assert_int_equal(fi_inject(env.fid, env.buf, FAKE_INLINE + 1, 0), 0);
	assert_int_equal(general_injects, 2);
	assert_int_equal(fake_send_count, 0);
	for (unsigned int i = 0; i < SENDS; i++)
		assert_int_equal(send_len(&env, 1, NULL), 0);
	assert_int_equal(general_sends, 5);
	assert_int_equal(send_len(&env, 1, NULL), 0);
	assert_int_equal(general_sends, 6);
	assert_int_equal(fake_send_count, SENDS);
	close_env(&env);
}

/* The endpoint's default flags count, too. */
static void test_default_flags(void **state)
{
	struct env env;
	uint64_t flags;

	(void)state;
	OPEN(FI_EP_MSG, FI_SELECTIVE_COMPLETION, false);
	count_general(&env);
	assert_int_equal(send_len(&env, 1, NULL), 0);
	assert_false(fake_sends[0].send_flags & IBV_SEND_SIGNALED);
	flags = FI_TRANSMIT | FI_INJECT;
	assert_int_equal(fi_control(&env.fid->fid, FI_SETOPSFLAG, &flags), 0);
	assert_int_equal(send_len(&env, 1, NULL), 0);
	assert_int_equal(general_sends, 1);
	flags = FI_TRANSMIT | FI_FENCE;
	assert_int_equal(fi_control(&env.fid->fid, FI_SETOPSFLAG, &flags), 0);
	assert_int_equal(send_len(&env, 1, NULL), 0);
	assert_int_equal(general_sends, 2);
	flags = FI_TRANSMIT | FI_COMPLETION;
	assert_int_equal(fi_control(&env.fid->fid, FI_SETOPSFLAG, &flags), 0);
	assert_int_equal(send_len(&env, 1, NULL), 0);
	assert_int_equal(general_sends, 2);
	assert_true(fake_sends[1].send_flags & IBV_SEND_SIGNALED);
	close_env(&env);
}

/* A message that is counted asks for a completion, though it writes no entry. */
static void test_counter(void **state)
{
	struct fi_cntr_attr attr = { .events = FI_CNTR_EVENTS_COMP };
	struct fi_cq_data_entry entry;
	struct fid_cntr *cntr;
	struct env env;

	(void)state;
	OPEN(FI_EP_MSG, FI_SELECTIVE_COMPLETION, false);
	assert_int_equal(fi_cntr_open(env.domain, &attr, &cntr, NULL), 0);
	assert_int_equal(fi_ep_bind(env.fid, &cntr->fid, FI_SEND), 0);
	count_general(&env);
	assert_int_equal(send_len(&env, 1, NULL), 0);
	assert_int_equal(general_sends, 0);
	assert_true(fake_sends[0].send_flags & IBV_SEND_SIGNALED);
	fake_complete(fake_sends[0].wr_id, IBV_WC_SUCCESS, IBV_WC_SEND, 0);
	assert_int_equal(take(&env, &entry), -FI_EAGAIN);
	assert_int_equal(fi_cntr_read(cntr), 1);
	end_sends(&env);
	assert_int_equal(fi_close(&env.fid->fid), 0);
	assert_int_equal(fi_close(&cntr->fid), 0);
	assert_int_equal(fi_close(&env.cq->fid), 0);
	assert_int_equal(fi_close(&env.domain->fid), 0);
	assert_int_equal(fi_close(&env.fabric->fid), 0);
	fi_freeinfo(env.info);
}

static void test_receives(void **state)
{
	struct fi_cq_data_entry entry;
	struct env env;

	(void)state;
	OPEN(FI_EP_MSG, 0, false);
	count_general(&env);
	for (unsigned int i = 0; i < SENDS; i++)
		assert_int_equal(
			fi_recv(env.fid, env.buf + i, 16, desc, 0, &env.buf[i]), 0);
	assert_int_equal(general_recvs, 0);
	assert_int_equal(fake_recv_count, SENDS);
	assert_int_equal(fake_recvs[1].wr_id, VERBS_WR_RECV | 1);
	assert_int_equal(fake_recvs[1].num_sge, 1);
	assert_int_equal(fake_recv_sge[1][0].addr, (uintptr_t)env.buf + 1);
	assert_int_equal(fake_recv_sge[1][0].length, 16);
	assert_int_equal(fake_recv_sge[1][0].lkey, 5);
	/* No room, no bytes, no descriptor. */
	assert_int_equal(fi_recv(env.fid, env.buf, 16, desc, 0, NULL), 0);
	assert_int_equal(general_recvs, 1);
	fake_complete(fake_recvs[0].wr_id, IBV_WC_SUCCESS, IBV_WC_RECV, 3);
	assert_int_equal(take(&env, &entry), 1);
	assert_ptr_equal(entry.op_context, &env.buf[0]);
	assert_int_equal(entry.len, 3);
	assert_int_equal(fi_recv(env.fid, env.buf, 16, NULL, 0, NULL), 0);
	assert_int_equal(fi_recv(env.fid, env.buf, 0, desc, 0, NULL), 0);
	assert_int_equal(general_recvs, 3);
	assert_int_equal(fake_recv_count, SENDS);
	close_env(&env);
}

/* Receives of a shared context, and datagrams, have no fast path. */
static void test_others(void **state)
{
	struct env env;

	(void)state;
	OPEN(FI_EP_MSG, 0, true);
	count_general(&env);
	assert_int_not_equal(fi_recv(env.fid, env.buf, 16, desc, 0, NULL), 0);
	assert_int_equal(general_recvs, 0);
	assert_int_equal(send_len(&env, 1, NULL), 0);
	assert_int_equal(general_sends, 0);
	close_env(&env);
	OPEN(FI_EP_DGRAM, 0, false);
	assert_null(env.ep->fast.general.send);
	close_env(&env);
}

/* An endpoint of one direction has the fast path of that. */
static void test_directions(void **state)
{
	static const struct {
		uint64_t caps;
		bool sends, receives;
	} rows[] = { { FI_MSG | FI_SEND, true, false },
		{ FI_MSG | FI_RECV, false, true },
		{ FI_MSG | FI_SEND | FI_RECV, true, true }, { FI_RMA, false, false } };

	(void)state;
	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		struct env env;

		env_caps = rows[i].caps;
		OPEN(FI_EP_MSG, 0, false);
		count_general(&env);
		assert_int_equal(send_len(&env, 1, NULL) == 0, rows[i].sends);
		assert_int_equal(fi_inject(env.fid, env.buf, 1, 0) == 0, rows[i].sends);
		assert_int_equal(fi_recv(env.fid, env.buf, 16, desc, 0, NULL) == 0,
			rows[i].receives);
		assert_int_equal(general_sends + general_injects + general_recvs, 0);
		assert_int_equal(fake_send_count, rows[i].sends ? 2 : 0);
		assert_int_equal(fake_recv_count, rows[i].receives);
		close_env(&env);
	}
	env_caps = 0;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sends),
		cmocka_unit_test(test_left_sends),
		cmocka_unit_test(test_default_flags),
		cmocka_unit_test(test_counter),
		cmocka_unit_test(test_receives),
		cmocka_unit_test(test_others),
		cmocka_unit_test(test_directions),
	};

	return cmocka_run_group_tests(tests, fake_setup, fake_teardown);
}
