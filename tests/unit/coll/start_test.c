/* SPDX-License-Identifier: BSD-2-Clause */
#include "params.h"

#include <rdma/fi_collective.h>
#include <rdma/fi_errno.h>

#include "providers/coll/calls.h"
#include "providers/coll/engine.h"
#include "providers/coll/exec.h"

/* The checks of collective calls, and what engines are asked to do (start.c). The test
 * is the engine. */

enum { ROOT_RANK = 1, NO_MEMBER = 99 };

/* ---- memory ---- */

static unsigned int allocations_left = UINT32_MAX;

#define VISIBLE __attribute__((visibility("default")))

VISIBLE void *__wrap_malloc(size_t len);
VISIBLE void *__wrap_calloc(size_t count, size_t len);
void *__real_malloc(size_t len);
void *__real_calloc(size_t count, size_t len);

static bool may_allocate(void)
{
	return allocations_left && allocations_left--;
}

void *__wrap_malloc(size_t len)
{
	return may_allocate() ? __real_malloc(len) : NULL;
}

void *__wrap_calloc(size_t count, size_t len)
{
	return may_allocate() ? __real_calloc(count, len) : NULL;
}

/* ---- the rest of the provider ---- */

static struct coll_ep ep;
static struct coll_group group;
static bool takes_fast_path;
static struct {
	unsigned int count;
	struct coll_args args;
	struct coll_staging *stage;
	ssize_t ret;
} started;

struct coll_group *coll_group_at(const struct coll_ep *at, fi_addr_t addr)
{
	assert_ptr_equal(at, &ep);
	return addr == 7 ? &group : NULL;
}

/* A member's address is 10 more than its rank. */
uint32_t coll_group_rank(const struct coll_group *at, fi_addr_t addr)
{
	return addr >= 10 && addr < 10 + at->members ? (uint32_t)addr - 10
						     : at->members;
}

bool coll_engine_fast_path(struct coll_group *at, const struct coll_call *call)
{
	assert_ptr_equal(at, &group);
	(void)call;
	return takes_fast_path;
}

ssize_t coll_engine_start(struct coll_group *at, const struct coll_args *args,
	struct coll_staging *stage, const struct coll_call *call)
{
	assert_ptr_equal(at, &group);
	(void)call;
	started.count++;
	started.args = *args;
	started.stage = stage;
	return started.ret;
}

void coll_ep_unlock(struct coll_ep *at)
{
	wf_unlock(&at->ep.lock);
}

/* ---- calls ---- */

static int64_t in[64], out[64];

static int open_group(void **state)
{
	memset(&ep, 0, sizeof(ep));
	memset(&group, 0, sizeof(group));
	memset(&started, 0, sizeof(started));
	takes_fast_path = false;
	allocations_left = UINT32_MAX;
	wf_lock_init(&ep.ep.lock, WF_LOCK_MUTEX);
	group.state = COLL_OPEN;
	group.members = 3;
	group.rank = ROOT_RANK;
	for (int i = 0; i < 64; i++) {
		in[i] = 100 + i;
		out[i] = 0;
	}
	return 0;
}

static struct coll_call call_of(enum fi_collective_op kind)
{
	return (struct coll_call){ .kind = kind,
		.datatype = FI_INT64,
		.op = FI_SUM,
		.count = 4,
		.buf = in,
		.result = out,
		.coll_addr = 7,
		.root_addr = 10 + ROOT_RANK };
}

/* The engine owns what is used instead of vectors, if it started the operation. */
static int start(const struct coll_call *call)
{
	ssize_t ret;

	started.count = 0;
	started.stage = NULL;
	ret = coll_start(&ep, call);
	/* Nothing is locked afterwards, whatever came. */
	assert_true(wf_trylock(&ep.ep.lock));
	wf_unlock(&ep.ep.lock);
	assert_int_equal(started.count, !ret && !takes_fast_path);
	return (int)ret;
}

static const enum fi_collective_op kinds[] = { FI_BARRIER, FI_BROADCAST, FI_ALLTOALL,
	FI_ALLREDUCE, FI_ALLGATHER, FI_REDUCE_SCATTER, FI_REDUCE, FI_SCATTER,
	FI_GATHER };

static bool has_root(enum fi_collective_op kind)
{
	return kind == FI_BROADCAST || kind == FI_REDUCE || kind == FI_SCATTER ||
	       kind == FI_GATHER;
}

static bool reduces(enum fi_collective_op kind)
{
	return kind == FI_ALLREDUCE || kind == FI_REDUCE_SCATTER || kind == FI_REDUCE;
}

/* Does a member, the root or another one, have the buffer? */
static bool has_buf(enum fi_collective_op kind, bool is_root)
{
	return kind != FI_BARRIER && (kind != FI_SCATTER || is_root);
}

static bool has_result(enum fi_collective_op kind, bool is_root)
{
	return kind != FI_BARRIER &&
	       ((kind != FI_REDUCE && kind != FI_GATHER) || is_root);
}

static void groups_are_in_a_state(void **state)
{
	struct coll_call call = call_of(FI_ALLREDUCE);

	call.coll_addr = 8;
	assert_int_equal(start(&call), -FI_EINVAL);
	call.coll_addr = 7;
	group.state = COLL_JOINING;
	assert_int_equal(start(&call), -FI_EOPBADSTATE);
	group.state = COLL_FAILED;
	group.err = -FI_ECONNRESET;
	assert_int_equal(start(&call), -FI_ECONNRESET);
	group.state = COLL_OPEN;
	group.in_flight = COLL_OPS_MAX;
	assert_int_equal(start(&call), -FI_EAGAIN);
	group.in_flight = COLL_OPS_MAX - 1;
	assert_int_equal(start(&call), 0);
	takes_fast_path = true;
	assert_int_equal(start(&call), 0);
}

/* What the engine refuses is the result of the call. */
static void the_engine_refuses(void **state)
{
	struct coll_call call = call_of(FI_ALLREDUCE);

	started.ret = -FI_ENOMEM;
	assert_int_equal(coll_start(&ep, &call), -FI_ENOMEM);
	assert_int_equal(started.count, 1);
}

static void the_engine_gets_the_call(void **state)
{
	static const uint32_t members[] = { 1, 2, 3, 5, 8 };

	for (size_t i = 0; i < WF_ARRAY_SIZE(kinds) * WF_ARRAY_SIZE(members); i++) {
		enum fi_collective_op kind = kinds[i % WF_ARRAY_SIZE(kinds)];

		group.members = members[i / WF_ARRAY_SIZE(kinds)];
		for (uint32_t root = 0; root < group.members; root++) {
			struct coll_call call = call_of(kind);
			bool is_root;

			group.rank = group.members - 1;
			call.root_addr = 10 + root;
			is_root = group.rank == root;
			assert_int_equal(start(&call), 0);
			assert_null(started.stage);
			assert_int_equal(started.args.kind, kind);
			assert_int_equal(started.args.count, 4);
			assert_int_equal(started.args.members, group.members);
			assert_int_equal(started.args.rank, group.rank);
			assert_int_equal(started.args.datatype, FI_INT64);
			assert_int_equal(started.args.op, FI_SUM);
			if (kind == FI_BARRIER)
				continue;
			assert_int_equal(started.args.size, 8);
			assert_int_equal(started.args.root, has_root(kind) ? root : 0);
			/* What a member does not have is not used. */
			assert_ptr_equal(
				started.args.buf, has_buf(kind, is_root) ? in : NULL);
			assert_ptr_equal(started.args.result,
				has_result(kind, is_root) ? out : NULL);
		}
	}
}

static void roots_are_members(void **state)
{
	for (size_t i = 0; i < WF_ARRAY_SIZE(kinds); i++) {
		struct coll_call call = call_of(kinds[i]);

		call.root_addr = NO_MEMBER;
		assert_int_equal(start(&call), has_root(kinds[i]) ? -FI_EINVAL : 0);
	}
}

/* Buffers that a member has are there, unless there are no elements. */
static void buffers_are_there(void **state)
{
	for (size_t i = 0; i < 4 * WF_ARRAY_SIZE(kinds); i++) {
		enum fi_collective_op kind = kinds[i / 4];
		struct coll_call call = call_of(kind);
		bool is_root = i & 1, lacks_buf = i & 2;
		bool needed =
			lacks_buf ? has_buf(kind, is_root) : has_result(kind, is_root);

		group.rank = is_root ? ROOT_RANK : ROOT_RANK + 1;
		if (lacks_buf)
			call.buf = NULL;
		else
			call.result = NULL;
		assert_int_equal(start(&call), needed ? -FI_EINVAL : 0);
		call.count = 0;
		assert_int_equal(start(&call), 0);
		assert_int_equal(started.args.count, 0);
	}
}

/* Every datatype, and every operation with it. */
static void types_and_operations_are_possible_or_not(void **state)
{
	for (size_t i = 0; i < WF_ARRAY_SIZE(kinds); i++) {
		for (int type = -1; type <= DATATYPES + 1; type++) {
			struct coll_call call = call_of(kinds[i]);
			size_t size =
				type >= 0 ? coll_type_size((enum fi_datatype)type) : 0;
			bool possible = size || kinds[i] == FI_BARRIER;

			call.count = 1;
			call.datatype = (enum fi_datatype)type;
			if (!reduces(kinds[i])) {
				assert_int_equal(
					start(&call), possible ? 0 : -FI_EOPNOTSUPP);
				if (size && possible && kinds[i] != FI_BARRIER)
					assert_int_equal(started.args.size, size);
				continue;
			}
			for (int op = 0; op < FI_ATOMIC_OP_LAST; op++) {
				call.op = (enum fi_op)op;
				assert_int_equal(start(&call),
					size && coll_reduce(call.datatype, call.op)
						? 0
						: -FI_EOPNOTSUPP);
			}
		}
	}
}

/* The bytes of all members' elements are a size. */
static void counts_are_limited(void **state)
{
	for (size_t i = 0; i < WF_ARRAY_SIZE(kinds); i++) {
		struct coll_call call = call_of(kinds[i]);

		for (uint32_t members = 1; members <= 5; members++) {
			group.members = members;
			group.rank = 0;
			call.root_addr = 10;
			call.count = SIZE_MAX / members / 8;
			assert_int_equal(start(&call), 0);
			call.count++;
			assert_int_equal(start(&call),
				kinds[i] == FI_BARRIER ? 0 : -FI_EMSGSIZE);
			call.count = SIZE_MAX;
			assert_int_equal(start(&call),
				kinds[i] == FI_BARRIER ? 0 : -FI_EMSGSIZE);
		}
	}
}

/* ---- vectors ---- */

static struct fi_ioc bufv[3], resultv[3];

static size_t fill(struct fi_ioc *ioc, int64_t *at, size_t a, size_t b, size_t c)
{
	const size_t count[] = { a, b, c };
	size_t skip = 0;

	/* With a gap of two elements after each. */
	for (int i = 0; i < 3; i++) {
		ioc[i] = (struct fi_ioc){ .addr = at + skip, .count = count[i] };
		skip += count[i] + 2;
	}
	return a + b + c;
}

static struct coll_call vectors_of(
	enum fi_collective_op kind, size_t buf_count, size_t result_count)
{
	struct coll_call call = call_of(kind);

	call.buf = call.result = NULL;
	call.count = 0;
	call.bufv = bufv;
	call.buf_count = buf_count;
	call.resultv = kind == FI_BROADCAST ? NULL : resultv;
	call.result_count = kind == FI_BROADCAST ? 0 : result_count;
	return call;
}

/* The elements of a vector are together for the engine, and the result is put into its
 * vector at the end. */
static void vectors_are_gathered_and_scattered(void **state)
{
	struct coll_call call = vectors_of(FI_ALLREDUCE, 3, 3);
	static const int64_t want[] = { 100, 101, 104, 107, 108, 109 };

	(void)fill(bufv, in, 2, 1, 3);
	(void)fill(resultv, out, 1, 0, 5);
	assert_int_equal(start(&call), 0);
	assert_int_equal(started.args.count, 6);
	assert_memory_equal(started.args.buf, want, sizeof(want));
	assert_non_null(started.stage);
	/* The vectors are the application's again after the call. */
	memset(bufv, 0, sizeof(bufv));
	memset(resultv, 0, sizeof(resultv));
	memcpy(started.args.result, want, sizeof(want));
	coll_stage_finish(started.stage);
	assert_int_equal(out[0], 100);
	assert_int_equal(out[1] + out[2] + out[3] + out[4], 0);
	assert_memory_equal(out + 5, want + 1, 5 * sizeof(*want));
	assert_int_equal(out[10], 0);
	coll_stage_free(started.stage);
}

/* A single piece is used as it is. */
static void single_pieces_are_not_copied(void **state)
{
	struct coll_call call = vectors_of(FI_ALLREDUCE, 1, 1);

	(void)fill(bufv, in, 6, 0, 0);
	(void)fill(resultv, out, 6, 0, 0);
	assert_int_equal(start(&call), 0);
	assert_null(started.stage);
	assert_ptr_equal(started.args.buf, in);
	assert_ptr_equal(started.args.result, out);
	assert_int_equal(started.args.count, 6);
	/* Only one of them is one. */
	call.buf_count = 2;
	assert_int_equal(start(&call), 0);
	assert_ptr_not_equal(started.args.buf, in);
	assert_ptr_equal(started.args.result, out);
	coll_stage_finish(started.stage);
	coll_stage_free(started.stage);
}

/* Of which buffer the count is that of each member. */
static void vectors_have_the_elements_of_all_members(void **state)
{
	static const struct {
		enum fi_collective_op kind;
		bool is_root;
		size_t buf, result; /* elements; with 3 members */
		int ret;
		size_t count;
	} rows[] = {
		{ FI_ALLTOALL, true, 6, 6, 0, 2 },
		{ FI_ALLTOALL, true, 7, 7, -FI_EINVAL, 0 },
		{ FI_ALLTOALL, true, 6, 5, -FI_EINVAL, 0 },
		{ FI_ALLREDUCE, true, 5, 5, 0, 5 },
		{ FI_ALLREDUCE, true, 5, 6, -FI_EINVAL, 0 },
		{ FI_ALLGATHER, true, 2, 6, 0, 2 },
		{ FI_ALLGATHER, true, 2, 2, -FI_EINVAL, 0 },
		{ FI_REDUCE_SCATTER, true, 6, 2, 0, 2 },
		{ FI_REDUCE_SCATTER, true, 6, 6, -FI_EINVAL, 0 },
		{ FI_REDUCE_SCATTER, true, 5, 2, -FI_EINVAL, 0 },
		{ FI_REDUCE, true, 4, 4, 0, 4 },
		{ FI_REDUCE, true, 4, 3, -FI_EINVAL, 0 },
		{ FI_REDUCE, false, 4, 3, 0, 4 },
		{ FI_SCATTER, true, 6, 2, 0, 2 },
		{ FI_SCATTER, true, 6, 3, -FI_EINVAL, 0 },
		{ FI_SCATTER, true, 5, 2, -FI_EINVAL, 0 },
		{ FI_SCATTER, false, 5, 2, 0, 2 },
		{ FI_GATHER, true, 2, 6, 0, 2 },
		{ FI_GATHER, true, 2, 5, -FI_EINVAL, 0 },
		{ FI_GATHER, false, 2, 5, 0, 2 },
	};

	for (size_t i = 0; i < 2 * WF_ARRAY_SIZE(rows); i++) {
		size_t pieces = i & 1 ? 2 : 1;
		struct coll_call call = vectors_of(rows[i / 2].kind, pieces, pieces);

		group.rank = rows[i / 2].is_root ? ROOT_RANK : ROOT_RANK + 1;
		(void)fill(bufv, in, rows[i / 2].buf - (i & 1), i & 1, 0);
		(void)fill(resultv, out, rows[i / 2].result - (i & 1), i & 1, 0);
		assert_int_equal(start(&call), rows[i / 2].ret);
		if (!rows[i / 2].ret)
			assert_int_equal(started.args.count, rows[i / 2].count);
		coll_stage_free(started.stage);
	}
}

/* The vector of a broadcast is the result of all members but the root. */
static void the_vector_of_a_broadcast_is_its_result(void **state)
{
	static const int64_t want[] = { 100, 101, 104 };

	for (int is_root = 0; is_root < 2; is_root++) {
		struct coll_call call = vectors_of(FI_BROADCAST, 2, 0);

		group.rank = is_root ? ROOT_RANK : ROOT_RANK + 1;
		(void)fill(bufv, in, 2, 1, 0);
		assert_int_equal(start(&call), 0);
		assert_int_equal(started.args.count, 3);
		assert_ptr_equal(started.args.result, started.args.buf);
		assert_memory_equal(started.args.buf, want, sizeof(want));
		memset(started.args.result, 0, sizeof(want));
		coll_stage_finish(started.stage);
		coll_stage_free(started.stage);
		assert_int_equal(in[0], is_root ? 100 : 0);
		assert_int_equal(in[4], is_root ? 104 : 0);
		assert_int_equal(in[2], 102);
		(void)open_group(state);
	}
}

static void vectors_are_too_long(void **state)
{
	struct coll_call call = vectors_of(FI_ALLREDUCE, 2, 2);

	(void)fill(bufv, in, 1, 1, 0);
	bufv[0].count = SIZE_MAX;
	assert_int_equal(start(&call), -FI_EMSGSIZE);
	bufv[0].count = SIZE_MAX / 8;
	assert_int_equal(start(&call), -FI_EMSGSIZE);
	/* Of a member without a buffer, its result tells the count. */
	call = vectors_of(FI_SCATTER, 2, 2);
	group.rank = ROOT_RANK + 1;
	(void)fill(resultv, out, 1, 1, 0);
	resultv[1].count = SIZE_MAX;
	assert_int_equal(start(&call), -FI_EMSGSIZE);
}

/* No memory for what is used instead of vectors, at each step: nothing is left. */
static void there_is_no_memory(void **state)
{
	struct coll_call call = vectors_of(FI_ALLREDUCE, 2, 2);
	unsigned int count = 0;
	int ret;

	(void)fill(bufv, in, 1, 1, 0);
	(void)fill(resultv, out, 1, 1, 0);
	do {
		allocations_left = count++;
		ret = start(&call);
		assert_true(!ret || ret == -FI_ENOMEM);
	} while (ret);
	assert_int_equal(count, 5);
	coll_stage_free(started.stage);
	allocations_left = UINT32_MAX;
}

/* A piece without an address has no elements. */
static void pieces_have_addresses(void **state)
{
	struct coll_call call = vectors_of(FI_ALLREDUCE, 1, 1);

	(void)fill(bufv, in, 1, 0, 0);
	(void)fill(resultv, out, 1, 0, 0);
	bufv[0].addr = NULL;
	assert_int_equal(start(&call), -FI_EINVAL);
	bufv[0].count = resultv[0].count = 0;
	assert_int_equal(start(&call), 0);
}

#define CASE(name) cmocka_unit_test_setup(name, open_group)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CASE(groups_are_in_a_state),
		CASE(the_engine_refuses),
		CASE(the_engine_gets_the_call),
		CASE(roots_are_members),
		CASE(buffers_are_there),
		CASE(types_and_operations_are_possible_or_not),
		CASE(counts_are_limited),
		CASE(vectors_are_gathered_and_scattered),
		CASE(single_pieces_are_not_copied),
		CASE(vectors_have_the_elements_of_all_members),
		CASE(the_vector_of_a_broadcast_is_its_result),
		CASE(vectors_are_too_long),
		CASE(there_is_no_memory),
		CASE(pieces_have_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
