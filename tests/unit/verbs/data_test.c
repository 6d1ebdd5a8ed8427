/* SPDX-License-Identifier: BSD-2-Clause */
#include "data_env.h"

#include <arpa/inet.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>

/* The data path of a connected endpoint over a device that the test plays. */

static void test_answers(void **state)
{
	const struct fi_info *info;
	struct env env;

	(void)state;
	OPEN(FI_EP_MSG, 0, false);
	info = env.info;
	assert_string_equal(info->domain_attr->name, "fake0");
	assert_string_equal(info->fabric_attr->name, "IB-0xfe80000000000000");
	assert_int_equal(info->tx_attr->inject_size, FAKE_INLINE);
	assert_int_equal(info->tx_attr->size, SENDS);
	assert_int_equal(info->tx_attr->iov_limit, 3);
	assert_int_equal(info->ep_attr->max_msg_size, 1 << 20);
	assert_int_equal(info->domain_attr->mr_key_size, 4);
	assert_int_equal(info->domain_attr->cq_data_size, 4);
	assert_int_equal(info->domain_attr->max_ep_srx_ctx, 4);
	assert_string_equal(info->nic->device_attr->name, "fake0");
	assert_string_equal(info->nic->device_attr->firmware, "1.2.3");
	assert_int_equal(info->nic->link_attr->speed, 100000000000);
	assert_int_equal(info->nic->link_attr->mtu, 1024);
	assert_int_equal(info->nic->link_attr->state, FI_LINK_UP);
	close_env(&env);
}

static void test_send(void **state)
{
	struct fi_cq_data_entry entry;
	struct env env;

	(void)state;
	OPEN(FI_EP_MSG, 0, false);
	assert_int_equal(fi_send(env.fid, env.buf, 8, NULL, 0, &env.info), 0);
	assert_int_equal(fake_sends[0].opcode, IBV_WR_SEND);
	assert_int_equal(fake_sends[0].send_flags, IBV_SEND_INLINE | IBV_SEND_SIGNALED);
	assert_int_equal(fake_send_sge[0].addr, (uintptr_t)env.buf);
	assert_int_equal(fake_send_sge[0].length, 8);
	assert_int_equal(take(&env, &entry), -FI_EAGAIN);
	fake_complete(fake_sends[0].wr_id, IBV_WC_SUCCESS, IBV_WC_SEND, 0);
	assert_int_equal(take(&env, &entry), 1);
	assert_ptr_equal(entry.op_context, &env.info);
	assert_int_equal(entry.flags, FI_SEND | FI_MSG);

	/* A payload above the inline size needs a descriptor. */
	assert_int_equal(
		fi_send(env.fid, env.buf, FAKE_INLINE + 1, NULL, 0, NULL), -FI_EINVAL);
	assert_int_equal(
		fi_senddata(env.fid, env.buf, FAKE_INLINE + 1, desc, 7, 0, NULL), 0);
	assert_int_equal(fake_sends[1].opcode, IBV_WR_SEND_WITH_IMM);
	assert_int_equal(ntohl(fake_sends[1].imm_data), 7);
	assert_int_equal(fake_sends[1].send_flags, IBV_SEND_SIGNALED);
	assert_int_equal(fake_send_sge[1].lkey, 5);
	fake_complete(fake_sends[1].wr_id, IBV_WC_RETRY_EXC_ERR, 0, 0);
	assert_int_equal(
		take_error(&env, &(struct fi_cq_err_entry){ 0 }), FI_ETIMEDOUT);
	close_env(&env);
}

/* Operations that report nothing have a completion once in half a queue; one that
 * reports says that all before it have ended. */
static void test_unsignalled(void **state)
{
	struct fi_cq_data_entry entry;
	unsigned int signalled = 0;
	struct env env;

	(void)state;
	OPEN(FI_EP_MSG, FI_SELECTIVE_COMPLETION, false);
	for (unsigned int i = 0; i < SENDS; i++)
		assert_int_equal(fi_send(env.fid, env.buf, 1, NULL, 0, NULL), 0);
	assert_int_equal(fi_send(env.fid, env.buf, 1, NULL, 0, NULL), -FI_EAGAIN);
	assert_int_equal(env.fid->ops->tx_size_left(env.fid), 0);
	for (unsigned int i = 0; i < SENDS; i++)
		signalled += !!(fake_sends[i].send_flags & IBV_SEND_SIGNALED);
	assert_int_equal(signalled, 1);
	assert_true(fake_sends[4].send_flags & IBV_SEND_SIGNALED);
	/* The full queue is polled by the next operation. */
	fake_complete(fake_sends[4].wr_id, IBV_WC_SUCCESS, IBV_WC_SEND, 0);
	assert_int_equal(fi_send(env.fid, env.buf, 1, NULL, 0, NULL), 0);
	assert_int_equal(env.fid->ops->tx_size_left(env.fid), 4);
	assert_int_equal(take(&env, &entry), -FI_EAGAIN);
	close_env(&env);
}

/* A failure without a request is reported, too, and injected messages are flushed by a
 * mark. */
static void test_inject(void **state)
{
	struct fi_cq_err_entry err;
	struct env env;

	(void)state;
	OPEN(FI_EP_MSG, 0, false);
	assert_int_equal(fi_inject(env.fid, env.buf, FAKE_INLINE, 0), 0);
	assert_int_equal(fi_inject(env.fid, env.buf, 1, 0), 0);
	assert_int_equal(fake_sends[0].send_flags, IBV_SEND_INLINE);
	fake_complete(fake_sends[1].wr_id, IBV_WC_RNR_RETRY_EXC_ERR, 0, 0);
	assert_int_equal(take_error(&env, &err), FI_ENORX);
	assert_int_equal(fi_inject(env.fid, env.buf, 1, 0), 0);
	assert_false(verbs_flushed(&env.ep->ep));
	assert_int_equal(fake_send_count, 4);
	assert_int_equal(fake_sends[3].opcode, IBV_WR_RDMA_WRITE);
	assert_int_equal(fake_sends[3].num_sge, 0);
	assert_false(verbs_flushed(&env.ep->ep));
	assert_int_equal(fake_send_count, 4);
	fake_complete(fake_sends[3].wr_id, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE, 0);
	env.ep->ep.tx_cq->source->run(env.ep->ep.tx_cq->source);
	assert_true(verbs_flushed(&env.ep->ep));
	close_env(&env);
}

static void test_receive(void **state)
{
	struct fi_cq_data_entry entry;
	struct fi_cq_err_entry err;
	struct env env;

	(void)state;
	OPEN(FI_EP_MSG, 0, false);
	for (unsigned int i = 0; i < SENDS; i++)
		assert_int_equal(
			fi_recv(env.fid, env.buf, 16, desc, 0, &env.buf[i]), 0);
	assert_int_equal(fi_recv(env.fid, env.buf, 16, desc, 0, NULL), -FI_EAGAIN);
	fake_complete(fake_recvs[0].wr_id, IBV_WC_SUCCESS, IBV_WC_RECV, 9);
	fake_complete(fake_recvs[1].wr_id, IBV_WC_SUCCESS, IBV_WC_RECV, 3);
	fake_wc[1].wc_flags = IBV_WC_WITH_IMM;
	fake_wc[1].imm_data = htonl(77);
	fake_complete(
		fake_recvs[2].wr_id, IBV_WC_SUCCESS, IBV_WC_RECV_RDMA_WITH_IMM, 5);
	fake_wc[2].wc_flags = IBV_WC_WITH_IMM;
	fake_wc[2].imm_data = htonl(78);
	assert_int_equal(take(&env, &entry), 1);
	assert_ptr_equal(entry.op_context, &env.buf[0]);
	assert_int_equal(entry.flags, FI_RECV | FI_MSG);
	assert_int_equal(entry.len, 9);
	assert_int_equal(take(&env, &entry), 1);
	assert_int_equal(entry.flags, FI_RECV | FI_MSG | FI_REMOTE_CQ_DATA);
	assert_int_equal(entry.data, 77);
	assert_int_equal(take(&env, &entry), 1);
	assert_ptr_equal(entry.op_context, &env.buf[2]);
	assert_int_equal(entry.flags, FI_RMA | FI_REMOTE_WRITE | FI_REMOTE_CQ_DATA);
	assert_int_equal(entry.data, 78);
	assert_int_equal(env.fid->ops->rx_size_left(env.fid), 3);
	fake_complete(fake_recvs[3].wr_id, IBV_WC_LOC_LEN_ERR, 0, 0);
	assert_int_equal(take_error(&env, &err), FI_ETRUNC);
	assert_ptr_equal(err.op_context, &env.buf[3]);
	fake_complete(fake_recvs[4].wr_id, IBV_WC_WR_FLUSH_ERR, 0, 0);
	assert_int_equal(take_error(&env, &err), FI_ECANCELED);
	assert_int_equal(err.prov_errno, IBV_WC_WR_FLUSH_ERR);
	/* Of queue pairs that are gone. */
	fake_complete(fake_recvs[5].wr_id, IBV_WC_SUCCESS, IBV_WC_RECV, 1);
	fake_wc[0].qp_num++;
	assert_int_equal(take(&env, &entry), -FI_EAGAIN);
	close_env(&env);
}

static void test_rma(void **state)
{
	struct fi_cq_data_entry entry;
	struct env env;

	(void)state;
	OPEN(FI_EP_MSG, 0, false);
	assert_int_equal(
		fi_read(env.fid, env.buf, 8, NULL, 0, 100, 6, NULL), -FI_EINVAL);
	assert_int_equal(fi_read(env.fid, env.buf, 8, desc, 0, 100, 6, NULL), 0);
	assert_int_equal(fake_sends[0].opcode, IBV_WR_RDMA_READ);
	assert_int_equal(fake_sends[0].wr.rdma.remote_addr, 100);
	assert_int_equal(fake_sends[0].wr.rdma.rkey, 6);
	assert_int_equal(
		fi_writedata(env.fid, env.buf, 8, desc, 9, 0, 200, 6, NULL), 0);
	assert_int_equal(fake_sends[1].opcode, IBV_WR_RDMA_WRITE_WITH_IMM);
	assert_int_equal(ntohl(fake_sends[1].imm_data), 9);
	fake_complete(fake_sends[0].wr_id, IBV_WC_SUCCESS, IBV_WC_RDMA_READ, 8);
	fake_complete(fake_sends[1].wr_id, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE, 0);
	assert_int_equal(take(&env, &entry), 1);
	assert_int_equal(entry.flags, FI_READ | FI_RMA);
	assert_int_equal(take(&env, &entry), 1);
	assert_int_equal(entry.flags, FI_WRITE | FI_RMA);
	close_env(&env);
}

static void test_atomic(void **state)
{
	uint64_t operand = 3, compare = 4, result = 0;
	size_t count = 0;
	struct env env;

	(void)state;
	OPEN(FI_EP_MSG, 0, false);
	assert_int_equal(fi_atomicvalid(env.fid, FI_UINT64, FI_SUM, &count), 0);
	assert_int_equal(count, 1);
	assert_int_equal(
		fi_atomicvalid(env.fid, FI_UINT32, FI_SUM, &count), -FI_EOPNOTSUPP);
	assert_int_equal(
		fi_atomicvalid(env.fid, FI_UINT64, FI_MAX, &count), -FI_EOPNOTSUPP);
	assert_int_equal(fi_atomic(env.fid, &operand, 1, NULL, 0, 64, 6, FI_UINT64,
				 FI_SUM, NULL),
		0);
	assert_int_equal(fake_sends[0].opcode, IBV_WR_ATOMIC_FETCH_AND_ADD);
	assert_int_equal(fake_sends[0].wr.atomic.compare_add, 3);
	assert_int_equal(fake_sends[0].wr.atomic.remote_addr, 64);
	assert_int_equal(
		fake_send_sge[0].addr, (uintptr_t)&env.ep->domain->scratch->word);
	assert_int_equal(fi_compare_atomic(env.fid, &operand, 1, NULL, &compare, NULL,
				 &result, desc, 0, 64, 6, FI_UINT64, FI_CSWAP, NULL),
		0);
	assert_int_equal(fake_sends[1].opcode, IBV_WR_ATOMIC_CMP_AND_SWP);
	assert_int_equal(fake_sends[1].wr.atomic.compare_add, 4);
	assert_int_equal(fake_sends[1].wr.atomic.swap, 3);
	assert_int_equal(fake_send_sge[1].addr, (uintptr_t)&result);
	assert_int_equal(fi_fetch_atomic(env.fid, NULL, 1, NULL, &result, desc, 0, 64,
				 6, FI_INT64, FI_ATOMIC_READ, NULL),
		0);
	assert_int_equal(fake_sends[2].wr.atomic.compare_add, 0);
	close_env(&env);
}

/* Receives of a shared context end in any order, and their slots are used again. */
static void test_shared(void **state)
{
	struct fi_cq_data_entry entry;
	struct env env;

	(void)state;
	OPEN(FI_EP_MSG, 0, true);
	assert_ptr_equal(fake_qp_attr.srq, &fake_srq);
	assert_int_equal(fi_recv(env.fid, env.buf, 16, desc, 0, NULL), -FI_ENOSYS);
	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(
			fi_recv(env.srx, env.buf, 16, desc, 0, &env.buf[i]), 0);
	assert_int_equal(fi_recv(env.srx, env.buf, 16, desc, 0, NULL), -FI_EAGAIN);
	fake_complete(fake_recvs[2].wr_id, IBV_WC_SUCCESS, IBV_WC_RECV, 1);
	fake_complete(fake_recvs[0].wr_id, IBV_WC_SUCCESS, IBV_WC_RECV, 2);
	assert_int_equal(take(&env, &entry), 1);
	assert_ptr_equal(entry.op_context, &env.buf[2]);
	assert_int_equal(take(&env, &entry), 1);
	assert_ptr_equal(entry.op_context, &env.buf[0]);
	assert_int_equal(entry.len, 2);
	assert_int_equal(fi_recv(env.srx, env.buf, 16, desc, 0, &env.buf[8]), 0);
	assert_int_equal(fi_recv(env.srx, env.buf, 16, desc, 0, &env.buf[9]), 0);
	assert_int_equal(fi_recv(env.srx, env.buf, 16, desc, 0, NULL), -FI_EAGAIN);
	assert_int_equal(fake_recvs[4].wr_id, fake_recvs[0].wr_id);
	assert_int_equal(fake_recvs[5].wr_id, fake_recvs[2].wr_id);
	close_env(&env);
}

/* A receive without descriptor takes messages without payload. Soft-RoCE has one status
 * for a payload that is too long and for one that goes nowhere. */
static void check_bare(struct env *env, struct fid_ep *ep)
{
	unsigned int first = fake_recv_count;
	struct fi_cq_data_entry entry;
	struct fi_cq_err_entry err;

	for (unsigned int i = 0; i < 4; i++)
		assert_int_equal(
			fi_recv(ep, env->buf, 16, i == 3 ? desc : NULL, 0, NULL), 0);
	assert_int_equal(fake_recvs[first].num_sge, 1);
	assert_int_equal(fake_recv_sge[first][0].lkey, 0);
	assert_int_equal(fake_recv_sge[first + 3][0].lkey, 5);
	fake_complete(fake_recvs[first].wr_id, IBV_WC_SUCCESS, IBV_WC_RECV, 0);
	assert_int_equal(take(env, &entry), 1);
	assert_int_equal(entry.len, 0);
	fake_complete(fake_recvs[first + 1].wr_id, IBV_WC_LOC_QP_OP_ERR, 0, 0);
	assert_int_equal(take_error(env, &err), FI_EINVAL);
	fake_complete(fake_recvs[first + 2].wr_id, IBV_WC_LOC_PROT_ERR, 0, 0);
	assert_int_equal(take_error(env, &err), FI_EINVAL);
	fake_complete(fake_recvs[first + 3].wr_id, IBV_WC_LOC_QP_OP_ERR, 0, 0);
	assert_int_equal(take_error(env, &err), FI_ETRUNC);
}

static void test_receive_without_descriptor(void **state)
{
	struct env env;

	(void)state;
	fake_vendor = 0xffffff;
	verbs_devices(true);
	OPEN(FI_EP_MSG, 0, false);
	check_bare(&env, env.fid);
	close_env(&env);
	OPEN(FI_EP_MSG, 0, true);
	check_bare(&env, env.srx);
	close_env(&env);
	fake_vendor = 0;
	verbs_devices(true);
}

/* The last entry that the owner of a CQ got. */
static struct owner_entry {
	void *context;
	uint64_t flags, data;
	size_t len;
	int err;
	unsigned int count;
} owner_told;

static ssize_t owner_write(struct fid_peer_cq *cq, void *context, uint64_t flags,
	size_t len, void *buf, uint64_t data, uint64_t tag, fi_addr_t src)
{
	(void)cq;
	(void)buf;
	(void)tag;
	(void)src;
	owner_told = (struct owner_entry){ .context = context,
		.flags = flags,
		.data = data,
		.len = len,
		.count = owner_told.count + 1 };
	return 0;
}

static ssize_t owner_write_err(
	struct fid_peer_cq *cq, const struct fi_cq_err_entry *err)
{
	(void)cq;
	owner_told = (struct owner_entry){ .context = err->op_context,
		.flags = err->flags,
		.err = err->err,
		.count = owner_told.count + 1 };
	return 0;
}

/* Completions of the device go to the owner of an imported queue; reading the queue
 * polls the device. */
static void test_peer_cq(void **state)
{
	struct fi_ops_cq_owner ops = {
		.size = sizeof(ops), .write = owner_write, .writeerr = owner_write_err
	};
	struct fid_peer_cq owner = { .owner_ops = &ops };
	struct env env;

	(void)state;
	cq_owner = &owner;
	owner_told = (struct owner_entry){ .count = 0 };
	OPEN(FI_EP_MSG, 0, false);
	assert_int_equal(fi_recv(env.fid, env.buf, 16, desc, 0, env.buf), 0);
	assert_int_equal(fi_send(env.fid, env.buf, 8, NULL, 0, &env), 0);
	fake_complete(fake_recvs[0].wr_id, IBV_WC_SUCCESS, IBV_WC_RECV, 9);
	fake_wc[0].wc_flags = IBV_WC_WITH_IMM;
	fake_wc[0].imm_data = htonl(3);
	assert_int_equal(owner_told.count, 0);
	(void)fi_cq_read(env.cq, NULL, 0);
	assert_int_equal(owner_told.count, 1);
	assert_ptr_equal(owner_told.context, env.buf);
	assert_int_equal(owner_told.flags, FI_RECV | FI_MSG | FI_REMOTE_CQ_DATA);
	assert_int_equal(owner_told.data, 3);
	assert_int_equal(owner_told.len, 9);
	fake_complete(fake_sends[0].wr_id, IBV_WC_RETRY_EXC_ERR, 0, 0);
	(void)fi_cq_read(env.cq, NULL, 0);
	assert_int_equal(owner_told.count, 2);
	assert_ptr_equal(owner_told.context, &env);
	assert_int_equal(owner_told.err, FI_ETIMEDOUT);
	close_env(&env);
	cq_owner = NULL;
}

/* A completion that came before the device was asked for events is found at once. */
static void test_arm(void **state)
{
	struct wf_progress *source;
	struct env env;

	(void)state;
	OPEN(FI_EP_MSG, 0, false);
	source = env.ep->ep.tx_cq->source;
	fake_events = 2;
	fake_notified = 0;
	assert_true(source->arm(source));
	assert_int_equal(fake_notified, 1);
	assert_int_equal(fake_acked, 2);
	assert_int_equal(fi_send(env.fid, env.buf, 1, NULL, 0, NULL), 0);
	fake_complete(fake_sends[0].wr_id, IBV_WC_SUCCESS, IBV_WC_SEND, 0);
	assert_false(source->arm(source));
	assert_int_equal(source->wait_fd(source), fake_channel.fd);
	close_env(&env);
}

/* The hardware queue has space for all completions, or fi_enable fails. */
static void test_room(void **state)
{
	struct verbs_cq *cq;
	uint32_t reserved;
	struct env env;

	(void)state;
	OPEN(FI_EP_MSG, 0, false);
	cq = verbs_cq_of(env.ep->ep.tx_cq);
	reserved = cq->reserved;
	assert_int_equal(reserved, SENDS + 1 + SENDS);
	assert_int_equal(verbs_cq_reserve(cq, 100), 0);
	assert_true(cq->size >= reserved + 100);
	assert_int_equal(verbs_cq_reserve(cq, FAKE_MAX_CQE), -FI_ENOMEM);
	assert_int_equal(cq->reserved, reserved + 100);
	verbs_cq_release(cq, 100);
	assert_int_equal(cq->reserved, reserved);
	close_env(&env);
}

static void test_refused(void **state)
{
	struct env env;

	(void)state;
	OPEN(FI_EP_MSG, 0, false);
	fake_post_error = ENOMEM;
	assert_int_equal(fi_send(env.fid, env.buf, 1, NULL, 0, NULL), -FI_EAGAIN);
	fake_post_error = EINVAL;
	assert_int_equal(fi_send(env.fid, env.buf, 1, NULL, 0, NULL), -FI_EINVAL);
	assert_int_equal(env.fid->ops->tx_size_left(env.fid), SENDS);
	fake_post_error = 0;
	atomic_store(&env.ep->ready, false);
	assert_true(fi_send(env.fid, env.buf, 1, NULL, 0, NULL) < 0);
	assert_int_equal(fake_send_count, 0);
	close_env(&env);
}

static void test_region(void **state)
{
	struct fid_mr *mr;
	struct env env;

	(void)state;
	OPEN(FI_EP_MSG, 0, false);
	assert_int_equal(
		fi_mr_reg(env.domain, env.buf, 8, FI_SEND, 0, 0, 0, &mr, NULL), 0);
	assert_int_equal(fake_access, 0);
	assert_ptr_equal(fi_mr_desc(mr), desc);
	assert_int_equal(fi_mr_key(mr), FI_KEY_NOTAVAIL);
	assert_int_equal(fi_close(&mr->fid), 0);
	assert_int_equal(fi_mr_reg(env.domain, env.buf, 8,
				 FI_REMOTE_WRITE | FI_REMOTE_READ, 0, 0, 0, &mr, NULL),
		0);
	assert_int_equal(fake_access, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE |
					      IBV_ACCESS_REMOTE_READ |
					      IBV_ACCESS_REMOTE_ATOMIC);
	assert_int_equal(fi_mr_key(mr), 6);
	assert_int_equal(fi_close(&mr->fid), 0);
	close_env(&env);
}

/* CAP-029: remote CQ data takes a receive here, so an application gets it that allows
 * this, and others get all but such data. */
static void test_data_by_consent(void **state)
{
	struct fi_info *hints = fi_allocinfo();
	struct env env;

	(void)state;
	OPEN(FI_EP_MSG, 0, false);
	assert_int_equal(env.info->mode & FI_RX_CQ_DATA, FI_RX_CQ_DATA);
	assert_int_equal(env.info->domain_attr->cq_data_size, 4);
	close_env(&env);

	hints->ep_attr->type = FI_EP_MSG;
	hints->caps = FI_MSG | FI_RMA;
	hints->domain_attr->mr_mode =
		FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
	hints->domain_attr->cq_data_size = 4;
	assert_int_equal(
		verbs_fi.getinfo(FI_VERSION(2, 0), NULL, NULL, 0, hints, &env.info),
		-FI_ENODATA);
	hints->domain_attr->cq_data_size = 0;
	assert_int_equal(
		verbs_fi.getinfo(FI_VERSION(2, 0), NULL, NULL, 0, hints, &env.info), 0);
	assert_int_equal(env.info->mode & FI_RX_CQ_DATA, 0);
	assert_int_equal(env.info->rx_attr->mode, 0);
	assert_int_equal(env.info->domain_attr->cq_data_size, 0);
	fi_freeinfo(hints);

	open_domain(&env, FI_EP_MSG);
	open_ep(&env, 0);
	assert_int_equal(fi_writedata(env.fid, env.buf, 8, desc, 1, 0, 0x1000, 7, NULL),
		-FI_ENOSYS);
	assert_int_equal(
		fi_senddata(env.fid, env.buf, 8, desc, 1, 0, NULL), -FI_ENOSYS);
	assert_int_equal(fi_write(env.fid, env.buf, 8, desc, 0, 0x1000, 7, NULL), 0);
	close_env(&env);
}

/* Endpoints with a channel each reach the soft limit, which is raised. */
static void test_few_descriptors(void **state)
{
	struct rlimit limit, low;
	struct env env;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
	low = (struct rlimit){ .rlim_cur = 64, .rlim_max = limit.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &low), 0);
	fake_low_limit = low.rlim_cur;
	OPEN(FI_EP_MSG, 0, false);
	close_env(&env);
	fake_low_limit = 0;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
}

static void test_finder(void **state)
{
	struct verbs_finder finder = { .slots = NULL };
	struct verbs_ep *eps = calloc(100, sizeof(void *));

	(void)state;
	assert_null(verbs_finder_get(&finder, 3));
	verbs_finder_remove(&finder, 3);
	/* Numbers that collide, whatever the size. */
	for (uint32_t i = 0; i < 100; i++)
		assert_int_equal(verbs_finder_add(&finder, i << 10,
					 (struct verbs_ep *)((void **)eps + i)),
			0);
	for (uint32_t i = 0; i < 100; i += 2)
		verbs_finder_remove(&finder, i << 10);
	for (uint32_t i = 0; i < 100; i++)
		assert_ptr_equal(verbs_finder_get(&finder, i << 10),
			i % 2 ? (void *)((void **)eps + i) : NULL);
	assert_int_equal(finder.count, 50);
	verbs_finder_done(&finder);
	free(eps);
}

/* Extended reliable connections are not offered. */
static void test_protocols(void **state)
{
	struct env env = { 0 };
	int ret = ask_for(&env, FI_EP_MSG, FI_PROTO_RDMA_CM_IB_RC);

	(void)state;
	if (ret)
		skip();
	fi_freeinfo(env.info);
	assert_int_equal(
		ask_for(&env, FI_EP_MSG, FI_PROTO_RDMA_CM_IB_XRC), -FI_ENODATA);
}

static int ask_msg(uint64_t caps, uint32_t format)
{
	struct fi_info *hints = fi_allocinfo(), *info = NULL;
	int ret;

	hints->ep_attr->type = FI_EP_MSG;
	hints->caps = caps;
	hints->addr_format = format;
	hints->domain_attr->mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED |
				      FI_MR_PROV_KEY | FI_MR_HMEM;
	ret = verbs_fi.getinfo(FI_VERSION(2, 0), NULL, NULL, 0, hints, &info);
	fi_freeinfo(hints);
	fi_freeinfo(info);
	return ret;
}

/* Neither addresses of InfiniBand nor memory of other devices. */
static void test_not_offered(void **state)
{
	struct fi_mr_dmabuf dmabuf = { .fd = 0, .len = 4096 };
	struct fi_mr_attr attr = {
		.dmabuf = &dmabuf, .iov_count = 1, .access = FI_SEND
	};
	struct fid_mr *mr;
	struct env env;

	(void)state;
	if (ask_msg(FI_MSG, FI_FORMAT_UNSPEC))
		skip();
	assert_int_equal(ask_msg(FI_MSG, FI_SOCKADDR_IB), -FI_ENODATA);
	assert_int_equal(ask_msg(FI_MSG | FI_HMEM, FI_FORMAT_UNSPEC), -FI_ENODATA);
	OPEN(FI_EP_MSG, 0, false);
	assert_int_equal(
		fi_mr_regattr(env.domain, &attr, FI_MR_DMABUF, &mr), -FI_EBADFLAGS);
	close_env(&env);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_protocols),
		cmocka_unit_test(test_not_offered),
		cmocka_unit_test(test_send),
		cmocka_unit_test(test_unsignalled),
		cmocka_unit_test(test_inject),
		cmocka_unit_test(test_receive),
		cmocka_unit_test(test_rma),
		cmocka_unit_test(test_atomic),
		cmocka_unit_test(test_shared),
		cmocka_unit_test(test_receive_without_descriptor),
		cmocka_unit_test(test_peer_cq),
		cmocka_unit_test(test_arm),
		cmocka_unit_test(test_room),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_region),
		cmocka_unit_test(test_data_by_consent),
		cmocka_unit_test(test_few_descriptors),
		cmocka_unit_test(test_finder),
	};

	return cmocka_run_group_tests(tests, fake_setup, fake_teardown);
}
