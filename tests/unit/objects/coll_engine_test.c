/* SPDX-License-Identifier: BSD-2-Clause */
/* An engine that cannot be found, and what an offload engine is asked about. */
#include "domain_fixture.h"

#include "../../log_lines.h"
#include "objects/coll/internal.h"
#include "objects/lower/find.h"
#include "../refuse.h"

REFUSE_CALL(struct fi_info *, "memory", fi_dupinfo, NULL, (const struct fi_info *info),
	(info))

#define VISIBLE __attribute__((visibility("default")))

static int find_err;
static unsigned int finds;

VISIBLE int __wrap_wf_lower_find(
	uint32_t oldest, const struct fi_info *hints, struct fi_info **ret_list);

int __wrap_wf_lower_find(
	uint32_t oldest, const struct fi_info *hints, struct fi_info **ret_list)
{
	finds++;
	assert_int_equal(hints->mode, FI_PEER_TRANSFER);
	assert_string_equal(hints->fabric_attr->prov_name, "off_coll");
	if (!find_err)
		*ret_list = __real_fi_dupinfo(NULL);
	return find_err;
}

static void no_engine_is_found(void **state)
{
	struct domain_fixture *f = *state;
	struct fi_collective_attr attr = { .op = FI_SUM };

	find_err = -FI_ENODATA;
	log_lines_start();
	assert_int_equal(wf_coll_query(&f->domain, FI_ALLREDUCE, &attr, 0), -FI_ENOSYS);
	assert_true(log_lines_have("collectives: off_coll: fi_getinfo: "));
	assert_null(f->domain.coll);
	assert_int_equal(finds, 1);
	assert_int_equal(wf_coll_query(&f->domain, FI_BARRIER, NULL, 0), -FI_EINVAL);
	attr.mode = 1;
	assert_int_equal(wf_coll_query(&f->domain, FI_BARRIER, &attr, 0), -FI_EINVAL);
	assert_int_equal(finds, 1);
	attr.mode = 0;
	/* The engines, the hints and their text, and a copy of the answer. */
	find_err = 0;
	for (unsigned int i = 1; i <= 4; i++) {
		refuse_one("memory", i, ENOMEM);
		assert_int_equal(
			wf_coll_query(&f->domain, FI_BARRIER, &attr, 0), -FI_ENOMEM);
		assert_true(refuse_end());
		assert_null(f->domain.coll);
	}
	assert_int_equal(finds, 2);
}

/* ---- the offload engine ---- */

static unsigned int queries;
static struct fi_collective_attr last;

static int query(struct fid_domain *domain, enum fi_collective_op coll,
	struct fi_collective_attr *attr, uint64_t flags)
{
	queries++;
	last = *attr;
	return coll == FI_BARRIER || coll == FI_ALLREDUCE ? 0 : -FI_ENOSYS;
}

static void each_question_is_asked_once(void **state)
{
	struct fi_ops_domain ops = { .size = sizeof(ops), .query_collective = query };
	struct fid_domain domain = { .ops = &ops };
	static struct wf_coll_engines engines;

	engines.at[WF_COLL_OFFLOAD].domain = &domain;
	engines.count = 1;
	assert_false(wf_coll_offloads(&engines, FI_BARRIER, FI_NOOP, FI_VOID));
	assert_int_equal(queries, 0);
	engines.count = 2;
	for (int i = 0; i < 2; i++) {
		assert_true(wf_coll_offloads(&engines, FI_BARRIER, FI_SUM, FI_INT8));
		assert_int_equal(queries, 1);
		assert_int_equal(last.op, FI_NOOP);
		assert_int_equal(last.datatype, FI_VOID);
	}
	for (int i = 0; i < 2; i++) {
		assert_false(wf_coll_offloads(&engines, FI_GATHER, FI_SUM, FI_INT8));
		assert_int_equal(queries, 2);
		assert_int_equal(last.op, FI_NOOP);
		assert_int_equal(last.datatype, FI_INT8);
	}
	assert_true(wf_coll_offloads(&engines, FI_ALLREDUCE, FI_SUM, FI_INT8));
	assert_int_equal(queries, 3);
	assert_int_equal(last.op, FI_SUM);
	assert_true(wf_coll_offloads(&engines, FI_ALLREDUCE, FI_PROD, FI_INT8));
	assert_int_equal(queries, 4);

	/* Of what does not exist no engine is asked. */
	assert_false(wf_coll_offloads(
		&engines, (enum fi_collective_op)WF_COLL_KINDS, FI_SUM, FI_INT8));
	assert_false(
		wf_coll_offloads(&engines, FI_ALLREDUCE, (enum fi_op)1000000, FI_INT8));
	assert_false(wf_coll_offloads(
		&engines, FI_ALLREDUCE, FI_SUM, (enum fi_datatype)1000000));
	assert_int_equal(queries, 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		DOMAIN_TEST(no_engine_is_found),
		DOMAIN_TEST(each_question_is_asked_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
