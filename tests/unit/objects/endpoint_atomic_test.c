/* SPDX-License-Identifier: BSD-2-Clause */
#include "endpoint_fixture.h"

#include "objects/atomic/ops.h"
#include "objects/provider.h"

/* The atomic calls, as the transport sees them. */

static struct fi_info *atomic_info(uint64_t caps)
{
	struct fi_info *info = new_info();

	info->caps = FI_ATOMIC | caps;
	info->ep_attr->type = FI_EP_RDM;
	info->tx_attr->rma_iov_limit = 2;
	info->tx_attr->inject_size = 32;
	return info;
}

static struct fid_ep *open_atomic(
	struct domain_fixture *f, struct around *a, uint64_t caps, uint64_t cq_flags)
{
	f->prov.max_atomic_size = 64;
	return open_enabled(f, a, atomic_info(caps), cq_flags);
}

/* @count elements of 4 bytes at 0x1000 under key 42, one remote piece. */
static void assert_op(const struct fake *fake, enum wf_op_kind kind, uint64_t flags,
	enum fi_op op, size_t count)
{
	bool reads = op == FI_ATOMIC_READ;

	assert_any_op(fake, kind, flags, reads ? 0 : count * 4);
	assert_int_equal(fake->op.iov_count == 0, reads);
	assert_int_equal(fake->atomic.op, op);
	assert_int_equal(fake->atomic.datatype, FI_INT32);
	assert_int_equal(fake->atomic.count, count);
	assert_int_equal(fake->atomic.size, count * 4);
	assert_int_equal(fake->atomic.result_count != 0, kind != WF_OP_ATOMIC);
	assert_int_equal(fake->atomic.compare_count != 0, kind == WF_OP_COMPARE);
	assert_int_equal(fake->op.rma_count, 1);
	assert_int_equal(fake->rma[0].addr, 0x1000);
	assert_int_equal(fake->rma[0].len, count * 4);
	assert_int_equal(fake->rma[0].key, 42);
}

/* ATM-001 to ATM-003, ATM-010 */
static void test_calls(void **state)
{
	struct around a;
	struct fid_ep *ep = open_atomic(*state, &a, 0, 0);
	struct fake *fake = of(ep);
	int32_t buf[8], res[8], cmp[8];
	struct fi_ioc iov[2] = { { buf, 1 }, { buf + 4, 2 } };
	struct fi_ioc resv[2] = { { res, 2 }, { res + 4, 1 } };
	struct fi_ioc cmpv[1] = { { cmp, 3 } };
	struct fi_rma_ioc rma = { 0x1000, 3, 42 };
	void *desc = buf, *res_desc = res, *cmp_desc = cmp;
	struct fi_msg_atomic msg = { iov, NULL, 2, 5, &rma, 1, FI_INT32, FI_SUM, &a,
		0 };

	assert_int_equal(
		fi_atomic(ep, buf, 3, desc, 5, 0x1000, 42, FI_INT32, FI_MIN, &a), 0);
	assert_op(fake, WF_OP_ATOMIC, FI_COMPLETION, FI_MIN, 3);
	assert_ptr_equal(fake->iov[0].iov_base, buf);
	assert_int_equal(fake->iov[0].iov_len, 12);
	assert_ptr_equal(fake->op.context, &a);
	assert_int_equal(
		fi_atomicv(ep, iov, NULL, 2, 5, 0x1000, 42, FI_INT32, FI_DIFF, &a), 0);
	assert_op(fake, WF_OP_ATOMIC, FI_COMPLETION, FI_DIFF, 3);
	assert_ptr_equal(fake->iov[1].iov_base, buf + 4);
	assert_int_equal(fake->iov[1].iov_len, 8);
	assert_int_equal(fi_atomicmsg(ep, &msg, FI_DELIVERY_COMPLETE), 0);
	assert_op(fake, WF_OP_ATOMIC, FI_COMPLETION | FI_DELIVERY_COMPLETE, FI_SUM, 3);
	assert_int_equal(
		fi_inject_atomic(ep, buf, 8, 5, 0x1000, 42, FI_INT32, FI_BOR), 0);
	assert_op(fake, WF_OP_ATOMIC, FI_INJECT, FI_BOR, 8);
	assert_ptr_equal(fake->op.context, fake);

	assert_int_equal(fi_fetch_atomic(ep, buf, 3, desc, res, res_desc, 5, 0x1000, 42,
				 FI_INT32, FI_SUM, &a),
		0);
	assert_op(fake, WF_OP_FETCH, FI_COMPLETION, FI_SUM, 3);
	assert_ptr_equal(fake->result[0].iov_base, res);
	assert_int_equal(fake->result[0].iov_len, 12);
	assert_int_equal(fi_fetch_atomic(ep, NULL, 3, NULL, res, res_desc, 5, 0x1000,
				 42, FI_INT32, FI_ATOMIC_READ, &a),
		0);
	assert_op(fake, WF_OP_FETCH, FI_COMPLETION, FI_ATOMIC_READ, 3);
	assert_int_equal(fi_fetch_atomicv(ep, NULL, NULL, 0, resv, NULL, 2, 5, 0x1000,
				 42, FI_INT32, FI_ATOMIC_READ, &a),
		0);
	assert_op(fake, WF_OP_FETCH, FI_COMPLETION, FI_ATOMIC_READ, 3);
	assert_ptr_equal(fake->result[1].iov_base, res + 4);
	assert_int_equal(fi_fetch_atomicmsg(ep, &msg, resv, NULL, 2, 0), 0);
	assert_op(fake, WF_OP_FETCH, FI_COMPLETION, FI_SUM, 3);

	assert_int_equal(fi_compare_atomic(ep, buf, 3, desc, cmp, cmp_desc, res,
				 res_desc, 5, 0x1000, 42, FI_INT32, FI_MSWAP, &a),
		0);
	assert_op(fake, WF_OP_COMPARE, FI_COMPLETION, FI_MSWAP, 3);
	assert_ptr_equal(fake->compare[0].iov_base, cmp);
	assert_int_equal(fake->compare[0].iov_len, 12);
	assert_int_equal(fi_compare_atomicv(ep, iov, NULL, 2, cmpv, NULL, 1, resv, NULL,
				 2, 5, 0x1000, 42, FI_INT32, FI_CSWAP, &a),
		0);
	assert_op(fake, WF_OP_COMPARE, FI_COMPLETION, FI_CSWAP, 3);
	msg.op = FI_CSWAP_LE;
	assert_int_equal(
		fi_compare_atomicmsg(ep, &msg, cmpv, NULL, 1, resv, NULL, 2, 0), 0);
	assert_op(fake, WF_OP_COMPARE, FI_COMPLETION, FI_CSWAP_LE, 3);
	close_ep(ep);
	close_around(&a);
}

/* ATM-011, ATM-015, RMA-002, RMA-003 */
static void test_refused(void **state)
{
	struct around a;
	struct fid_ep *ep = open_atomic(*state, &a, 0, 0);
	int32_t buf[32] = { 0 };
	struct fi_ioc iov[5] = { { buf, 1 }, { buf + 4, 2 } }, two = { buf, 2 };
	struct fi_rma_ioc rma[3] = { { 0x1000, 2, 42 }, { 0x2000, 1, 43 } };
	struct fi_msg_atomic msg = { iov, NULL, 2, 5, rma, 2, FI_INT32, FI_SUM, &a, 0 };

	assert_int_equal(fi_atomicmsg(ep, &msg, 0), 0);
	assert_int_equal(of(ep)->rma[1].len, 4);
	of(ep)->starts = 0;
#define ATOMIC(count, type, op) fi_atomic(ep, buf, count, NULL, 5, 0, 0, type, op, NULL)
	assert_int_equal(ATOMIC(0, FI_INT32, FI_SUM), -FI_EINVAL);
	assert_int_equal(ATOMIC(17, FI_INT32, FI_SUM), -FI_EMSGSIZE);
	assert_int_equal(ATOMIC(SIZE_MAX, FI_INT32, FI_SUM), -FI_EMSGSIZE);
	assert_int_equal(ATOMIC(SIZE_MAX / 4 + 2, FI_INT32, FI_SUM), -FI_EMSGSIZE);
	assert_int_equal(ATOMIC(1, FI_INT32, FI_CSWAP), -FI_EOPNOTSUPP);
	assert_int_equal(ATOMIC(1, FI_INT32, FI_ATOMIC_READ), -FI_EOPNOTSUPP);
	assert_int_equal(ATOMIC(1, FI_FLOAT, FI_BOR), -FI_EOPNOTSUPP);
	assert_int_equal(ATOMIC(1, FI_FLOAT16, FI_SUM), -FI_EOPNOTSUPP); /* ATM-009 */
	assert_int_equal(ATOMIC(1, FI_VOID, FI_SUM), -FI_EOPNOTSUPP);
	assert_int_equal(ATOMIC(1, FI_INT32, FI_NOOP), -FI_EOPNOTSUPP);
	assert_int_equal(ATOMIC(1, (enum fi_datatype) - 1, FI_SUM), -FI_EOPNOTSUPP);
	assert_int_equal(ATOMIC(1, FI_INT32, (enum fi_op) - 1), -FI_EOPNOTSUPP);
	assert_int_equal(
		fi_inject_atomic(ep, buf, 9, 5, 0, 0, FI_INT32, FI_SUM), -FI_EMSGSIZE);

	msg.rma_iov_count = 1;
	assert_int_equal(fi_atomicmsg(ep, &msg, 0), -FI_EINVAL);
	msg.rma_iov_count = 3;
	assert_int_equal(fi_atomicmsg(ep, &msg, 0), -FI_EINVAL);
	msg.rma_iov_count = 2;
	rma[1].count = 2;
	assert_int_equal(fi_atomicmsg(ep, &msg, 0), -FI_EINVAL);
	rma[1].count = SIZE_MAX - 1;
	assert_int_equal(fi_atomicmsg(ep, &msg, 0), -FI_EMSGSIZE);
	rma[0].count = rma[1].count = 9; /* each would fit */
	assert_int_equal(fi_atomicmsg(ep, &msg, 0), -FI_EMSGSIZE);
	rma[0].count = 2;
	rma[1].count = 1;
	msg.iov_count = 5;
	assert_int_equal(fi_atomicmsg(ep, &msg, 0), -FI_EINVAL);
	msg.iov_count = 2;
	assert_int_equal(fi_fetch_atomicmsg(ep, &msg, &two, NULL, 1, 0), -FI_EINVAL);
	assert_int_equal(fi_atomicmsg(ep, &msg, FI_FENCE), -FI_EBADFLAGS);
	assert_int_equal(fi_atomicmsg(ep, &msg, FI_TAGGED), -FI_EOPNOTSUPP);
	msg.op = FI_CSWAP;
	assert_int_equal(fi_compare_atomicmsg(ep, &msg, &two, NULL, 1, iov, NULL, 2, 0),
		-FI_EINVAL);
	assert_int_equal(of(ep)->starts, 0);
	close_ep(ep);
	close_around(&a);
}

/* ATM-010 to ATM-014 */
static void test_valid(void **state)
{
	struct domain_fixture *f = *state;
	struct around a;
	struct fid_ep *ep = open_atomic(f, &a, 0, 0);
	struct fi_atomic_attr attr = { 0, 0 };
	size_t count = 0;

	assert_int_equal(fi_atomicvalid(ep, FI_INT32, FI_SUM, &count), 0);
	assert_int_equal(count, 16);
	assert_int_equal(fi_fetch_atomicvalid(ep, FI_UINT8, FI_ATOMIC_READ, &count), 0);
	assert_int_equal(count, 64);
	assert_int_equal(fi_compare_atomicvalid(ep, FI_INT128, FI_CSWAP, &count), 0);
	assert_int_equal(count, 4);
	assert_int_equal(
		fi_atomicvalid(ep, FI_INT32, FI_ATOMIC_READ, &count), -FI_EOPNOTSUPP);
	assert_int_equal(
		fi_fetch_atomicvalid(ep, FI_INT32, FI_CSWAP, &count), -FI_EOPNOTSUPP);
	assert_int_equal(
		fi_compare_atomicvalid(ep, FI_INT32, FI_SUM, &count), -FI_EOPNOTSUPP);
	assert_int_equal(fi_atomicvalid(ep, FI_INT32, FI_SUM, NULL), -FI_EINVAL);

#define QUERY(type, op, flags) wf_query_atomic(&f->domain, type, op, &attr, flags)
	assert_int_equal(QUERY(FI_DOUBLE, FI_SUM, 0), 0);
	assert_int_equal(attr.count, 8);
	assert_int_equal(attr.size, 8);
	assert_int_equal(QUERY(FI_INT16, FI_ATOMIC_READ, FI_FETCH_ATOMIC), 0);
	assert_int_equal(attr.size, 2);
	assert_int_equal(QUERY(FI_INT16, FI_MSWAP, FI_COMPARE_ATOMIC), 0);
	assert_int_equal(QUERY(FI_INT16, FI_ATOMIC_READ, 0), -FI_EOPNOTSUPP);
	assert_int_equal(QUERY(FI_INT16, FI_SUM, FI_FETCH_ATOMIC | FI_COMPARE_ATOMIC),
		-FI_EBADFLAGS);
	assert_int_equal(QUERY(FI_INT16, FI_SUM, FI_MORE), -FI_EBADFLAGS);
	assert_int_equal(QUERY(FI_INT16, FI_SUM, FI_TAGGED), -FI_EOPNOTSUPP);
	f->prov.max_atomic_size = 0;
	assert_int_equal(QUERY(FI_INT8, FI_SUM, 0), -FI_EOPNOTSUPP);
	close_ep(ep);
	close_around(&a);
}

static void test_alias(void **state)
{
	struct around a;
	struct fid_ep *ep = open_atomic(*state, &a, 0, FI_SELECTIVE_COMPLETION),
		      *alias = NULL;
	struct fake *fake = of(ep);
	int32_t buf[8], res[8], cmp[8];
	size_t count = 0;

	assert_int_equal(fi_ep_alias(ep, &alias, FI_TRANSMIT | FI_COMPLETION), 0);
	assert_int_equal(
		fi_atomic(alias, buf, 3, NULL, 5, 0x1000, 42, FI_INT32, FI_MIN, &a), 0);
	assert_op(fake, WF_OP_ATOMIC, FI_COMPLETION, FI_MIN, 3);
	assert_int_equal(
		fi_inject_atomic(alias, buf, 3, 5, 0x1000, 42, FI_INT32, FI_MIN), 0);
	assert_op(fake, WF_OP_ATOMIC, FI_INJECT, FI_MIN, 3);
	assert_int_equal(fi_fetch_atomic(alias, NULL, 3, NULL, res, NULL, 5, 0x1000, 42,
				 FI_INT32, FI_ATOMIC_READ, &a),
		0);
	assert_op(fake, WF_OP_FETCH, FI_COMPLETION, FI_ATOMIC_READ, 3);
	assert_int_equal(fi_compare_atomic(alias, buf, 3, NULL, cmp, NULL, res, NULL, 5,
				 0x1000, 42, FI_INT32, FI_CSWAP, &a),
		0);
	assert_op(fake, WF_OP_COMPARE, FI_COMPLETION, FI_CSWAP, 3);
	assert_int_equal(fi_atomicvalid(alias, FI_INT32, FI_SUM, &count), 0);
	assert_int_equal(fi_fetch_atomicvalid(alias, FI_INT32, FI_SUM, &count), 0);
	assert_int_equal(fi_compare_atomicvalid(alias, FI_INT32, FI_CSWAP, &count), 0);
	assert_int_equal(count, 16);
	assert_int_equal(fi_close(&alias->fid), 0);
	close_ep(ep);
	close_around(&a);
}

static void test_absent(void **state)
{
	struct domain_fixture *f = *state;
	struct around a;
	struct fid_ep *ep = &open_fake(f, atomic_info(0))->ep.fid;
	int32_t buf[2] = { 0 };
	size_t count;

	assert_int_equal(ATOMIC(1, FI_INT32, FI_SUM), -FI_EOPBADSTATE);
	close_ep(ep);
	ep = open_atomic(f, &a, FI_WRITE, 0);
	assert_int_equal(ATOMIC(1, FI_INT32, FI_SUM), 0);
	assert_int_equal(fi_fetch_atomic(ep, buf, 1, NULL, buf + 1, NULL, 5, 0, 0,
				 FI_INT32, FI_SUM, NULL),
		-FI_ENOSYS);
	close_ep(ep);
	close_around(&a);
	/* CAP-002: what peers may do to its memory, and nothing else. */
	ep = open_atomic(f, &a, FI_REMOTE_WRITE, 0);
	assert_int_equal(ATOMIC(1, FI_INT32, FI_SUM), 0);
	assert_int_equal(fi_fetch_atomic(ep, buf, 1, NULL, buf + 1, NULL, 5, 0, 0,
				 FI_INT32, FI_SUM, NULL),
		0);
	close_ep(ep);
	close_around(&a);
	ep = open_enabled(f, &a, new_info(), 0);
	assert_int_equal(ATOMIC(1, FI_INT32, FI_SUM), -FI_ENOSYS);
	assert_int_equal(fi_atomicvalid(ep, FI_INT32, FI_SUM, &count), -FI_EOPNOTSUPP);
	close_ep(ep);
	close_around(&a);
}

/* CNT-006, CNT-018, CNT-020, CQ-040 */
static void test_counters(void **state)
{
	struct domain_fixture *f = *state;
	struct fi_cntr_attr attr = { .events = FI_CNTR_EVENTS_BYTES };
	struct around a;
	struct fid_ep *ep = open_atomic(f, &a, FI_RMA_EVENT, 0);
	struct wf_ep *wf = wf_ep_of(ep);
	struct wf_cntr *saved[WF_CNTR_COUNT];
	struct fid_cntr *bytes = NULL;
	const struct wf_op_report *base = &wf_op_reports[WF_OP_ATOMIC],
				  *fetch = &wf_op_reports[WF_OP_FETCH];

	memcpy(saved, wf->cntr, sizeof(saved));
	assert_int_equal(wf_cntr_open(&f->domain.fid, &attr, &bytes, NULL), 0);
	assert_int_equal(base->comp_flags, FI_ATOMIC | FI_WRITE);
	assert_int_equal(fetch->comp_flags, FI_ATOMIC | FI_READ);

	wf->cntr[WF_CNTR_WRITE] = wf_cntr_of(a.cntr);
	wf->cntr[WF_CNTR_READ] = wf_cntr_of(bytes);
	wf_ep_tx_done(wf, base->cntr, NULL, 0, base->comp_flags, 24);
	assert_int_equal(fi_cntr_read(a.cntr), 1);
	assert_int_equal(fi_cntr_read(bytes), 24);
	wf_ep_tx_done(wf, fetch->cntr, NULL, 0, fetch->comp_flags, 8);
	assert_int_equal(fi_cntr_read(a.cntr), 1);
	assert_int_equal(fi_cntr_read(bytes), 32);
	/* Writes have no counter of their own. */
	wf->cntr[WF_CNTR_WRITE] = NULL;
	wf_ep_tx_done(wf, base->cntr, NULL, 0, base->comp_flags, 8);
	assert_int_equal(fi_cntr_read(a.cntr), 1);
	assert_int_equal(fi_cntr_read(bytes), 40);

	memcpy(wf->cntr, saved, sizeof(saved));
	wf->cntr[WF_CNTR_REMOTE_READ] = wf_cntr_of(a.cntr);
	wf->cntr[WF_CNTR_REMOTE_WRITE] = wf_cntr_of(bytes);
	wf_ep_remote_done(wf, NULL, FI_ATOMIC | FI_REMOTE_READ, 8, 0, 0);
	assert_int_equal(fi_cntr_read(a.cntr), 2);
	assert_int_equal(fi_cntr_read(bytes), 48);
	memcpy(wf->cntr, saved, sizeof(saved));
	assert_int_equal(fi_close(&bytes->fid), 0);
	close_ep(ep);
	close_around(&a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DOMAIN_TEST(test_calls),
		DOMAIN_TEST(test_refused),
		DOMAIN_TEST(test_valid),
		DOMAIN_TEST(test_alias),
		DOMAIN_TEST(test_absent),
		DOMAIN_TEST(test_counters),
	};

	return cmocka_run_group_tests_name("endpoint_atomic", tests, NULL, NULL);
}
