/* SPDX-License-Identifier: BSD-2-Clause */
#include "data_env.h"
#include <rdma/fi_atomic.h>

#include "providers/verbs/param.h"
#include "providers/verbs/ud/ud.h"

/* Datagram endpoints over a device that the test plays: requests that fail, and with
 * them the queue pair, which is started again. */

static fi_addr_t insert(struct env *env)
{
	struct verbs_ud_name name = { .qpn = 77 };
	fi_addr_t addr;

	assert_int_equal(fi_av_insert(env->av, &name, 1, &addr, 0, NULL), 1);
	return addr;
}

static void post(struct env *env, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		assert_int_equal(
			fi_recv(env->fid, env->buf + i, 16 + i, desc, 0, &env->buf[i]),
			0);
}

static void flush_recv(unsigned int from, unsigned int to)
{
	for (unsigned int i = from; i < to; i++)
		fake_complete(fake_recvs[i].wr_id, IBV_WC_WR_FLUSH_ERR, 0, 0);
}

/* Receives that were returned are posted again as they were, in their order. */
static void assert_posted_again(
	const struct env *env, unsigned int from, unsigned int to)
{
	unsigned int again = fake_recv_count - (to - from);

	for (unsigned int i = from; i < to; i++, again++) {
		assert_int_equal(fake_recvs[again].wr_id, fake_recvs[i].wr_id);
		assert_int_equal(fake_recvs[again].num_sge, 2);
		assert_int_equal(fake_recv_sge[again][1].addr, (uintptr_t)env->buf + i);
		assert_int_equal(fake_recv_sge[again][1].length, 16 + i);
	}
}

static void test_long_datagram(void **state)
{
	struct fi_cq_data_entry entry;
	struct fi_cq_err_entry err;
	struct env env;
	fi_addr_t dest;

	(void)state;
	OPEN(FI_EP_DGRAM, 0, false);
	dest = insert(&env);
	post(&env, 4);
	assert_int_equal(fi_send(env.fid, env.buf, 1, NULL, dest, &env), 0);
	fake_complete(fake_recvs[0].wr_id, IBV_WC_LOC_LEN_ERR, 0, 0);
	assert_int_equal(take_error(&env, &err), FI_ETRUNC);
	assert_ptr_equal(err.op_context, &env.buf[0]);
	/* Nothing starts before all have ended, nor is anything posted. */
	assert_int_equal(take(&env, &entry), -FI_EAGAIN);
	assert_int_equal(fake_state, IBV_QPS_ERR);
	assert_int_equal(fi_send(env.fid, env.buf, 1, NULL, dest, NULL), -FI_EAGAIN);
	assert_int_equal(fi_recv(env.fid, env.buf, 1, desc, 0, NULL), -FI_EAGAIN);
	flush_recv(1, 4);
	assert_int_equal(take(&env, &entry), -FI_EAGAIN);
	assert_int_equal(fake_recv_count, 4);
	fake_complete(fake_sends[0].wr_id, IBV_WC_WR_FLUSH_ERR, 0, 0);
	assert_int_equal(take_error(&env, &err), FI_ECANCELED);
	assert_ptr_equal(err.op_context, &env);
	assert_int_equal(fake_state, IBV_QPS_RTS);
	assert_int_equal(fake_recv_count, 7);
	assert_posted_again(&env, 1, 4);

	/* The endpoint works again. */
	fake_complete(fake_recvs[4].wr_id, IBV_WC_SUCCESS, IBV_WC_RECV, 40 + 5);
	assert_int_equal(take(&env, &entry), 1);
	assert_ptr_equal(entry.op_context, &env.buf[1]);
	assert_int_equal(entry.len, 5);
	assert_int_equal(fi_send(env.fid, env.buf, 1, NULL, dest, NULL), 0);
	post(&env, 1);
	assert_int_equal(fake_recvs[7].wr_id, fake_recvs[6].wr_id + 1);
	close_env(&env);
}

/* What was started again can stop again. */
static void test_twice(void **state)
{
	struct fi_cq_data_entry entry;
	struct fi_cq_err_entry err;
	struct env env;

	(void)state;
	OPEN(FI_EP_DGRAM, 0, false);
	post(&env, 3);
	for (unsigned int i = 0; i < 2; i++) {
		fake_complete(fake_recvs[i].wr_id, IBV_WC_LOC_LEN_ERR, 0, 0);
		flush_recv(i + 1, 3);
		assert_int_equal(take_error(&env, &err), FI_ETRUNC);
		assert_ptr_equal(err.op_context, &env.buf[i]);
		/* Nothing is left to do, so threads may sleep. */
		assert_true(env.ep->ep.tx_cq->source->arm(env.ep->ep.tx_cq->source));
		assert_int_equal(take(&env, &entry), -FI_EAGAIN);
		assert_int_equal(fake_state, IBV_QPS_RTS);
		assert_posted_again(&env, i + 1, 3);
	}
	assert_int_equal(fake_recv_count, 3 + 2 + 1);
	close_env(&env);
}

/* A failed send stops the receives of some devices, too. */
static void test_failed_send(void **state)
{
	struct fi_cq_data_entry entry;
	struct fi_cq_err_entry err;
	struct env env;
	fi_addr_t dest;

	(void)state;
	OPEN(FI_EP_DGRAM, 0, false);
	dest = insert(&env);
	post(&env, 2);
	for (int i = 0; i < 2; i++)
		assert_int_equal(fi_send(env.fid, env.buf, 1, NULL, dest, NULL), 0);
	flush_recv(0, 2);
	fake_complete(fake_sends[0].wr_id, IBV_WC_LOC_QP_OP_ERR, 0, 0);
	assert_int_equal(take_error(&env, &err), FI_EIO);
	assert_int_equal(fake_state, IBV_QPS_ERR);
	fake_complete(fake_sends[1].wr_id, IBV_WC_WR_FLUSH_ERR, 0, 0);
	assert_int_equal(take_error(&env, &err), FI_ECANCELED);
	assert_int_equal(take(&env, &entry), -FI_EAGAIN);
	assert_int_equal(fake_state, IBV_QPS_RTS);
	assert_posted_again(&env, 0, 2);
	close_env(&env);
}

/* Where the device refuses, the receives end. */
static void test_no_restart(void **state)
{
	struct fi_cq_err_entry err;
	struct env env;

	(void)state;
	OPEN(FI_EP_DGRAM, 0, false);
	post(&env, 3);
	fake_complete(fake_recvs[0].wr_id, IBV_WC_LOC_LEN_ERR, 0, 0);
	fake_modify_error = EINVAL;
	assert_int_equal(take_error(&env, &err), FI_ETRUNC);
	flush_recv(1, 3);
	for (int i = 1; i < 3; i++) {
		assert_int_equal(take_error(&env, &err), FI_ECANCELED);
		assert_ptr_equal(err.op_context, &env.buf[i]);
		assert_int_equal(err.flags, FI_RECV | FI_MSG);
		assert_int_equal(err.prov_errno, IBV_WC_WR_FLUSH_ERR);
	}
	fake_modify_error = 0;
	close_env(&env);
}

/* Closing ends the receives that a stop had returned, without completions. */
static void test_closed_while_stopped(void **state)
{
	struct fi_cq_err_entry err;
	struct env env;

	(void)state;
	OPEN(FI_EP_DGRAM, 0, false);
	post(&env, 3);
	fake_complete(fake_recvs[0].wr_id, IBV_WC_LOC_LEN_ERR, 0, 0);
	assert_int_equal(take_error(&env, &err), FI_ETRUNC);
	flush_recv(1, 2);
	close_env(&env);
}

/* Soft-RoCE has no status of its own for a receive that is too short. */
static void test_soft_roce(void **state)
{
	struct fi_cq_err_entry err;
	struct env env;

	(void)state;
	fake_vendor = 0xffffff;
	verbs_devices(true);
	OPEN(FI_EP_DGRAM, 0, false);
	post(&env, 1);
	fake_complete(fake_recvs[0].wr_id, IBV_WC_LOC_QP_OP_ERR, 0, 0);
	assert_int_equal(take_error(&env, &err), FI_ETRUNC);
	assert_int_equal(err.prov_errno, IBV_WC_LOC_QP_OP_ERR);
	close_env(&env);
	fake_vendor = 0;
	verbs_devices(true);
}

/* No atomic operations, even if the device supports them for connections. */
static void test_no_atomics(void **state)
{
	struct fi_atomic_attr attr;
	struct env env;

	(void)state;
	OPEN(FI_EP_DGRAM, 0, false);
	assert_true(fi_query_atomic(env.domain, FI_UINT64, FI_SUM, &attr, 0) < 0);
	close_env(&env);
}

static int setup(void **state)
{
	verbs_params.use_name_server = false;
	return fake_setup(state);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_long_datagram),
		cmocka_unit_test(test_twice),
		cmocka_unit_test(test_failed_send),
		cmocka_unit_test(test_no_restart),
		cmocka_unit_test(test_closed_while_stopped),
		cmocka_unit_test(test_soft_roce),
		cmocka_unit_test(test_no_atomics),
	};

	return cmocka_run_group_tests(tests, setup, fake_teardown);
}
