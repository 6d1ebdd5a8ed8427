/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_COLL_NODE_FIXTURE_H
#define TESTS_UNIT_COLL_NODE_FIXTURE_H

#include "unit.h"

#include <sched.h>

#include "providers/coll/node/tree.h"
#include "../../model/coll_model.h"
#include "../../time_limits.h"

/*
 * Members that each run the same list of operations as fast as they can, and compare
 * the results with the model. The test decides how they run: in one thread alternately,
 * in a thread each, or in a process each.
 */
enum { TEST_MEMBERS_MAX = 33 };

struct test_list {
	struct cm_call *call;
	bool *in_place;
	size_t count;
};

struct test_member {
	struct coll_node *node;
	const struct test_list *list;
	uint32_t rank, members;
	size_t at; /* index of the operation in the list */
	bool busy;
	bool measures_on;      /* Measure how large data are copied, without a pause. */
	uint8_t *buf, *result; /* buffers of the current operation */
	struct cm_call call;
};

static inline bool test_has_in_place(enum fi_collective_op kind)
{
	return kind != FI_BARRIER && kind != FI_BROADCAST && kind != FI_SCATTER;
}

/* Bytes behind each buffer, which must not change. */
enum { TEST_GUARD = 64, TEST_GUARD_BYTE = 0xa5 };

static inline uint8_t *test_buf_new(size_t len)
{
	uint8_t *mem = malloc(len + TEST_GUARD);

	assert_non_null(mem);
	memset(mem, TEST_GUARD_BYTE, len + TEST_GUARD);
	return mem;
}

static inline void test_buf_free(uint8_t *mem, size_t len)
{
	for (size_t i = 0; mem && i < TEST_GUARD; i++)
		assert_int_equal(mem[len + i], TEST_GUARD_BYTE);
	free(mem);
}

static inline size_t test_result_len(const struct test_member *m)
{
	return cm_result_elems(&m->call, m->rank) * m->call.type->size;
}

static inline size_t test_buf_len(const struct test_member *m)
{
	return cm_buf_elems(&m->call, m->rank) * m->call.type->size;
}

/* In place: one buffer of the larger length, with the input at the position that args.h
 * defines. */
static inline void test_buffers(struct test_member *m, bool in_place)
{
	size_t buf = test_buf_len(m), result = test_result_len(m);
	size_t len = buf > result ? buf : result;
	uint8_t *in;

	if (m->call.kind == FI_BROADCAST) {
		m->buf = m->result = test_buf_new(buf);
		cm_fill(&m->call, m->rank, m->buf);
	} else if (in_place && result) {
		m->buf = m->result = in = test_buf_new(len);
		if (m->call.kind == FI_GATHER || m->call.kind == FI_ALLGATHER)
			in += m->rank * buf;
		cm_fill(&m->call, m->rank, in);
	} else {
		m->buf = buf ? test_buf_new(buf) : NULL;
		m->result = result ? test_buf_new(result) : NULL;
		if (buf)
			cm_fill(&m->call, m->rank, m->buf);
	}
}

/* Is the operation one of the fast path, and has the fast path completed it? */
static inline bool test_fast_path(struct test_member *m, const struct coll_args *args)
{
	struct coll_node_tiny tiny = { 0 };

	if (args->kind == FI_ALLREDUCE)
		tiny = (struct coll_node_tiny){
			.reduce = coll_reduce(args->datatype, args->op),
			.in = args->buf,
			.out = args->result,
			.count = args->count,
			.len = args->count * args->size,
		};
	if ((args->kind != FI_BARRIER && !tiny.len) || tiny.len > COLL_NODE_TINY)
		return false;
	return coll_node_fast_path(m->node, &tiny);
}

static inline int test_start(struct test_member *m)
{
	struct coll_args args;

	m->call = m->list->call[m->at];
	test_buffers(m, m->list->in_place[m->at]);
	args = (struct coll_args){
		.kind = m->call.kind,
		.datatype = m->call.type->datatype,
		.op = m->call.op,
		.count = m->call.kind == FI_BARRIER ? 0 : m->call.count,
		.size = m->call.type->size,
		.buf = m->buf,
		.result = m->result,
		/* Without a root the value means nothing. */
		.root = cm_has_root(m->call.kind) ? m->call.root : m->rank,
		.rank = m->rank,
		.members = m->members,
	};
	assert_true(coll_node_can(m->node, &args));
	m->busy = true;
	if (test_fast_path(m, &args))
		return 1;
	return coll_node_start(m->node, &args);
}

static inline void test_release(struct test_member *m)
{
	size_t buf = test_buf_len(m), result = test_result_len(m);

	if (m->buf == m->result) {
		test_buf_free(m->buf, buf > result ? buf : result);
	} else {
		test_buf_free(m->buf, buf);
		test_buf_free(m->result, result);
	}
	m->buf = m->result = NULL;
	m->busy = false;
}

static inline void test_check(struct test_member *m)
{
	size_t wrong = 0;

	if (m->call.kind == FI_BARRIER || !m->result)
		return;
	if (!cm_check(&m->call, m->rank, m->result, &wrong))
		fail_msg(
			"%s of %zu %s by op %d, member %u of %u, root %u, in place %d: "
			"element %zu",
			cm_kind_name(m->call.kind), m->call.count, m->call.type->name,
			m->call.op, m->rank, m->members, m->call.root,
			m->buf == m->result, wrong);
}

/* The next operation of each class ends the time for which a choice is valid. */
static inline void test_measure_on(struct test_member *m)
{
	for (size_t i = 0; i < COLL_COPY_CLASSES; i++)
		if (m->node->sample[i].phase == COLL_COPY_SETTLED)
			m->node->sample[i].count = UINT32_MAX / 2;
}

/* Continue with the list. Returns 1: an operation has ended, 0: not yet, or the
 * error. */
static inline int test_step(struct test_member *m)
{
	int ret = m->busy ? coll_node_progress(m->node) : test_start(m);

	if (ret == 1)
		test_check(m);
	if (m->measures_on)
		test_measure_on(m);
	if (ret) {
		test_release(m);
		m->at++;
	}
	return ret;
}

/* Run the whole list. 0 or the error. */
static inline int test_run(struct test_member *m)
{
	int ret;

	while (m->at < m->list->count) {
		ret = test_step(m);
		if (ret < 0)
			return ret;
	}
	return 0;
}

/* ---- lists ---- */

static inline void test_add(
	struct test_list *list, const struct cm_call *call, bool in_place)
{
	size_t n = list->count++;

	list->call = realloc(list->call, list->count * sizeof(*list->call));
	list->in_place = realloc(list->in_place, list->count * sizeof(bool));
	assert_true(list->call && list->in_place);
	list->call[n] = *call;
	list->call[n].seed = (uint32_t)n;
	list->in_place[n] = in_place && test_has_in_place(call->kind);
}

static inline void test_list_free(struct test_list *list)
{
	free(list->call);
	free(list->in_place);
	*list = (struct test_list){ 0 };
}

static inline const struct am_type *test_type(enum fi_datatype datatype)
{
	for (size_t i = 0; i < am_type_count; i++)
		if (am_types[i].datatype == datatype)
			return &am_types[i];
	fail();
	return NULL;
}

/* Add @count random operations with blocks of up to @bytes. */
static inline void test_add_random(struct test_list *list, uint32_t members,
	size_t count, size_t bytes, uint64_t *state)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t r = random_next(state);
		struct cm_call call = {
			.kind = (enum fi_collective_op)(r % (FI_GATHER + 1)),
			.type = &am_types[(r >> 8) % am_type_count],
			.op = FI_SUM,
			.members = members,
			.root = (uint32_t)(r >> 16) % members,
		};
		/* Small operations are the most frequent. */
		size_t most = (r >> 40) % 3 ? 128 : bytes;

		if (!cm_reduces(call.type, call.op))
			call.op = FI_MIN;
		call.count = random_next(state) % (most / call.type->size + 1);
		test_add(list, &call, r >> 50 & 1);
	}
}

/* ---- groups in one process ---- */

struct test_group {
	uint32_t members;
	struct test_member member[TEST_MEMBERS_MAX];
};

/* Groups that are opened from now on have trees of @degree. */
static inline void test_set_degree(size_t degree)
{
	coll_node_settings[COLL_NODE_DEGREE].value = degree;
}

static inline void test_open(
	struct test_group *group, uint32_t members, const struct test_list *list)
{
	struct coll_node_card card[TEST_MEMBERS_MAX];

	*group = (struct test_group){ .members = members };
	for (uint32_t i = 0; i < members; i++) {
		group->member[i] = (struct test_member){
			.list = list, .rank = i, .members = members
		};
		assert_int_equal(
			coll_node_prepare(&group->member[i].node, &card[i]), 0);
	}
	for (uint32_t i = 0; i < members; i++)
		assert_int_equal(
			coll_node_attach(group->member[i].node, card, members, i), 0);
	for (uint32_t i = 0; i < members; i++)
		coll_node_settled(group->member[i].node);
}

/* ThreadSanitizer learns nothing from members that take turns in one thread. */
static inline void test_skip_turns(void)
{
	if (THREAD_SANITIZER)
		skip();
}

/* Let members have too few processors, or enough, whatever this machine has. Members
 * with too few processors yield, which takes long if one thread runs all of them and
 * other processes use the processors. */
static inline void test_set_oversubscribed(
	struct test_group *group, bool is_oversubscribed)
{
	for (uint32_t i = 0; i < group->members; i++) {
		group->member[i].node->oversubscribed = is_oversubscribed;
		coll_tree_build(group->member[i].node);
	}
}

/* Forbid members to read each other's memory. */
static inline void test_forbid_reading(struct test_group *group)
{
	for (uint32_t i = 0; i < group->members; i++)
		group->member[i].node->may_read = false;
}

/*
 * Let members read each other's segments at the addresses at which their owners write
 * them, so that ThreadSanitizer sees both accesses at one address.
 */
static inline void test_use_one_mapping(struct test_group *group)
{
	for (uint32_t i = 0; i < group->members; i++)
		for (uint32_t j = 0; j < group->members; j++) {
			if (i == j)
				continue;
			coll_segment_unmap(group->member[i].node->segment[j]);
			group->member[i].node->segment[j] = group->member[j].node->own;
		}
}

/* To be called before test_close in this case. */
static inline void test_forget_mappings(struct test_group *group)
{
	for (uint32_t i = 0; i < group->members; i++)
		for (uint32_t j = 0; j < group->members; j++)
			if (i != j)
				group->member[i].node->segment[j] = NULL;
}

static inline void test_close(struct test_group *group)
{
	for (uint32_t i = 0; i < group->members; i++)
		coll_node_close(group->member[i].node);
}

/* Run the list in one thread, member after member. A member is skipped now and then, so
 * that others run ahead. */
static inline void test_run_in_turn(struct test_group *group, uint64_t *state)
{
	uint32_t ended = 0;
	bool over[TEST_MEMBERS_MAX] = { false };

	for (uint32_t i = 0; ended < group->members; i = (i + 1) % group->members) {
		struct test_member *m = &group->member[i];

		if (over[i] || random_next(state) % 4 == 0)
			continue;
		if (m->at < m->list->count)
			assert_in_range(test_step(m), 0, 1);
		if (m->at == m->list->count) {
			over[i] = true;
			ended++;
		}
	}
}

/* The same, and the group and the list are not used again. */
static inline void test_run_and_close(
	struct test_group *group, struct test_list *list, uint64_t *state)
{
	test_run_in_turn(group, state);
	test_close(group);
	test_list_free(list);
}

/* Groups that a case of random operations opens, and the number of members of each. */
static inline int test_mixes(void)
{
	return limit_amount() ? 6 : 20;
}

static inline uint32_t test_mix_members(uint64_t *state)
{
	return 2 + (uint32_t)(random_next(state) % 8);
}

#endif
