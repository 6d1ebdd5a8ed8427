/* SPDX-License-Identifier: BSD-2-Clause */
#include "endpoint_fixture.h"

/* The RMA calls, as the transport sees them, and what a target reports. */

static struct fi_info *rma_info(uint64_t caps)
{
	struct fi_info *info = new_info();

	info->caps = FI_RMA | caps;
	info->ep_attr->type = FI_EP_RDM;
	info->tx_attr->rma_iov_limit = 2;
	return info;
}

static void assert_op(
	const struct fake *fake, enum wf_op_kind kind, uint64_t flags, size_t len)
{
	assert_any_op(fake, kind, flags, len);
	assert_int_equal(fake->op.rma_count, 1);
	assert_int_equal(fake->rma[0].addr, 0x1000);
	assert_int_equal(fake->rma[0].key, 42);
	assert_int_equal(fake->rma[0].len, len);
}

/* RMA-001, RMA-007 */
static void test_calls(void **state)
{
	struct around a;
	struct fid_ep *ep = open_enabled(*state, &a, rma_info(0), 0);
	struct fake *fake = of(ep);
	char buf[2000];
	struct iovec iov[5] = { { buf, 3 }, { buf + 10, 4 } };
	struct fi_rma_iov rma = { 0x1000, 7, 42 };
	struct fi_msg_rma msg = { iov, NULL, 2, 5, &rma, 1, &a, 99 };

	assert_int_equal(fi_read(ep, buf, 8, NULL, 5, 0x1000, 42, &a), 0);
	assert_op(fake, WF_OP_READ, FI_COMPLETION, 8);
	assert_int_equal(fi_readv(ep, iov, NULL, 2, 5, 0x1000, 42, &a), 0);
	assert_op(fake, WF_OP_READ, FI_COMPLETION, 7);
	assert_int_equal(fi_readmsg(ep, &msg, FI_INJECT), 0);
	assert_op(fake, WF_OP_READ, FI_COMPLETION, 7);
	assert_int_equal(fi_write(ep, buf, 8, NULL, 5, 0x1000, 42, &a), 0);
	assert_op(fake, WF_OP_WRITE, FI_COMPLETION, 8);
	assert_ptr_equal(fake->op.context, &a);
	assert_int_equal(fi_writev(ep, iov, NULL, 2, 5, 0x1000, 42, &a), 0);
	assert_op(fake, WF_OP_WRITE, FI_COMPLETION, 7);
	assert_int_equal(
		fi_writemsg(ep, &msg, FI_REMOTE_CQ_DATA | FI_DELIVERY_COMPLETE), 0);
	assert_op(fake, WF_OP_WRITE,
		FI_COMPLETION | FI_REMOTE_CQ_DATA | FI_DELIVERY_COMPLETE, 7);
	assert_int_equal(fake->op.data, 99);
	assert_int_equal(fi_writedata(ep, buf, 8, NULL, 98, 5, 0x1000, 42, &a), 0);
	assert_op(fake, WF_OP_WRITE, FI_COMPLETION | FI_REMOTE_CQ_DATA, 8);
	assert_int_equal(fake->op.data, 98);
	assert_int_equal(fi_inject_write(ep, buf, 100, 5, 0x1000, 42), 0);
	assert_op(fake, WF_OP_WRITE, FI_INJECT, 100);
	assert_ptr_equal(fake->op.context, fake);
	assert_int_equal(fi_inject_writedata(ep, buf, 8, 97, 5, 0x1000, 42), 0);
	assert_op(fake, WF_OP_WRITE, FI_INJECT | FI_REMOTE_CQ_DATA, 8);
	assert_int_equal(fake->op.data, 97);
	assert_int_equal(fi_write(ep, NULL, 0, NULL, 5, 0x1000, 42, &a), 0);
	assert_op(fake, WF_OP_WRITE, FI_COMPLETION, 0);
	assert_int_equal(fake->op.iov_count, 0);
	close_ep(ep);
	close_around(&a);
}

/* RMA-002, RMA-003, RMA-008 */
static void test_refused(void **state)
{
	struct around a;
	struct fid_ep *ep = open_enabled(*state, &a, rma_info(0), 0);
	char buf[2000];
	struct iovec iov[5] = { { buf, 3 }, { buf + 10, 4 } };
	struct fi_rma_iov rma[3] = { { 0x1000, 5, 42 }, { 0x2000, 2, 43 } };
	struct fi_msg_rma msg = { iov, NULL, 2, 5, rma, 2, &a, 99 };

	assert_int_equal(fi_writemsg(ep, &msg, 0), 0);
	assert_int_equal(of(ep)->op.rma_count, 2);
	assert_int_equal(of(ep)->rma[1].key, 43);
	assert_int_equal(fi_readmsg(ep, &msg, 0), 0);
	of(ep)->starts = 0;

	msg.rma_iov_count = 3;
	assert_int_equal(fi_writemsg(ep, &msg, 0), -FI_EINVAL);
	assert_int_equal(fi_readmsg(ep, &msg, 0), -FI_EINVAL);
	msg.rma_iov_count = 1;
	assert_int_equal(fi_writemsg(ep, &msg, 0), -FI_EINVAL);
	msg.rma_iov_count = 2;
	rma[1].len = 3;
	assert_int_equal(fi_readmsg(ep, &msg, 0), -FI_EINVAL);
	rma[1].len = SIZE_MAX;
	assert_int_equal(fi_writemsg(ep, &msg, 0), -FI_EMSGSIZE);
	rma[1].len = 2;
	msg.iov_count = 5;
	assert_int_equal(fi_writemsg(ep, &msg, 0), -FI_EINVAL);
	msg.iov_count = 2;
	assert_int_equal(fi_writemsg(ep, &msg, FI_COMMIT_COMPLETE), -FI_EBADFLAGS);
	assert_int_equal(fi_readmsg(ep, &msg, FI_REMOTE_CQ_DATA), -FI_EBADFLAGS);
	assert_int_equal(fi_writemsg(ep, &msg, FI_FENCE), -FI_EBADFLAGS);
	assert_int_equal(fi_write(ep, buf, 1001, NULL, 5, 0, 0, NULL), -FI_EMSGSIZE);
	assert_int_equal(fi_read(ep, buf, 1001, NULL, 5, 0, 0, NULL), -FI_EMSGSIZE);
	assert_int_equal(fi_inject_write(ep, buf, 101, 5, 0, 0), -FI_EMSGSIZE);
	assert_int_equal(of(ep)->starts, 0);
	close_ep(ep);
	close_around(&a);

	ep = open_enabled(*state, &a, rma_info(FI_RMA_PMEM | FI_FENCE), 0);
	assert_int_equal(fi_writemsg(ep, &msg, FI_COMMIT_COMPLETE | FI_FENCE), 0);
	assert_int_equal(fi_readmsg(ep, &msg, FI_COMMIT_COMPLETE), -FI_EBADFLAGS);
	close_ep(ep);
	close_around(&a);
}

/* RMA-010 */
static void test_absent(void **state)
{
	struct domain_fixture *f = *state;
	struct around a;
	struct fid_ep *ep = &open_fake(f, rma_info(FI_WRITE))->ep.fid;
	char buf[8];

	assert_int_equal(fi_write(ep, buf, 8, NULL, 5, 0, 0, NULL), -FI_EOPBADSTATE);
	close_ep(ep);
	ep = open_enabled(f, &a, rma_info(FI_WRITE), 0);
	assert_int_equal(fi_write(ep, buf, 8, NULL, 5, 0, 0, NULL), 0);
	assert_int_equal(fi_read(ep, buf, 8, NULL, 5, 0, 0, NULL), -FI_ENOSYS);
	close_ep(ep);
	close_around(&a);
	ep = open_enabled(f, &a, new_info(), 0);
	assert_int_equal(fi_write(ep, buf, 8, NULL, 5, 0, 0, NULL), -FI_ENOSYS);
	close_ep(ep);
	close_around(&a);
}

/* CAP-002: an endpoint that names what peers may do to its memory, and nothing else. It
 * has a queue for its own operations, or none. */
static void test_target_only(void **state)
{
	static const uint64_t dirs[] = { FI_REMOTE_READ, FI_REMOTE_WRITE };
	struct around a;
	struct fid_ep *ep;
	char buf[8];

	for (size_t i = 0; i < WF_ARRAY_SIZE(dirs); i++) {
		ep = open_enabled(*state, &a, rma_info(dirs[i]), 0);
		assert_int_equal(fi_read(ep, buf, 8, NULL, 5, 0, 0, NULL), 0);
		assert_int_equal(fi_write(ep, buf, 8, NULL, 5, 0, 0, NULL), 0);
		assert_int_equal(fi_inject_write(ep, buf, 8, 5, 0, 0), 0);
		close_ep(ep);
		close_around(&a);
	}
	ep = &open_fake(*state, rma_info(FI_REMOTE_READ))->ep.fid;
	a = open_around(*state);
	assert_int_equal(fi_ep_bind(ep, &a.cq->fid, FI_RECV), 0);
	assert_int_equal(fi_ep_bind(ep, &a.av->fid, 0), 0);
	assert_int_equal(fi_enable(ep), 0);
	assert_int_equal(fi_read(ep, buf, 8, NULL, 5, 0, 0, NULL), -FI_ENOSYS);
	close_ep(ep);
	close_around(&a);
}

static void test_alias(void **state)
{
	struct around a;
	struct fid_ep *ep = open_enabled(
			      *state, &a, rma_info(0), FI_SELECTIVE_COMPLETION),
		      *alias = NULL;
	struct fake *fake = of(ep);
	char buf[20];

	assert_int_equal(fi_ep_alias(ep, &alias, FI_TRANSMIT | FI_COMPLETION), 0);
	assert_int_equal(fi_read(alias, buf, 3, NULL, 5, 0x1000, 42, &a), 0);
	assert_op(fake, WF_OP_READ, FI_COMPLETION, 3);
	assert_int_equal(fi_write(alias, buf, 3, NULL, 5, 0x1000, 42, &a), 0);
	assert_op(fake, WF_OP_WRITE, FI_COMPLETION, 3);
	assert_int_equal(fi_writedata(alias, buf, 3, NULL, 9, 5, 0x1000, 42, &a), 0);
	assert_op(fake, WF_OP_WRITE, FI_COMPLETION | FI_REMOTE_CQ_DATA, 3);
	assert_int_equal(fi_inject_write(alias, buf, 3, 5, 0x1000, 42), 0);
	assert_op(fake, WF_OP_WRITE, FI_INJECT, 3);
	assert_int_equal(fi_inject_writedata(alias, buf, 3, 9, 5, 0x1000, 42), 0);
	assert_op(fake, WF_OP_WRITE, FI_INJECT | FI_REMOTE_CQ_DATA, 3);
	assert_int_equal(fi_close(&alias->fid), 0);
	close_ep(ep);
	close_around(&a);
}

/* RMA-004, RMA-005, CQ-033, CQ-041, CNT-020 */
static void test_target(void **state)
{
	const uint64_t wrote = FI_RMA | FI_REMOTE_WRITE;
	struct domain_fixture *f = *state;
	struct around a = open_around(f), b = open_around(f);
	struct fid_ep *ep = &open_fake(f, rma_info(FI_RMA_EVENT))->ep.fid;
	struct wf_mr mr = { .cntr = wf_cntr_of(b.cntr) };
	struct fi_cq_tagged_entry entry;
	struct wf_ep *wf = wf_ep_of(ep);

	assert_int_equal(fi_ep_bind(ep, &a.cq->fid,
				 FI_TRANSMIT | FI_RECV | FI_SELECTIVE_COMPLETION),
		0);
	assert_int_equal(fi_ep_bind(ep, &a.av->fid, 0), 0);
	assert_int_equal(fi_ep_bind(ep, &a.cntr->fid, FI_REMOTE_WRITE), 0);
	assert_int_equal(fi_enable(ep), 0);

	wf_ep_remote_done(wf, NULL, wrote, 8, 0, FI_ADDR_NOTAVAIL);
	wf_ep_remote_done(wf, &mr, FI_RMA | FI_REMOTE_READ, 8, 0, FI_ADDR_NOTAVAIL);
	assert_int_equal(fi_cntr_read(a.cntr), 1);
	assert_int_equal(fi_cntr_read(b.cntr), 0);
	assert_int_equal(fi_cq_read(a.cq, &entry, 1), -FI_EAGAIN);
	wf_ep_remote_done(wf, &mr, wrote | FI_REMOTE_CQ_DATA, 8, 77, 3);
	assert_int_equal(fi_cntr_read(a.cntr), 2);
	assert_int_equal(fi_cntr_read(b.cntr), 1);
	assert_int_equal(fi_cq_read(a.cq, &entry, 1), 1);
	assert_null(entry.op_context);
	assert_int_equal(entry.flags, wrote | FI_REMOTE_CQ_DATA);
	assert_int_equal(entry.len, 8);
	assert_int_equal(entry.data, 77);
	close_ep(ep);
	close_around(&a);
	close_around(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DOMAIN_TEST(test_calls),
		DOMAIN_TEST(test_refused),
		DOMAIN_TEST(test_absent),
		DOMAIN_TEST(test_target_only),
		DOMAIN_TEST(test_alias),
		DOMAIN_TEST(test_target),
	};

	return cmocka_run_group_tests_name("endpoint_rma", tests, NULL, NULL);
}
