/* SPDX-License-Identifier: BSD-2-Clause */
#include "data_env.h"

#include "providers/verbs/param.h"
#include "providers/verbs/ud/ud.h"

/* The attributes of the device's objects, and that each of them is given back: when it
 * is closed, and when any call of the device fails on the way to it. */

enum { MOST_CALLS = 40, RECEIVES = 8, SHARED_RECEIVES = 4 };

struct shape {
	enum fi_ep_type type;
	bool shared;
};

static const struct shape shapes[] = {
	{ FI_EP_MSG, false },
	{ FI_EP_MSG, true },
	{ FI_EP_DGRAM, false },
};

/* ---- attributes ---- */

static void check_created(const struct env *env, const struct shape *s)
{
	const struct ibv_qp_cap *cap = &fake_qp_attr.cap;
	bool dgram = s->type == FI_EP_DGRAM;

	assert_int_equal(fake_qp_attr.qp_type, dgram ? IBV_QPT_UD : IBV_QPT_RC);
	assert_ptr_equal(fake_qp_attr.qp_context, env->ep);
	assert_ptr_equal(fake_qp_attr.send_cq, &fake_cq);
	assert_ptr_equal(fake_qp_attr.recv_cq, &fake_cq);
	assert_ptr_equal(fake_qp_attr.srq, s->shared ? &fake_srq : NULL);
	/* One more, for the mark of a flush. */
	assert_int_equal(cap->max_send_wr, SENDS + 1);
	assert_int_equal(cap->max_recv_wr, s->shared ? 0 : RECEIVES);
	assert_int_equal(cap->max_send_sge, env->info->tx_attr->iov_limit);
	/* One more, for the routing header. */
	assert_int_equal(cap->max_recv_sge,
		s->shared ? 0 : env->info->rx_attr->iov_limit + dgram);
	assert_int_equal(cap->max_inline_data, FAKE_INLINE);
	if (s->shared)
		assert_int_equal(fake_srq_attr.attr.max_wr, SHARED_RECEIVES);
}

static void check_states(const struct shape *s)
{
	bool dgram = s->type == FI_EP_DGRAM;

	assert_int_equal(fake_attr_count, dgram ? 3 : 1);
	assert_int_equal(fake_attrs[0].qp_state, IBV_QPS_INIT);
	assert_int_equal(fake_attrs[0].port_num, 1);
	assert_int_equal(fake_attrs[0].pkey_index, 0);
	assert_int_equal(
		fake_masks[0], IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
				       (dgram ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS));
	if (!dgram) {
		assert_int_equal(fake_attrs[0].qp_access_flags,
			IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
				IBV_ACCESS_REMOTE_WRITE |
				(fake_atomic_cap == IBV_ATOMIC_NONE
						? 0
						: IBV_ACCESS_REMOTE_ATOMIC));
		return;
	}
	assert_int_equal(fake_attrs[0].qkey, VERBS_UD_QKEY);
	assert_int_equal(fake_attrs[1].qp_state, IBV_QPS_RTR);
	assert_int_equal(fake_masks[1], IBV_QP_STATE);
	assert_int_equal(fake_attrs[2].qp_state, IBV_QPS_RTS);
	assert_int_equal(fake_masks[2], IBV_QP_STATE | IBV_QP_SQ_PSN);
}

static void test_attributes(void **state)
{
	static const enum ibv_atomic_cap caps[] = { IBV_ATOMIC_HCA, IBV_ATOMIC_NONE,
		IBV_ATOMIC_GLOB };

	(void)state;
	for (size_t c = 0; c < WF_ARRAY_SIZE(caps); c++) {
		fake_atomic_cap = caps[c];
		verbs_devices(true);
		for (size_t i = 0; i < WF_ARRAY_SIZE(shapes); i++) {
			struct env env;

			OPEN(shapes[i].type, 0, shapes[i].shared);
			check_created(&env, &shapes[i]);
			check_states(&shapes[i]);
			close_env(&env);
		}
	}
	fake_atomic_cap = IBV_ATOMIC_HCA;
	verbs_devices(true);
}

/* ---- each call fails ---- */

/* Open what is not open yet, step by step. Returns the first error. */
static int go_on(struct env *env, const struct shape *s)
{
	struct fi_cq_attr cq_attr = { .wait_obj = FI_WAIT_FD };
	struct fi_av_attr av_attr = { .type = FI_AV_TABLE };
	struct fi_rx_attr rx_attr = { .size = SHARED_RECEIVES };
	int err = 0;

	if (!env->domain)
		err = fi_domain(env->fabric, env->info, &env->domain, NULL);
	if (!err && !env->cq)
		err = fi_cq_open(env->domain, &cq_attr, &env->cq, NULL);
	if (!err && s->type == FI_EP_DGRAM && !env->av)
		err = fi_av_open(env->domain, &av_attr, &env->av, NULL);
	if (!err && s->shared && !env->srx)
		err = fi_srx_context(env->domain, &rx_attr, &env->srx, NULL);
	if (!err && !env->fid) {
		err = fi_endpoint(env->domain, env->info, &env->fid, NULL);
		if (err)
			return err;
		assert_int_equal(
			fi_ep_bind(env->fid, &env->cq->fid, FI_TRANSMIT | FI_RECV), 0);
		if (env->srx)
			assert_int_equal(fi_ep_bind(env->fid, &env->srx->fid, 0), 0);
		if (env->av)
			assert_int_equal(fi_ep_bind(env->fid, &env->av->fid, 0), 0);
	}
	return err ? err : fi_enable(env->fid);
}

static void close_opened(struct env *env)
{
	struct fid *fids[] = { env->fid ? &env->fid->fid : NULL,
		env->srx ? &env->srx->fid : NULL, env->av ? &env->av->fid : NULL,
		env->cq ? &env->cq->fid : NULL, env->domain ? &env->domain->fid : NULL,
		&env->fabric->fid };

	for (size_t i = 0; i < WF_ARRAY_SIZE(fids); i++)
		if (fids[i])
			assert_int_equal(fi_close(fids[i]), 0);
	fi_freeinfo(env->info);
	assert_nothing_lives();
}

static bool begin(struct env *env, const struct shape *s)
{
	*env = (struct env){ .info = NULL };
	fake_send_count = fake_recv_count = fake_wc_count = 0;
	fake_post_error = 0;
	if (!get_info(env, s->type))
		return false;
	assert_int_equal(
		verbs_fi.fabric(env->info->fabric_attr, &env->fabric, NULL), 0);
	return true;
}

static uint32_t reserved(const struct env *env)
{
	return verbs_cq_of(wf_container_of(env->cq, struct wf_cq, fid))->reserved;
}

/* A failure is reported, as if nothing had been before. */
static void fail_receive(struct env *env)
{
	struct fid_ep *ep = env->srx ? env->srx : env->fid;
	struct fi_cq_err_entry err;

	assert_int_equal(fi_recv(ep, env->buf, 16, desc, 0, env->buf), 0);
	fake_complete(fake_recvs[0].wr_id, IBV_WC_LOC_LEN_ERR, 0, 0);
	assert_int_equal(take_error(env, &err), FI_ETRUNC);
	assert_ptr_equal(err.op_context, env->buf);
}

/* Returns whether the call @n failed; false: there are fewer. */
static bool fail_call(const struct shape *s, int n, bool retry)
{
	struct env env;
	int err;

	assert_true(begin(&env, s));
	fake_successes = n;
	err = go_on(&env, s);
	if (!err) {
		assert_true(fake_successes >= 0);
		fake_successes = -1;
		close_opened(&env);
		return false;
	}
	assert_int_equal(err, -FI_ENOMEM);
	assert_int_equal(fake_successes, -1);
	/* What failed has left nothing behind: all can be closed, or gone on with. */
	if (env.cq && !fake_live[FAKE_QP])
		assert_int_equal(reserved(&env), 0);
	if (retry) {
		assert_int_equal(go_on(&env, s), 0);
		fail_receive(&env);
	}
	close_opened(&env);
	return true;
}

static void test_each_call_fails(void **state)
{
	struct env env;

	(void)state;
	if (!begin(&env, &shapes[0]))
		skip();
	close_opened(&env);
	for (size_t i = 0; i < WF_ARRAY_SIZE(shapes); i++)
		for (unsigned int retry = 0; retry < 2; retry++) {
			int n = 0;

			while (fail_call(&shapes[i], n, retry))
				n++;
			/* Device, protection domain, scratch memory, channel, queue,
			 * queue pair and a state of it, at least. */
			assert_in_range(n, 7, MOST_CALLS);
		}
}

/* A shared context is as large as the device allows, and no larger. */
static void test_shared_size(void **state)
{
	static const struct {
		size_t size;
		int ret;
	} rows[] = { { 1, 0 }, { 15, 0 }, { 16, 0 }, { 17, -FI_EINVAL } };
	struct env env;

	(void)state;
	OPEN(FI_EP_MSG, 0, false);
	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		struct fi_rx_attr attr = { .size = rows[i].size };
		struct fid_ep *srx;

		assert_int_equal(
			fi_srx_context(env.domain, &attr, &srx, NULL), rows[i].ret);
		assert_int_equal(fake_live[FAKE_SRQ], !rows[i].ret);
		if (rows[i].ret)
			continue;
		assert_int_equal(fake_srq_attr.attr.max_wr, rows[i].size);
		fake_recv_count = 0;
		for (size_t k = 0; k < rows[i].size; k++)
			assert_int_equal(fi_recv(srx, env.buf, 1, desc, 0, NULL), 0);
		assert_int_equal(fi_recv(srx, env.buf, 1, desc, 0, NULL), -FI_EAGAIN);
		assert_int_equal(fi_close(&srx->fid), 0);
	}
	close_env(&env);
}

/* ---- space for completions ---- */

/* The hardware queue grows when reservations exceed it: to twice its size, or what is
 * reserved, or what the device has. */
static void test_growth(void **state)
{
	static const struct {
		uint32_t size, reserved, more;
		int ret;
		uint32_t grown;
	} rows[] = {
		{ 64, 0, 64, 0, 64 },
		{ 64, 0, 65, 0, 128 },
		{ 64, 63, 1, 0, 64 },
		{ 64, 64, 1, 0, 128 },
		{ 64, 64, 64, 0, 128 },
		{ 64, 64, 65, 0, 129 },
		{ 128, 100, 29, 0, 256 },
		{ 129, 100, 30, 0, FAKE_MAX_CQE },
		{ 64, 100, FAKE_MAX_CQE - 100, 0, FAKE_MAX_CQE },
		{ 64, 100, FAKE_MAX_CQE - 99, -FI_ENOMEM, 64 },
		{ FAKE_MAX_CQE, FAKE_MAX_CQE, 0, 0, FAKE_MAX_CQE },
		{ FAKE_MAX_CQE, FAKE_MAX_CQE, 1, -FI_ENOMEM, FAKE_MAX_CQE },
	};
	struct verbs_cq *cq;
	uint32_t before;
	struct env env;

	(void)state;
	OPEN(FI_EP_MSG, 0, false);
	cq = verbs_cq_of(env.ep->ep.tx_cq);
	before = cq->reserved;
	for (size_t i = 0; i < WF_ARRAY_SIZE(rows); i++) {
		cq->size = rows[i].size;
		fake_cq.cqe = (int)rows[i].size;
		cq->reserved = rows[i].reserved;
		assert_int_equal(verbs_cq_reserve(cq, rows[i].more), rows[i].ret);
		assert_int_equal(cq->size, rows[i].grown);
		assert_int_equal(fake_cq.cqe, rows[i].grown);
		assert_int_equal(cq->reserved,
			rows[i].reserved + (rows[i].ret ? 0 : rows[i].more));
	}
	/* The device refuses. */
	cq->size = 64;
	fake_successes = 0;
	assert_int_equal(verbs_cq_reserve(cq, 1), -FI_ENOMEM);
	assert_int_equal(cq->size, 64);
	cq->reserved = before;
	close_env(&env);
}

/* ---- the end of an endpoint ---- */

/* What ended before is reported, what its end returns is not; and its reservation is
 * given back. */
static void test_closed_with_receives(void **state)
{
	enum { POSTED = 4 };

	(void)state;
	for (size_t i = 0; i < WF_ARRAY_SIZE(shapes); i++)
		for (unsigned int ended = 0; ended <= POSTED; ended++) {
			struct fid_ep *ep;
			struct env env;

			OPEN(shapes[i].type, 0, shapes[i].shared);
			ep = env.srx ? env.srx : env.fid;
			for (unsigned int r = 0; r < POSTED; r++)
				assert_int_equal(
					fi_recv(ep, env.buf, 16, desc, 0, &env.buf[r]),
					0);
			for (unsigned int r = 0; r < ended; r++)
				fake_complete(fake_recvs[r].wr_id, IBV_WC_SUCCESS,
					IBV_WC_RECV, 44 + r);
			fake_flush_from = ended;
			assert_true(reserved(&env) > 0);
			assert_int_equal(fi_close(&env.fid->fid), 0);
			env.fid = NULL;
			assert_int_equal(fake_live[FAKE_QP], 0);
			assert_int_equal(reserved(&env), 0);
			for (unsigned int r = 0; r < ended; r++) {
				struct fi_cq_data_entry entry;

				assert_int_equal(take(&env, &entry), 1);
				assert_ptr_equal(entry.op_context, &env.buf[r]);
			}
			assert_int_equal(take(&env, &(struct fi_cq_data_entry){ 0 }),
				-FI_EAGAIN);
			assert_int_equal(fake_wc_count, 0);
			close_env(&env);
		}
}

/* The slots of a shared context are free again when an endpoint that used them is
 * closed. */
static void test_shared_slots_come_back(void **state)
{
	struct env env;

	(void)state;
	OPEN(FI_EP_MSG, 0, true);
	for (unsigned int round = 0; round < 3; round++) {
		fake_recv_count = 0;
		for (unsigned int r = 0; r < SHARED_RECEIVES; r++)
			assert_int_equal(
				fi_recv(env.srx, env.buf, 16, desc, 0, NULL), 0);
		assert_int_equal(
			fi_recv(env.srx, env.buf, 16, desc, 0, NULL), -FI_EAGAIN);
		fake_flush_from = 0;
		assert_int_equal(fi_close(&env.fid->fid), 0);
		open_ep(&env, 0);
	}
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
		cmocka_unit_test(test_attributes),
		cmocka_unit_test(test_each_call_fails),
		cmocka_unit_test(test_shared_size),
		cmocka_unit_test(test_growth),
		cmocka_unit_test(test_closed_with_receives),
		cmocka_unit_test(test_shared_slots_come_back),
	};

	return cmocka_run_group_tests(tests, setup, fake_teardown);
}
