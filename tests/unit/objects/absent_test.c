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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_slot_is_filled),
		cmocka_unit_test(open_objects_are_complete),
		cmocka_unit_test(answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
