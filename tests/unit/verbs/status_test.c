/* SPDX-License-Identifier: BSD-2-Clause */
#include "data_env.h"

#include <arpa/inet.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>

/* What each status of a completion becomes, for each kind of request, and what the
 * counters count. */

enum { SOFT_ROCE = 0xffffff, OPS = 6, LEN = 8 };

static const struct row {
	enum ibv_wc_status status;
	int send, receive;
} rows[] = {
	{ IBV_WC_LOC_LEN_ERR, FI_EIO, FI_ETRUNC },
	{ IBV_WC_LOC_QP_OP_ERR, FI_EIO, FI_EIO },
	{ IBV_WC_LOC_EEC_OP_ERR, FI_EIO, FI_EIO },
	{ IBV_WC_LOC_PROT_ERR, FI_EINVAL, FI_EINVAL },
	{ IBV_WC_WR_FLUSH_ERR, FI_ECANCELED, FI_ECANCELED },
	{ IBV_WC_MW_BIND_ERR, FI_EINVAL, FI_EINVAL },
	{ IBV_WC_BAD_RESP_ERR, FI_EIO, FI_EIO },
	{ IBV_WC_LOC_ACCESS_ERR, FI_EINVAL, FI_EINVAL },
	{ IBV_WC_REM_INV_REQ_ERR, FI_EIO, FI_ETRUNC },
	{ IBV_WC_REM_ACCESS_ERR, FI_EACCES, FI_EACCES },
	{ IBV_WC_REM_OP_ERR, FI_EIO, FI_EIO },
	{ IBV_WC_RETRY_EXC_ERR, FI_ETIMEDOUT, FI_ETIMEDOUT },
	{ IBV_WC_RNR_RETRY_EXC_ERR, FI_ENORX, FI_ENORX },
	{ IBV_WC_LOC_RDD_VIOL_ERR, FI_EIO, FI_EIO },
	{ IBV_WC_REM_INV_RD_REQ_ERR, FI_EIO, FI_EIO },
	{ IBV_WC_REM_ABORT_ERR, FI_ECONNABORTED, FI_ECONNABORTED },
	{ IBV_WC_INV_EECN_ERR, FI_EIO, FI_EIO },
	{ IBV_WC_INV_EEC_STATE_ERR, FI_EIO, FI_EIO },
	{ IBV_WC_FATAL_ERR, FI_EIO, FI_EIO },
	{ IBV_WC_RESP_TIMEOUT_ERR, FI_ETIMEDOUT, FI_ETIMEDOUT },
	{ IBV_WC_GENERAL_ERR, FI_EIO, FI_EIO },
	{ 99, FI_EIO, FI_EIO },
};

static uint64_t word, result;

static ssize_t start_send(struct fid_ep *ep, void *context)
{
	return fi_send(ep, &word, LEN, desc, 0, context);
}

static ssize_t start_write(struct fid_ep *ep, void *context)
{
	return fi_write(ep, &word, LEN, desc, 0, 64, 6, context);
}

static ssize_t start_read(struct fid_ep *ep, void *context)
{
	return fi_read(ep, &word, LEN, desc, 0, 64, 6, context);
}

static ssize_t start_atomic(struct fid_ep *ep, void *context)
{
	return fi_atomic(ep, &word, 1, desc, 0, 64, 6, FI_UINT64, FI_SUM, context);
}

static ssize_t start_fetch(struct fid_ep *ep, void *context)
{
	return fi_fetch_atomic(ep, &word, 1, desc, &result, desc, 0, 64, 6, FI_UINT64,
		FI_SUM, context);
}

static ssize_t start_compare(struct fid_ep *ep, void *context)
{
	return fi_compare_atomic(ep, &word, 1, desc, &word, desc, &result, desc, 0, 64,
		6, FI_UINT64, FI_CSWAP, context);
}

/* Counters of the initiator, in this order. */
enum { SENT, READS, WRITES, RECEIVED, COUNTERS };
static const uint64_t counter_flags[COUNTERS] = { FI_SEND, FI_READ, FI_WRITE, FI_RECV };

static const struct op {
	ssize_t (*start)(struct fid_ep *ep, void *context);
	uint64_t comp_flags;
	int counter;
} ops[OPS] = {
	{ start_send, FI_SEND | FI_MSG, SENT },
	{ start_write, FI_WRITE | FI_RMA, WRITES },
	{ start_read, FI_READ | FI_RMA, READS },
	{ start_atomic, FI_WRITE | FI_ATOMIC, WRITES },
	{ start_fetch, FI_READ | FI_ATOMIC, READS },
	{ start_compare, FI_READ | FI_ATOMIC, READS },
};

static void check_error(
	struct env *env, const void *context, uint64_t flags, int wanted, int status)
{
	struct fi_cq_err_entry err;
	struct fi_cq_data_entry entry;

	assert_int_equal(take_error(env, &err), wanted);
	assert_int_equal(err.prov_errno, status);
	assert_ptr_equal(err.op_context, context);
	assert_int_equal(err.flags, flags);
	assert_int_equal(err.len, 0);
	assert_int_equal(err.src_addr, FI_ADDR_NOTAVAIL);
	assert_int_equal(take(env, &entry), -FI_EAGAIN);
}

static void test_sends(void **state)
{
	struct env env;

	(void)state;
	OPEN(FI_EP_MSG, 0, false);
	for (size_t o = 0; o < OPS; o++)
		for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
			fake_send_count = 0;
			assert_int_equal(ops[o].start(env.fid, &env.buf[i]), 0);
			fake_complete(fake_sends[0].wr_id, rows[i].status, 0, 0);
			check_error(&env, &env.buf[i], ops[o].comp_flags, rows[i].send,
				(int)rows[i].status);
		}
	close_env(&env);
}

/* A receive: with a descriptor or without one, and of a device with one status for two
 * errors. */
static int receive_error(const struct row *row, bool bare, bool soft)
{
	if (row->status != IBV_WC_LOC_QP_OP_ERR)
		return row->receive;
	if (bare)
		return FI_EINVAL;
	return soft ? FI_ETRUNC : FI_EIO;
}

static void check_receives(bool shared, bool bare, bool soft)
{
	struct env env;

	OPEN(FI_EP_MSG, 0, shared);
	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		struct fid_ep *ep = shared ? env.srx : env.fid;

		fake_recv_count = 0;
		assert_int_equal(
			fi_recv(ep, env.buf, LEN, bare ? NULL : desc, 0, &env.buf[i]),
			0);
		fake_complete(fake_recvs[0].wr_id, rows[i].status, 0, 0);
		check_error(&env, &env.buf[i], FI_RECV | FI_MSG,
			receive_error(&rows[i], bare, soft), (int)rows[i].status);
	}
	close_env(&env);
}

static void test_receives(void **state)
{
	(void)state;
	for (unsigned int soft = 0; soft < 2; soft++) {
		fake_vendor = soft ? SOFT_ROCE : SOFT_ROCE - 1;
		verbs_devices(true);
		for (unsigned int i = 0; i < 4; i++)
			check_receives(i & 1, i & 2, soft);
	}
	fake_vendor = 0;
	verbs_devices(true);
}

/* ---- counters ---- */

struct counters {
	struct fid_cntr *at[COUNTERS];
};

static void open_counters(
	struct env *env, enum fi_cntr_events events, struct counters *ret)
{
	struct fi_cntr_attr attr = { .events = events };

	for (size_t i = 0; i < COUNTERS; i++) {
		assert_int_equal(
			fi_cntr_open(env->domain, &attr, &ret->at[i], NULL), 0);
		assert_int_equal(
			fi_ep_bind(env->fid, &ret->at[i]->fid, counter_flags[i]), 0);
	}
}

/* Only the counter @which has counted: to @value or @errors. */
static void check_counters(
	const struct counters *counters, int which, uint64_t value, uint64_t errors)
{
	for (int i = 0; i < COUNTERS; i++) {
		assert_int_equal(fi_cntr_read(counters->at[i]), i == which ? value : 0);
		assert_int_equal(
			fi_cntr_readerr(counters->at[i]), i == which ? errors : 0);
		assert_int_equal(fi_cntr_set(counters->at[i], 0), 0);
		assert_int_equal(fi_cntr_seterr(counters->at[i], 0), 0);
	}
}

static void close_counters(struct env *env, const struct counters *counters)
{
	end_sends(env);
	assert_int_equal(fi_close(&env->fid->fid), 0);
	for (size_t i = 0; i < COUNTERS; i++)
		assert_int_equal(fi_close(&counters->at[i]->fid), 0);
	env->fid = NULL;
}

static void run_counted(struct env *env, const struct counters *counters, size_t value)
{
	struct fi_cq_data_entry entry;
	struct fi_cq_err_entry err;

	for (size_t o = 0; o < OPS; o++) {
		fake_send_count = 0;
		assert_int_equal(ops[o].start(env->fid, NULL), 0);
		/* Its end has to be known, though no entry is written. */
		assert_true(fake_sends[0].send_flags & IBV_SEND_SIGNALED);
		fake_complete(fake_sends[0].wr_id, IBV_WC_SUCCESS, 0, 0);
		assert_int_equal(take(env, &entry), -FI_EAGAIN);
		/* Bytes of an atomic operation were read. */
		check_counters(counters,
			value > 1 && ops[o].comp_flags & FI_ATOMIC ? READS
								   : ops[o].counter,
			value, 0);
		assert_int_equal(ops[o].start(env->fid, NULL), 0);
		fake_complete(fake_sends[1].wr_id, IBV_WC_REM_ACCESS_ERR, 0, 0);
		assert_int_equal(take_error(env, &err), FI_EACCES);
		check_counters(counters, ops[o].counter, 0, 1);
	}
}

static void run_received(struct env *env, const struct counters *counters, size_t value)
{
	struct fi_cq_data_entry entry;
	struct fi_cq_err_entry err;

	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(fi_recv(env->fid, env->buf, LEN, desc, 0, NULL), 0);
	fake_complete(fake_recvs[0].wr_id, IBV_WC_SUCCESS, IBV_WC_RECV, LEN);
	assert_int_equal(take(env, &entry), 1);
	check_counters(counters, RECEIVED, value, 0);
	fake_complete(fake_recvs[1].wr_id, IBV_WC_LOC_LEN_ERR, 0, 0);
	assert_int_equal(take_error(env, &err), FI_ETRUNC);
	check_counters(counters, RECEIVED, 0, 1);
	/* A write with data took a receive, but is no message. */
	fake_complete(fake_recvs[2].wr_id, IBV_WC_SUCCESS, IBV_WC_RECV_RDMA_WITH_IMM,
		LEN + 1);
	fake_wc[0].wc_flags = IBV_WC_WITH_IMM;
	fake_wc[0].imm_data = htonl(0x01020304);
	assert_int_equal(take(env, &entry), 1);
	assert_int_equal(entry.flags, FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA);
	assert_int_equal(entry.len, LEN + 1);
	assert_int_equal(entry.data, 0x01020304);
	check_counters(counters, COUNTERS, 0, 0);
}

/* Ends or failures of operations, or the bytes that they transferred. */
static void test_counters(void **state)
{
	static const struct {
		enum fi_cntr_events events;
		size_t value;
	} kinds[] = { { FI_CNTR_EVENTS_COMP, 1 }, { FI_CNTR_EVENTS_BYTES, LEN } };

	(void)state;
	for (size_t i = 0; i < WF_ARRAY_SIZE(kinds); i++) {
		struct counters counters;
		struct env env;

		OPEN(FI_EP_MSG, FI_SELECTIVE_COMPLETION, false);
		open_counters(&env, kinds[i].events, &counters);
		run_counted(&env, &counters, kinds[i].value);
		run_received(&env, &counters, kinds[i].value);
		close_counters(&env, &counters);
		close_env(&env);
	}
}

/* ---- the queue ---- */

/* A device that fails has no completions, and those that it still has are found when it
 * works again. */
static void test_poll_fails(void **state)
{
	struct fi_cq_data_entry entry;
	struct env env;

	(void)state;
	OPEN(FI_EP_MSG, 0, false);
	assert_int_equal(start_send(env.fid, &env), 0);
	fake_complete(fake_sends[0].wr_id, IBV_WC_SUCCESS, IBV_WC_SEND, 0);
	fake_poll_fails = true;
	for (unsigned int i = 0; i < 3; i++)
		assert_int_equal(take(&env, &entry), -FI_EAGAIN);
	fake_poll_fails = false;
	assert_int_equal(take(&env, &entry), 1);
	assert_ptr_equal(entry.op_context, &env);
	close_env(&env);
}

/* Data is where the device says that it is, whatever the bytes are. */
static void test_data(void **state)
{
	static const uint32_t values[] = { 0, 1, 0x01020304, 0x80000000, UINT32_MAX };
	struct fi_cq_data_entry entry;
	struct env env;

	(void)state;
	OPEN(FI_EP_MSG, 0, false);
	for (size_t i = 0; i < WF_ARRAY_SIZE(values); i++)
		for (unsigned int with = 0; with < 2; with++) {
			fake_recv_count = 0;
			assert_int_equal(
				fi_recv(env.fid, env.buf, LEN, desc, 0, NULL), 0);
			fake_complete(
				fake_recvs[0].wr_id, IBV_WC_SUCCESS, IBV_WC_RECV, LEN);
			fake_wc[0].wc_flags = with ? IBV_WC_WITH_IMM : IBV_WC_GRH;
			fake_wc[0].imm_data = htonl(values[i]);
			assert_int_equal(take(&env, &entry), 1);
			assert_int_equal(entry.flags,
				FI_RECV | FI_MSG | (with ? FI_REMOTE_CQ_DATA : 0));
			assert_int_equal(entry.data, with ? values[i] : 0);
		}
	close_env(&env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sends),
		cmocka_unit_test(test_receives),
		cmocka_unit_test(test_counters),
		cmocka_unit_test(test_poll_fails),
		cmocka_unit_test(test_data),
	};

	return cmocka_run_group_tests(tests, fake_setup, fake_teardown);
}
