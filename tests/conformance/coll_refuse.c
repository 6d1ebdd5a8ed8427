/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls that are refused, and what fi_query_collective answers. */
#include "coll_env.h"

#include "../log_lines.h"

static struct cl_env env;
static struct cl_group group;

static void open_pair(void)
{
	cl_open(&env, 3, NULL);
	cl_range(&group, 2, 0, 1);
	cl_form(&env, &group);
}

static void close_pair(void)
{
	cl_leave(&group);
	cl_close(&env);
}

static void check_works(void)
{
	struct cl_work work = { .group = &group,
		.call = { .kind = FI_ALLREDUCE,
			.type = cl_type(FI_INT32),
			.op = FI_SUM,
			.count = 3 } };

	cl_run(&env, &work);
}

static void groups_that_are_not_there(void)
{
	static const fi_addr_t bad[] = { FI_ADDR_NOTAVAIL, 0, 1, 0x7fffffff,
		0x123456789abcdef };
	struct fid_ep *ep;
	fi_addr_t left;

	open_pair();
	ep = env.member[0].ep;
	for (size_t i = 0; i < CF_COUNT(bad); i++)
		if (bad[i] != group.addr[0])
			CHECK_EQ(fi_barrier(ep, bad[i], NULL), -FI_EINVAL);
	/* An endpoint that is no member of the group. */
	CHECK_EQ(fi_barrier(env.member[2].ep, group.addr[0], NULL), -FI_EINVAL);
	check_works();
	left = group.addr[0];
	cl_leave(&group);
	CHECK_EQ(fi_barrier(ep, left, NULL), -FI_EINVAL);
	cl_close(&env);
}

/* Of the answers of calls with a root none starts anything. */
static void roots_that_are_not_there(void)
{
	fi_addr_t bad[3] = { FI_ADDR_NOTAVAIL, 4711 };
	int32_t buf[4] = { 0 }, result[4];
	fi_addr_t coll;
	struct fid_ep *ep;

	open_pair();
	bad[2] = env.member[0].addr[2]; /* no member of the group */
	ep = env.member[0].ep;
	coll = group.addr[0];
	for (size_t i = 0; i < CF_COUNT(bad); i++) {
		CHECK_EQ(
			fi_broadcast(ep, buf, 1, NULL, coll, bad[i], FI_INT32, 0, NULL),
			-FI_EINVAL);
		CHECK_EQ(fi_reduce(ep, buf, 1, NULL, result, NULL, coll, bad[i],
				 FI_INT32, FI_SUM, 0, NULL),
			-FI_EINVAL);
		CHECK_EQ(fi_scatter(ep, buf, 1, NULL, result, NULL, coll, bad[i],
				 FI_INT32, 0, NULL),
			-FI_EINVAL);
		CHECK_EQ(fi_gather(ep, buf, 1, NULL, result, NULL, coll, bad[i],
				 FI_INT32, 0, NULL),
			-FI_EINVAL);
	}
	check_works();
	close_pair();
}

static ssize_t reduce_all(enum fi_datatype type, enum fi_op op, size_t count)
{
	static _Alignas(16) char buf[64], result[64];

	return fi_allreduce(env.member[0].ep, buf, count, NULL, result, NULL,
		group.addr[0], type, op, 0, NULL);
}

static void types_and_operations(void)
{
	open_pair();
	CHECK_EQ(reduce_all(FI_DOUBLE, FI_BOR, 1), -FI_EOPNOTSUPP);
	CHECK_EQ(reduce_all(FI_FLOAT_COMPLEX, FI_MIN, 1), -FI_EOPNOTSUPP);
	CHECK_EQ(reduce_all(FI_INT32, FI_CSWAP, 1), -FI_EOPNOTSUPP);
	CHECK_EQ(reduce_all(FI_INT32, FI_ATOMIC_READ, 1), -FI_EOPNOTSUPP);
	CHECK_FAILS(reduce_all((enum fi_datatype)99, FI_SUM, 1));
	CHECK_FAILS(reduce_all(FI_INT32, (enum fi_op)99, 1));
	CHECK_FAILS(reduce_all((enum fi_datatype) - 1, FI_SUM, 1));
	check_works();
	close_pair();
}

/* The log names the call, and what is wrong with it. */
static void a_refusal_has_a_reason(void)
{
	static int32_t buf[4], result[4];

	NEED_API(1, 13);
	open_pair();
	log_lines_start();
	CHECK_EQ(reduce_all(FI_DOUBLE, FI_BOR, 1), -FI_EOPNOTSUPP);
	CHECK(log_lines_have("allreduce refused: the operation is not possible with "
			     "the datatype"));
	CHECK_EQ(fi_broadcast(env.member[0].ep, buf, 1, NULL, group.addr[0],
			 env.member[0].addr[1], (enum fi_datatype)99, 0, NULL),
		-FI_EOPNOTSUPP);
	CHECK(log_lines_have("broadcast refused: no such datatype"));
	CHECK_EQ(fi_alltoall(env.member[0].ep, buf, 1, NULL, result, NULL,
			 group.addr[0], (enum fi_datatype)99, 0, NULL),
		-FI_EOPNOTSUPP);
	CHECK(log_lines_have("alltoall refused: no such datatype"));
	check_works();
	close_pair();
}

/* What reads the data is the processor. So an endpoint either reaches the memory of
 * devices, or has collectives. */
static void memory_of_devices(void)
{
	struct fi_info *hints = cf_hints(), *info;

	NEED_API(1, 13);
	hints->caps = FI_TAGGED | FI_COLLECTIVE | FI_HMEM;
	hints->domain_attr->mr_mode |= FI_MR_HMEM;
	log_lines_start();
	CHECK_EQ(cf_getinfo(cf_target.version, hints, &info), -FI_ENODATA);
	CHECK(log_lines_have("refused: caps: asked FI_HMEM"));
	fi_freeinfo(hints);
}

/* Members pass on no descriptors, so buffers need none, whatever a caller would do. */
static void descriptors_are_not_needed(void)
{
	struct fi_info *hints = cf_hints(), *info;
	bool answered = false;

	NEED_API(1, 5);
	hints->caps = FI_TAGGED | FI_COLLECTIVE;
	hints->domain_attr->mr_mode |= FI_MR_LOCAL;
	CHECK_OK(cf_getinfo(cf_target.version, hints, &info));
	for (const struct fi_info *at = info; at; at = at->next) {
		answered |= at->caps & FI_COLLECTIVE && at->caps & FI_TAGGED;
		CHECK_EQ(at->domain_attr->mr_mode & FI_MR_LOCAL, 0);
	}
	CHECK(answered);
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

static void too_many_elements(void)
{
	static char buf[16], result[16];

	open_pair();
	CHECK_EQ(reduce_all(FI_DOUBLE, FI_SUM, SIZE_MAX), -FI_EMSGSIZE);
	CHECK_EQ(fi_allgather(env.member[0].ep, buf, SIZE_MAX / 8, NULL, result, NULL,
			 group.addr[0], FI_DOUBLE, 0, NULL),
		-FI_EMSGSIZE);
	check_works();
	close_pair();
}

static void a_group_that_is_not_joined(void)
{
	fi_addr_t early;

	cl_open(&env, 2, NULL);
	cl_range(&group, 2, 0, 1);
	cl_insert_sets(&env, &group);
	cl_start_join(&env, &group, 0);
	early = fi_mc_addr(group.mc[0]);
	CHECK_FAILS(fi_barrier(env.member[0].ep, early, NULL));
	cl_start_join(&env, &group, 1);
	cl_end_join(&env, &group, 0);
	cl_end_join(&env, &group, 1);
	check_works();
	close_pair();
}

/* More operations than may be in flight are refused until some have ended. */
static void as_many_as_fit(void)
{
	static struct cl_op ops[2][4096];
	uint32_t made[2] = { 0 };

	cl_open(&env, 2, &(struct cl_options){ .room = true });
	cl_range(&group, 2, 0, 1);
	cl_form(&env, &group);
	while (made[0] < CF_COUNT(ops[0])) {
		ssize_t ret = fi_barrier(
			env.member[0].ep, group.addr[0], &ops[0][made[0]].context);

		if (ret == -FI_EAGAIN)
			break;
		CHECK_OK(ret);
		made[0]++;
	}
	CHECK(made[0] > 0);
	for (; made[1] < made[0]; made[1]++)
		CL_RETRY(&env, fi_barrier(env.member[1].ep, group.addr[1],
				       &ops[1][made[1]].context));
	for (uint32_t i = 0; i < made[0]; i++) {
		CL_UNTIL(&env, ops[0][i].done && ops[1][i].done);
		CHECK_EQ(ops[0][i].err, 0);
		CHECK_EQ(ops[1][i].err, 0);
	}
	check_works();
	close_pair();
}

static void messages_that_make_no_sense(void)
{
	int32_t value = 1, result = 0;
	struct fi_ioc source = { .addr = &value, .count = 1 };
	struct fi_ioc target = { .addr = &result, .count = 1 };
	struct fi_ioc many[64] = { { 0 } };
	struct fi_msg_collective msg = { .msg_iov = &source,
		.iov_count = 1,
		.coll = FI_ALLREDUCE,
		.datatype = FI_INT32,
		.op = FI_SUM };
	struct fid_ep *ep;

	open_pair();
	ep = env.member[0].ep;
	msg.coll_addr = group.addr[0];
	CHECK_FAILS(ep->collective->msg(ep, NULL, &target, NULL, 1, 0));
	msg.coll = (enum fi_collective_op)77;
	CHECK_FAILS(ep->collective->msg(ep, &msg, &target, NULL, 1, 0));
	msg.coll = FI_ALLREDUCE;
	msg.iov_count = 64;
	msg.msg_iov = many;
	CHECK_FAILS(ep->collective->msg(ep, &msg, &target, NULL, 1, 0));
	msg.iov_count = 1;
	msg.msg_iov = &source;
	/* The result has another size than the operation. */
	target.count = 2;
	CHECK_EQ(ep->collective->msg(ep, &msg, &target, NULL, 1, 0), -FI_EINVAL);
	check_works();
	close_pair();
}

/* ---- queries ---- */

static int query(enum fi_collective_op kind, enum fi_datatype type, enum fi_op op,
	struct fi_collective_attr *ret_attr)
{
	*ret_attr = (struct fi_collective_attr){ .datatype = type, .op = op };
	return fi_query_collective(env.base.domain, kind, ret_attr, 0);
}

static void what_is_possible(void)
{
	struct fi_collective_attr attr;

	cl_open(&env, 1, NULL);
	CHECK_OK(query(FI_BARRIER, FI_VOID, FI_NOOP, &attr));
	CHECK(attr.max_members >= CL_MEMBERS_MAX);
	CHECK_OK(query(FI_BROADCAST, FI_UINT8, FI_NOOP, &attr));
	CHECK(attr.max_members >= CL_MEMBERS_MAX);
	CHECK_EQ(attr.datatype_attr.size, 1);
	CHECK(attr.datatype_attr.count >= (size_t)1 << 20);
	CHECK_OK(query(FI_ALLGATHER, FI_UINT8, FI_ATOMIC_READ, &attr));
	CHECK(attr.max_members >= CL_MEMBERS_MAX);
	for (size_t t = 0; t < am_type_count; t++) {
		for (enum fi_op op = FI_MIN; op <= FI_BXOR; op++) {
			int ret = query(FI_ALLREDUCE, am_types[t].datatype, op, &attr);

			if (!cm_reduces(&am_types[t], op)) {
				CHECK_EITHER(ret, -FI_ENOSYS, -FI_EOPNOTSUPP);
				continue;
			}
			CHECK_OK(ret);
			CHECK_EQ(attr.datatype_attr.size, am_types[t].size);
			CHECK(attr.datatype_attr.count > 0);
		}
	}
	cl_close(&env);
}

static void questions_that_are_refused(void)
{
	struct fi_collective_attr attr = { .datatype = FI_VOID, .op = FI_NOOP };

	cl_open(&env, 1, NULL);
	CHECK_EQ(fi_query_collective(env.base.domain, FI_BARRIER, NULL, 0), -FI_EINVAL);
	attr.mode = 1;
	CHECK_EQ(
		fi_query_collective(env.base.domain, FI_BARRIER, &attr, 0), -FI_EINVAL);
	CHECK_EITHER(query(FI_ALLREDUCE, FI_DOUBLE, FI_BXOR, &attr), -FI_ENOSYS,
		-FI_EOPNOTSUPP);
	CHECK_FAILS(query((enum fi_collective_op)77, FI_UINT8, FI_NOOP, &attr));
	cl_close(&env);
}

/* Endpoints of a provider with collectives that were not asked for. */
static void without_the_capability(void)
{
	struct cf_options options = { .caps = FI_TAGGED };
	struct cf_env base;
	int32_t buf[4] = { 0 }, result[4];
	struct fid_ep *ep;

	cf_open_pair(&base, &options);
	CHECK_EQ(base.info->caps & FI_COLLECTIVE, 0);
	CHECK_EQ(base.info->tx_attr->caps & FI_COLLECTIVE, 0);
	CHECK_EQ(base.info->rx_attr->caps & FI_COLLECTIVE, 0);
	ep = base.side[0].ep;
	CHECK_EQ(fi_barrier(ep, 0, NULL), -FI_ENOSYS);
	CHECK_EQ(fi_barrier2(ep, 0, FI_COMPLETION, NULL), -FI_ENOSYS);
	CHECK_EQ(fi_broadcast(ep, buf, 1, NULL, 0, 0, FI_INT32, 0, NULL), -FI_ENOSYS);
	CHECK_EQ(fi_allreduce(
			 ep, buf, 1, NULL, result, NULL, 0, FI_INT32, FI_SUM, 0, NULL),
		-FI_ENOSYS);
	CHECK_EQ(fi_alltoall(ep, buf, 1, NULL, result, NULL, 0, FI_INT32, 0, NULL),
		-FI_ENOSYS);
	cf_close(&base);
}

static void the_capability(void)
{
	struct cf_options options = { .caps = FI_COLLECTIVE };
	struct cf_env base;

	cf_open_domain(&base, &options);
	CHECK(base.info->caps & FI_COLLECTIVE);
	CHECK(base.info->tx_attr->caps & FI_COLLECTIVE);
	CHECK(base.info->rx_attr->caps & FI_COLLECTIVE);
	cf_close(&base);
}

/* Receives of collectives cannot be told from those of other endpoints there. */
static void a_shared_receive_context(void)
{
	struct cf_options options = { .caps = FI_TAGGED | FI_COLLECTIVE,
		.shared_rx = true,
		.not_enabled = true };
	struct cf_env base;

	cf_need_connectionless();
	if (!cf_offers(&options))
		SKIP("collectives with a shared receive context are not offered");
	cf_open_pair(&base, &options);
	CHECK_EQ(fi_enable(base.side[0].ep), -FI_EINVAL);
	cf_close(&base);
}

/* Nothing else does collectives for the providers of messages. */
static void without_an_engine(void)
{
	struct fi_info *hints, *info;

	if (getenv("FI_PROVIDER"))
		cf_skip("the run has a filter of its own");
	CHECK_OK(setenv("FI_PROVIDER", "^off_coll", 1));
	hints = cf_hints();
	hints->caps = FI_COLLECTIVE;
	CHECK_EQ(cf_getinfo(cf_target.version, hints, &info), -FI_ENODATA);
	hints->caps = 0;
	CHECK_OK(cf_getinfo(cf_target.version, hints, &info));
	fi_freeinfo(info);
	fi_freeinfo(hints);
}

CF_SUITE(coll_refuse,
	CF_CASE(groups_that_are_not_there, "COL-005 COL-016", FI_COLLECTIVE),
	CF_CASE(roots_that_are_not_there, "COL-007", FI_COLLECTIVE),
	CF_CASE(types_and_operations, "COL-009", FI_COLLECTIVE),
	CF_CASE(a_refusal_has_a_reason, "COL-009 COL-011", FI_COLLECTIVE),
	CF_CASE(memory_of_devices, "COL-015", FI_COLLECTIVE),
	CF_CASE(descriptors_are_not_needed, "COL-015", FI_COLLECTIVE),
	CF_CASE(too_many_elements, "COL-014", FI_COLLECTIVE),
	CF_CASE(a_group_that_is_not_joined, "COL-003", FI_COLLECTIVE),
	CF_CASE(as_many_as_fit, "COL-014", FI_COLLECTIVE),
	CF_CASE(messages_that_make_no_sense, "COL-014", FI_COLLECTIVE),
	CF_CASE(what_is_possible, "COL-011 COL-013", FI_COLLECTIVE),
	CF_CASE(questions_that_are_refused, "COL-011", FI_COLLECTIVE),
	CF_CASE(without_the_capability, "COL-015", FI_COLLECTIVE),
	CF_CASE(the_capability, "COL-015", FI_COLLECTIVE),
	CF_CASE(a_shared_receive_context, "COL-015", FI_COLLECTIVE),
	CF_CASE(without_an_engine, "COL-015", 0));
