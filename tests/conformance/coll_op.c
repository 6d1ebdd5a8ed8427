/* SPDX-License-Identifier: BSD-2-Clause */
/* Collective operations and their results. */
#include "coll_env.h"

static struct cl_env env; /* large; each case runs in a process of its own */
static struct cl_group group;

static struct cl_work plain(enum fi_collective_op kind, enum fi_datatype type)
{
	struct cl_work work = { .group = &group,
		.call = { .kind = kind, .type = cl_type(type), .op = FI_SUM } };

	work.call.root = group.count / 2;
	return work;
}

/* Groups of 1 to 33 members. */
static void every_size(void)
{
	uint32_t step = limit_amount() ? 5 : 1;

	cl_open(&env, CL_MEMBERS_MAX, NULL);
	for (uint32_t n = 1; n <= CL_MEMBERS_MAX; n += n < 8 ? 1 : step) {
		cl_range(&group, n, 0, 1);
		cl_form(&env, &group);
		for (int k = 0; k < CL_KINDS; k++) {
			struct cl_work work = plain(cl_kinds[k], FI_INT32);

			work.call.count = 3;
			work.call.seed = n;
			cl_run(&env, &work);
		}
		cl_leave(&group);
	}
	cl_close(&env);
}

static void open_group(uint32_t count)
{
	cl_open(&env, count, NULL);
	cl_range(&group, count, 0, 1);
	cl_form(&env, &group);
}

static void close_group(void)
{
	cl_leave(&group);
	cl_close(&env);
}

static void reduce_with(const struct am_type *type, enum fi_op op)
{
	static const enum fi_collective_op kinds[] = { FI_REDUCE, FI_ALLREDUCE,
		FI_REDUCE_SCATTER };

	for (size_t k = 0; k < CF_COUNT(kinds); k++) {
		struct cl_work work = plain(kinds[k], type->datatype);

		work.call.op = op;
		work.call.count = 5;
		cl_run(&env, &work);
	}
}

static void every_type_and_operation(void)
{
	static const uint32_t sizes[] = { 2, 3, 7, 8 };

	cl_open(&env, 8, NULL);
	for (size_t s = 0; s < CF_COUNT(sizes); s++) {
		cl_range(&group, sizes[s], 0, 1);
		cl_form(&env, &group);
		for (size_t t = 0; t < am_type_count; t++)
			for (enum fi_op op = FI_MIN; op <= FI_BXOR; op++)
				if (cm_reduces(&am_types[t], op))
					reduce_with(&am_types[t], op);
		cl_leave(&group);
	}
	cl_close(&env);
}

/* What only moves data does so with every datatype. */
static void every_type_is_moved(void)
{
	open_group(3);
	for (size_t t = 0; t < am_type_count; t++) {
		for (int k = 0; k < CL_KINDS; k++) {
			struct cl_work work = plain(cl_kinds[k], am_types[t].datatype);

			work.call.count = 7;
			if (!cm_is_reduction(cl_kinds[k]))
				cl_run(&env, &work);
		}
	}
	close_group();
}

static void run_all_kinds(size_t count, enum fi_datatype type, bool in_place)
{
	for (int k = 0; k < CL_KINDS; k++) {
		struct cl_work work = plain(cl_kinds[k], type);

		work.call.count = count;
		work.in_place = in_place;
		cl_run(&env, &work);
	}
}

/* None, one, and counts that the number of members does not divide. */
static void every_count(void)
{
	static const size_t counts[] = { 0, 1, 2, 6, 8, 100, 1001, 4096, 20011 };
	static const uint32_t sizes[] = { 4, 7 };

	cl_open(&env, 7, NULL);
	for (size_t s = 0; s < CF_COUNT(sizes); s++) {
		cl_range(&group, sizes[s], 0, 1);
		cl_form(&env, &group);
		for (size_t i = 0; i < CF_COUNT(counts); i++)
			run_all_kinds(counts[i], FI_UINT16, false);
		cl_leave(&group);
	}
	cl_close(&env);
}

static void large_ones(void)
{
	size_t bytes = limit_amount() ? 300000 : (1 << 20) + 24;

	open_group(4);
	run_all_kinds(bytes / sizeof(double), FI_DOUBLE, false);
	close_group();
	open_group(3);
	run_all_kinds(bytes / sizeof(double), FI_DOUBLE, true);
	close_group();
}

static void in_place(void)
{
	static const size_t counts[] = { 1, 9, 5000 };
	static const uint32_t sizes[] = { 1, 2, 5, 8 };

	cl_open(&env, 8, NULL);
	for (size_t s = 0; s < CF_COUNT(sizes); s++) {
		cl_range(&group, sizes[s], 0, 1);
		cl_form(&env, &group);
		for (size_t i = 0; i < CF_COUNT(counts); i++)
			run_all_kinds(counts[i], FI_INT64, true);
		cl_leave(&group);
	}
	cl_close(&env);
}

/* Every member is the root once; the address of one differs from its rank. */
static void every_root(void)
{
	struct cl_options options = { .mixed = true };

	cl_open(&env, 7, &options);
	cl_range(&group, 5, 1, 1);
	cl_form(&env, &group);
	for (int k = 0; k < CL_KINDS; k++) {
		for (uint32_t root = 0; root < group.count; root++) {
			struct cl_work work = plain(cl_kinds[k], FI_FLOAT);

			if (!cm_has_root(cl_kinds[k]))
				continue;
			work.call.root = root;
			work.call.count = 11;
			work.call.seed = root;
			cl_run(&env, &work);
		}
	}
	close_group();
}

static void message_form(void)
{
	static const size_t counts[] = { 0, 1, 10, 3000 };

	open_group(5);
	for (int k = 0; k < CL_KINDS; k++) {
		for (size_t i = 0; i < CF_COUNT(counts); i++) {
			struct cl_work work = plain(cl_kinds[k], FI_UINT32);

			work.call.count = counts[i];
			work.message = true;
			cl_run(&env, &work);
		}
	}
	close_group();
}

/* Members of one group start one after the other, the last one much later. */
static void a_barrier_waits_for_all(void)
{
	struct cl_work work = { .group = &group, .call = { .kind = FI_BARRIER } };
	uint32_t n = 6;

	open_group(n);
	work.call.members = n;
	for (uint32_t late = 0; late < n; late++) {
		cl_prepare(&work);
		for (uint32_t r = 0; r < n; r++)
			if (r != late)
				cl_start(&env, &work, r);
		for (int i = 0; i < 100; i++) {
			cl_step(&env);
			for (uint32_t r = 0; r < n; r++)
				CHECK(!work.op[r].done);
		}
		cl_start(&env, &work, late);
		CL_UNTIL(&env, cl_done(&work));
		cl_verify(&work);
	}
	close_group();
}

/* Regions that are registered for collectives; where the provider asks for that, no
 * other way is left. */
static void registered_buffers(void)
{
	static uint64_t space[2][4][64]; /* of sources and results */
	struct cl_work work;
	struct fid_mr *mr[2];

	open_group(2);
	for (int i = 0; i < 2; i++)
		CHECK_OK(fi_mr_reg(env.base.domain, space[i], sizeof(space[i]),
			FI_COLLECTIVE | FI_SEND | FI_RECV, 0, 300 + (uint64_t)i, 0,
			&mr[i], NULL));
	work = plain(FI_ALLREDUCE, FI_UINT64);
	work.call.count = 64;
	work.call.members = 2;
	for (uint32_t r = 0; r < 2; r++) {
		work.buf[r] = space[0][r];
		work.result[r] = space[1][r];
		work.desc[r] = fi_mr_desc(mr[0]);
		work.result_desc[r] = fi_mr_desc(mr[1]);
		cm_fill(&work.call, r, work.buf[r]);
	}
	for (uint32_t r = 0; r < 2; r++)
		cl_start(&env, &work, r);
	CL_UNTIL(&env, cl_done(&work));
	for (uint32_t r = 0; r < 2; r++) {
		size_t wrong;

		CHECK_EQ(work.op[r].err, 0);
		CHECK(cm_check(&work.call, r, work.result[r], &wrong));
	}
	CF_CLOSE(mr[0]);
	CF_CLOSE(mr[1]);
	close_group();
}

CF_SUITE(coll_op, CF_CASE(every_size, "COL-005 COL-007 COL-008 COL-009", FI_COLLECTIVE),
	CF_CASE(every_type_and_operation, "COL-009 COL-012", FI_COLLECTIVE),
	CF_CASE(every_type_is_moved, "COL-008", FI_COLLECTIVE),
	CF_CASE(every_count, "COL-007 COL-008 COL-009", FI_COLLECTIVE),
	CF_CASE(large_ones, "COL-008 COL-009", FI_COLLECTIVE),
	CF_CASE(in_place, "COL-008 COL-009", FI_COLLECTIVE),
	CF_CASE(every_root, "COL-007", FI_COLLECTIVE),
	CF_CASE(message_form, "COL-005", FI_COLLECTIVE),
	CF_CASE(a_barrier_waits_for_all, "COL-006", FI_COLLECTIVE),
	CF_CASE(registered_buffers, "MR-018", FI_COLLECTIVE));
