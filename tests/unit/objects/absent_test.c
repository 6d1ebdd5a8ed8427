/* SPDX-License-Identifier: BSD-2-Clause */
#include "fake.h"

#include "objects/absent/absent.h"

/* VER-016, VER-017: a table is its size and then pointers to functions only. */
static void check(const void *table, size_t size)
{
	const char *bytes = table;
	size_t claimed;
	void *slot;

	memcpy(&claimed, bytes, sizeof(claimed));
	assert_int_equal(claimed, size);
	for (size_t at = sizeof(claimed); at < size; at += sizeof(slot)) {
		memcpy(&slot, bytes + at, sizeof(slot));
		assert_non_null(slot);
	}
}

static void every_slot_is_filled(void **state)
{
	check(&wf_absent_fid, sizeof(struct fi_ops));
	check(&wf_absent_fabric, sizeof(struct fi_ops_fabric));
	check(&wf_absent_domain, sizeof(struct fi_ops_domain));
	check(&wf_absent_ep, sizeof(struct fi_ops_ep));
	check(&wf_absent_cm, sizeof(struct fi_ops_cm));
	check(&wf_absent_msg, sizeof(struct fi_ops_msg));
	check(&wf_absent_tagged, sizeof(struct fi_ops_tagged));
	check(&wf_absent_rma, sizeof(struct fi_ops_rma));
	check(&wf_absent_atomic, sizeof(struct fi_ops_atomic));
	check(&wf_absent_collective, sizeof(struct fi_ops_collective));
	check(&wf_absent_mr, sizeof(struct fi_ops_mr));
	check(&wf_absent_av, sizeof(struct fi_ops_av));
	check(&wf_absent_cq, sizeof(struct fi_ops_cq));
	check(&wf_absent_eq, sizeof(struct fi_ops_eq));
	check(&wf_absent_cntr, sizeof(struct fi_ops_cntr));
	check(&wf_disabled_msg, sizeof(struct fi_ops_msg));
	check(&wf_disabled_tagged, sizeof(struct fi_ops_tagged));
	check(&wf_disabled_rma, sizeof(struct fi_ops_rma));
	check(&wf_disabled_atomic, sizeof(struct fi_ops_atomic));
	check(&wf_disabled_collective, sizeof(struct fi_ops_collective));
}

/* VER-016, VER-017, for what an application holds. */
static void open_objects_are_complete(void **state)
{
	struct fid_fabric *fabric = fake_fabric(FI_VERSION(2, 6));
	struct fid_domain *domain = fake_domain(fabric);
	struct fi_cntr_attr cntr_attr = { 0 };
	struct fi_eq_attr eq_attr = { 0 };
	struct fi_poll_attr poll_attr = { 0 };
	struct fi_wait_attr wait_attr = { .wait_obj = FI_WAIT_UNSPEC };
	struct fid_cntr *cntr;
	struct fid_eq *eq;
	struct fid_poll *poll;
	struct fid_wait *wait;
	struct fid_mr *mr;
	char byte;

	assert_int_equal(fi_cntr_open(domain, &cntr_attr, &cntr, NULL), 0);
	assert_int_equal(fi_eq_open(fabric, &eq_attr, &eq, NULL), 0);
	assert_int_equal(domain->ops->poll_open(domain, &poll_attr, &poll), 0);
	assert_int_equal(fabric->ops->wait_open(fabric, &wait_attr, &wait), 0);
	assert_int_equal(fi_mr_reg(domain, &byte, 1, FI_SEND, 0, 0, 0, &mr, NULL), 0);

	check(fabric->fid.ops, sizeof(struct fi_ops));
	check(fabric->ops, sizeof(struct fi_ops_fabric));
	check(domain->fid.ops, sizeof(struct fi_ops));
	check(domain->ops, sizeof(struct fi_ops_domain));
	check(domain->mr, sizeof(struct fi_ops_mr));
	check(cntr->fid.ops, sizeof(struct fi_ops));
	check(cntr->ops, sizeof(struct fi_ops_cntr));
	check(eq->fid.ops, sizeof(struct fi_ops));
	check(eq->ops, sizeof(struct fi_ops_eq));
	check(poll->fid.ops, sizeof(struct fi_ops));
	check(poll->ops, sizeof(struct fi_ops_poll));
	check(wait->fid.ops, sizeof(struct fi_ops));
	check(wait->ops, sizeof(struct fi_ops_wait));
	check(mr->fid.ops, sizeof(struct fi_ops));

	assert_closed(mr);
	assert_closed(wait);
	assert_closed(poll);
	assert_closed(eq);
	assert_closed(cntr);
	assert_closed(domain);
	assert_closed(fabric);
}

static void answers(void **state)
{
	size_t count = 0;

	assert_int_equal(wf_absent_msg.recv(NULL, NULL, 0, NULL, 0, NULL), -FI_ENOSYS);
	assert_int_equal(wf_absent_cntr.read(NULL), 0);
	assert_int_equal(wf_absent_cntr.readerr(NULL), 0);
	assert_null(wf_absent_eq.strerror(NULL, 0, NULL, NULL, 0));
	assert_null(wf_absent_av.straddr(NULL, NULL, NULL, NULL));
	assert_int_equal(wf_absent_atomic.writevalid(NULL, FI_INT8, FI_MIN, &count),
		-FI_EOPNOTSUPP);
	assert_int_equal(wf_disabled_msg.inject(NULL, NULL, 0, 0), -FI_EOPBADSTATE);
	assert_int_equal(wf_absent_collective.barrier(NULL, 0, NULL), -FI_ENOSYS);
	/* CNT-011, CNT-024, PXU-005 */
	assert_int_equal(wf_absent_cntr.adderr(NULL, 1), -FI_ENOSYS);
	assert_int_equal(wf_absent_cntr.export_xpu(NULL, 0, NULL), -FI_ENOSYS);
	assert_int_equal(wf_absent_domain.xpu_ctx(NULL, NULL, NULL, NULL), -FI_ENOSYS);
}

/* Arguments that no stub looks at. */
#define Z1  0
#define Z2  Z1, 0
#define Z3  Z2, 0
#define Z4  Z3, 0
#define Z5  Z4, 0
#define Z6  Z5, 0
#define Z7  Z6, 0
#define Z8  Z7, 0
#define Z9  Z8, 0
#define Z10 Z9, 0
#define Z11 Z10, 0
#define Z12 Z11, 0
#define Z13 Z12, 0
#define Z14 Z13, 0
#define Z15 Z14, 0
#define Z16 Z15, 0

/* Calls that an object does not have. */
static void objects_answer(void **state)
{
	(void)state;
	assert_int_equal(wf_absent_fabric.domain(Z4), -FI_ENOSYS);
	assert_int_equal(wf_absent_fabric.passive_ep(Z4), -FI_ENOSYS);
	assert_int_equal(wf_absent_fabric.eq_open(Z4), -FI_ENOSYS);
	assert_int_equal(wf_absent_fabric.wait_open(Z3), -FI_ENOSYS);
	assert_int_equal(wf_absent_fabric.trywait(Z3), -FI_ENOSYS);
	assert_int_equal(wf_absent_fabric.domain2(Z5), -FI_ENOSYS);
	assert_int_equal(wf_absent_domain.av_open(Z4), -FI_ENOSYS);
	assert_int_equal(wf_absent_domain.cq_open(Z4), -FI_ENOSYS);
	assert_int_equal(wf_absent_domain.endpoint(Z4), -FI_ENOSYS);
	assert_int_equal(wf_absent_domain.scalable_ep(Z4), -FI_ENOSYS);
	assert_int_equal(wf_absent_domain.cntr_open(Z4), -FI_ENOSYS);
	assert_int_equal(wf_absent_domain.poll_open(Z3), -FI_ENOSYS);
	assert_int_equal(wf_absent_domain.stx_ctx(Z4), -FI_ENOSYS);
	assert_int_equal(wf_absent_domain.srx_ctx(Z4), -FI_ENOSYS);
	assert_int_equal(wf_absent_domain.query_atomic(Z5), -FI_ENOSYS);
	assert_int_equal(wf_absent_domain.query_collective(Z4), -FI_ENOSYS);
	assert_int_equal(wf_absent_domain.endpoint2(Z5), -FI_ENOSYS);
	assert_int_equal(wf_absent_domain.xpu_ctx(Z4), -FI_ENOSYS);
	assert_int_equal(wf_absent_ep.cancel(Z2), -FI_ENOSYS);
	assert_int_equal(wf_absent_ep.getopt(Z5), -FI_ENOSYS);
	assert_int_equal(wf_absent_ep.setopt(Z5), -FI_ENOSYS);
	assert_int_equal(wf_absent_ep.tx_ctx(Z5), -FI_ENOSYS);
	assert_int_equal(wf_absent_ep.rx_ctx(Z5), -FI_ENOSYS);
	assert_int_equal(wf_absent_ep.rx_size_left(Z1), -FI_ENOSYS);
	assert_int_equal(wf_absent_ep.tx_size_left(Z1), -FI_ENOSYS);
	assert_int_equal(wf_absent_ep.export_xpu(Z3), -FI_ENOSYS);
	assert_int_equal(wf_absent_cm.setname(Z3), -FI_ENOSYS);
	assert_int_equal(wf_absent_cm.getname(Z3), -FI_ENOSYS);
	assert_int_equal(wf_absent_cm.getpeer(Z3), -FI_ENOSYS);
	assert_int_equal(wf_absent_cm.connect(Z4), -FI_ENOSYS);
	assert_int_equal(wf_absent_cm.listen(Z1), -FI_ENOSYS);
	assert_int_equal(wf_absent_cm.accept(Z3), -FI_ENOSYS);
	assert_int_equal(wf_absent_cm.reject(Z4), -FI_ENOSYS);
	assert_int_equal(wf_absent_cm.shutdown(Z2), -FI_ENOSYS);
	assert_int_equal(wf_absent_cm.join(Z5), -FI_ENOSYS);
	assert_int_equal(wf_absent_mr.reg(Z9), -FI_ENOSYS);
	assert_int_equal(wf_absent_mr.regv(Z9), -FI_ENOSYS);
	assert_int_equal(wf_absent_mr.regattr(Z4), -FI_ENOSYS);
	assert_int_equal(wf_absent_av.insert(Z6), -FI_ENOSYS);
	assert_int_equal(wf_absent_av.insertsvc(Z6), -FI_ENOSYS);
	assert_int_equal(wf_absent_av.insertsym(Z8), -FI_ENOSYS);
	assert_int_equal(wf_absent_av.remove(Z4), -FI_ENOSYS);
	assert_int_equal(wf_absent_av.lookup(Z4), -FI_ENOSYS);
	assert_null(wf_absent_av.straddr(Z4));
	assert_int_equal(wf_absent_av.av_set(Z4), -FI_ENOSYS);
	assert_int_equal(wf_absent_av.insert_auth_key(Z5), -FI_ENOSYS);
	assert_int_equal(wf_absent_av.lookup_auth_key(Z4), -FI_ENOSYS);
	assert_int_equal(wf_absent_av.set_user_id(Z4), -FI_ENOSYS);
	assert_int_equal(wf_absent_av.lookup2(Z6), -FI_ENOSYS);
	assert_int_equal(wf_absent_cq.read(Z3), -FI_ENOSYS);
	assert_int_equal(wf_absent_cq.readfrom(Z4), -FI_ENOSYS);
	assert_int_equal(wf_absent_cq.readerr(Z3), -FI_ENOSYS);
	assert_int_equal(wf_absent_cq.sread(Z5), -FI_ENOSYS);
	assert_int_equal(wf_absent_cq.sreadfrom(Z6), -FI_ENOSYS);
	assert_int_equal(wf_absent_cq.signal(Z1), -FI_ENOSYS);
	assert_null(wf_absent_cq.strerror(Z5));
	assert_int_equal(wf_absent_cq.export_xpu(Z3), -FI_ENOSYS);
	assert_int_equal(wf_absent_eq.read(Z5), -FI_ENOSYS);
	assert_int_equal(wf_absent_eq.readerr(Z3), -FI_ENOSYS);
	assert_int_equal(wf_absent_eq.write(Z5), -FI_ENOSYS);
	assert_int_equal(wf_absent_eq.sread(Z6), -FI_ENOSYS);
	assert_null(wf_absent_eq.strerror(Z5));
	assert_int_equal(wf_absent_cntr.read(Z1), 0);
	assert_int_equal(wf_absent_cntr.readerr(Z1), 0);
	assert_int_equal(wf_absent_cntr.add(Z2), -FI_ENOSYS);
	assert_int_equal(wf_absent_cntr.set(Z2), -FI_ENOSYS);
	assert_int_equal(wf_absent_cntr.wait(Z3), -FI_ENOSYS);
	assert_int_equal(wf_absent_cntr.adderr(Z2), -FI_ENOSYS);
	assert_int_equal(wf_absent_cntr.seterr(Z2), -FI_ENOSYS);
	assert_int_equal(wf_absent_cntr.export_xpu(Z3), -FI_ENOSYS);
}

/* Transfers that an endpoint does not have. */
static void absent_transfers(void **state)
{
	(void)state;
	assert_int_equal(wf_absent_msg.recv(Z6), -FI_ENOSYS);
	assert_int_equal(wf_absent_msg.recvv(Z6), -FI_ENOSYS);
	assert_int_equal(wf_absent_msg.recvmsg(Z3), -FI_ENOSYS);
	assert_int_equal(wf_absent_msg.send(Z6), -FI_ENOSYS);
	assert_int_equal(wf_absent_msg.sendv(Z6), -FI_ENOSYS);
	assert_int_equal(wf_absent_msg.sendmsg(Z3), -FI_ENOSYS);
	assert_int_equal(wf_absent_msg.inject(Z4), -FI_ENOSYS);
	assert_int_equal(wf_absent_msg.senddata(Z7), -FI_ENOSYS);
	assert_int_equal(wf_absent_msg.injectdata(Z5), -FI_ENOSYS);
	assert_int_equal(wf_absent_tagged.recv(Z8), -FI_ENOSYS);
	assert_int_equal(wf_absent_tagged.recvv(Z8), -FI_ENOSYS);
	assert_int_equal(wf_absent_tagged.recvmsg(Z3), -FI_ENOSYS);
	assert_int_equal(wf_absent_tagged.send(Z7), -FI_ENOSYS);
	assert_int_equal(wf_absent_tagged.sendv(Z7), -FI_ENOSYS);
	assert_int_equal(wf_absent_tagged.sendmsg(Z3), -FI_ENOSYS);
	assert_int_equal(wf_absent_tagged.inject(Z5), -FI_ENOSYS);
	assert_int_equal(wf_absent_tagged.senddata(Z8), -FI_ENOSYS);
	assert_int_equal(wf_absent_tagged.injectdata(Z6), -FI_ENOSYS);
	assert_int_equal(wf_absent_rma.read(Z8), -FI_ENOSYS);
	assert_int_equal(wf_absent_rma.readv(Z8), -FI_ENOSYS);
	assert_int_equal(wf_absent_rma.readmsg(Z3), -FI_ENOSYS);
	assert_int_equal(wf_absent_rma.write(Z8), -FI_ENOSYS);
	assert_int_equal(wf_absent_rma.writev(Z8), -FI_ENOSYS);
	assert_int_equal(wf_absent_rma.writemsg(Z3), -FI_ENOSYS);
	assert_int_equal(wf_absent_rma.inject(Z6), -FI_ENOSYS);
	assert_int_equal(wf_absent_rma.writedata(Z9), -FI_ENOSYS);
	assert_int_equal(wf_absent_rma.injectdata(Z7), -FI_ENOSYS);
	assert_int_equal(wf_absent_atomic.write(Z10), -FI_ENOSYS);
	assert_int_equal(wf_absent_atomic.writev(Z10), -FI_ENOSYS);
	assert_int_equal(wf_absent_atomic.writemsg(Z3), -FI_ENOSYS);
	assert_int_equal(wf_absent_atomic.inject(Z8), -FI_ENOSYS);
	assert_int_equal(wf_absent_atomic.readwrite(Z12), -FI_ENOSYS);
	assert_int_equal(wf_absent_atomic.readwritev(Z13), -FI_ENOSYS);
	assert_int_equal(wf_absent_atomic.readwritemsg(Z6), -FI_ENOSYS);
	assert_int_equal(wf_absent_atomic.compwrite(Z14), -FI_ENOSYS);
	assert_int_equal(wf_absent_atomic.compwritev(Z16), -FI_ENOSYS);
	assert_int_equal(wf_absent_atomic.compwritemsg(Z9), -FI_ENOSYS);
	assert_int_equal(wf_absent_atomic.writevalid(Z4), -FI_EOPNOTSUPP);
	assert_int_equal(wf_absent_atomic.readwritevalid(Z4), -FI_EOPNOTSUPP);
	assert_int_equal(wf_absent_atomic.compwritevalid(Z4), -FI_EOPNOTSUPP);
	assert_int_equal(wf_absent_collective.barrier(Z3), -FI_ENOSYS);
	assert_int_equal(wf_absent_collective.broadcast(Z9), -FI_ENOSYS);
	assert_int_equal(wf_absent_collective.alltoall(Z10), -FI_ENOSYS);
	assert_int_equal(wf_absent_collective.allreduce(Z11), -FI_ENOSYS);
	assert_int_equal(wf_absent_collective.allgather(Z10), -FI_ENOSYS);
	assert_int_equal(wf_absent_collective.reduce_scatter(Z11), -FI_ENOSYS);
	assert_int_equal(wf_absent_collective.reduce(Z12), -FI_ENOSYS);
	assert_int_equal(wf_absent_collective.scatter(Z11), -FI_ENOSYS);
	assert_int_equal(wf_absent_collective.gather(Z11), -FI_ENOSYS);
	assert_int_equal(wf_absent_collective.msg(Z6), -FI_ENOSYS);
	assert_int_equal(wf_absent_collective.barrier2(Z4), -FI_ENOSYS);
}

/* Transfers of an endpoint that is not enabled. */
static void disabled_transfers(void **state)
{
	(void)state;
	assert_int_equal(wf_disabled_msg.recv(Z6), -FI_EOPBADSTATE);
	assert_int_equal(wf_disabled_msg.recvv(Z6), -FI_EOPBADSTATE);
	assert_int_equal(wf_disabled_msg.recvmsg(Z3), -FI_EOPBADSTATE);
	assert_int_equal(wf_disabled_msg.send(Z6), -FI_EOPBADSTATE);
	assert_int_equal(wf_disabled_msg.sendv(Z6), -FI_EOPBADSTATE);
	assert_int_equal(wf_disabled_msg.sendmsg(Z3), -FI_EOPBADSTATE);
	assert_int_equal(wf_disabled_msg.inject(Z4), -FI_EOPBADSTATE);
	assert_int_equal(wf_disabled_msg.senddata(Z7), -FI_EOPBADSTATE);
	assert_int_equal(wf_disabled_msg.injectdata(Z5), -FI_EOPBADSTATE);
	assert_int_equal(wf_disabled_tagged.recv(Z8), -FI_EOPBADSTATE);
	assert_int_equal(wf_disabled_tagged.recvv(Z8), -FI_EOPBADSTATE);
	assert_int_equal(wf_disabled_tagged.recvmsg(Z3), -FI_EOPBADSTATE);
	assert_int_equal(wf_disabled_tagged.send(Z7), -FI_EOPBADSTATE);
	assert_int_equal(wf_disabled_tagged.sendv(Z7), -FI_EOPBADSTATE);
	assert_int_equal(wf_disabled_tagged.sendmsg(Z3), -FI_EOPBADSTATE);
	assert_int_equal(wf_disabled_tagged.inject(Z5), -FI_EOPBADSTATE);
	assert_int_equal(wf_disabled_tagged.senddata(Z8), -FI_EOPBADSTATE);
	assert_int_equal(wf_disabled_tagged.injectdata(Z6), -FI_EOPBADSTATE);
	assert_int_equal(wf_disabled_rma.read(Z8), -FI_EOPBADSTATE);
	assert_int_equal(wf_disabled_rma.readv(Z8), -FI_EOPBADSTATE);
	assert_int_equal(wf_disabled_rma.readmsg(Z3), -FI_EOPBADSTATE);
	assert_int_equal(wf_disabled_rma.write(Z8), -FI_EOPBADSTATE);
	assert_int_equal(wf_disabled_rma.writev(Z8), -FI_EOPBADSTATE);
	assert_int_equal(wf_disabled_rma.writemsg(Z3), -FI_EOPBADSTATE);
	assert_int_equal(wf_disabled_rma.inject(Z6), -FI_EOPBADSTATE);
	assert_int_equal(wf_disabled_rma.writedata(Z9), -FI_EOPBADSTATE);
	assert_int_equal(wf_disabled_rma.injectdata(Z7), -FI_EOPBADSTATE);
	assert_int_equal(wf_disabled_atomic.write(Z10), -FI_EOPBADSTATE);
	assert_int_equal(wf_disabled_atomic.writev(Z10), -FI_EOPBADSTATE);
	assert_int_equal(wf_disabled_atomic.writemsg(Z3), -FI_EOPBADSTATE);
	assert_int_equal(wf_disabled_atomic.inject(Z8), -FI_EOPBADSTATE);
	assert_int_equal(wf_disabled_atomic.readwrite(Z12), -FI_EOPBADSTATE);
	assert_int_equal(wf_disabled_atomic.readwritev(Z13), -FI_EOPBADSTATE);
	assert_int_equal(wf_disabled_atomic.readwritemsg(Z6), -FI_EOPBADSTATE);
	assert_int_equal(wf_disabled_atomic.compwrite(Z14), -FI_EOPBADSTATE);
	assert_int_equal(wf_disabled_atomic.compwritev(Z16), -FI_EOPBADSTATE);
	assert_int_equal(wf_disabled_atomic.compwritemsg(Z9), -FI_EOPBADSTATE);
	assert_int_equal(wf_disabled_atomic.writevalid(Z4), -FI_EOPBADSTATE);
	assert_int_equal(wf_disabled_atomic.readwritevalid(Z4), -FI_EOPBADSTATE);
	assert_int_equal(wf_disabled_atomic.compwritevalid(Z4), -FI_EOPBADSTATE);
	assert_int_equal(wf_disabled_collective.barrier(Z3), -FI_EOPBADSTATE);
	assert_int_equal(wf_disabled_collective.broadcast(Z9), -FI_EOPBADSTATE);
	assert_int_equal(wf_disabled_collective.alltoall(Z10), -FI_EOPBADSTATE);
	assert_int_equal(wf_disabled_collective.allreduce(Z11), -FI_EOPBADSTATE);
	assert_int_equal(wf_disabled_collective.allgather(Z10), -FI_EOPBADSTATE);
	assert_int_equal(wf_disabled_collective.reduce_scatter(Z11), -FI_EOPBADSTATE);
	assert_int_equal(wf_disabled_collective.reduce(Z12), -FI_EOPBADSTATE);
	assert_int_equal(wf_disabled_collective.scatter(Z11), -FI_EOPBADSTATE);
	assert_int_equal(wf_disabled_collective.gather(Z11), -FI_EOPBADSTATE);
	assert_int_equal(wf_disabled_collective.msg(Z6), -FI_EOPBADSTATE);
	assert_int_equal(wf_disabled_collective.barrier2(Z4), -FI_EOPBADSTATE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_slot_is_filled),
		cmocka_unit_test(open_objects_are_complete),
		cmocka_unit_test(answers),
		cmocka_unit_test(objects_answer),
		cmocka_unit_test(absent_transfers),
		cmocka_unit_test(disabled_transfers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
