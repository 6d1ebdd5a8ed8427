/* SPDX-License-Identifier: BSD-2-Clause */
#include "node_fixture.h"

/* The intra-node engine: what a member does before the others have come. */

enum { MEMBERS = 3, LARGE = 512 << 10 };

static struct test_group group;
static struct test_list list;

/* One operation, which each member begins when the test starts it. */
static void open_group(enum fi_collective_op kind, size_t bytes, bool in_place)
{
	const struct am_type *type = test_type(FI_INT32);

	test_add(&list,
		&(struct cm_call){
			.kind = kind,
			.type = type,
			.op = FI_SUM,
			.count = bytes / type->size,
			.members = MEMBERS,
		},
		in_place);
	test_open(&group, MEMBERS, &list);
}

static void close_group(void)
{
	test_close(&group);
	test_list_free(&list);
}

/* Go on with the operation at the members where it has not ended. */
static void end_operation(void)
{
	uint32_t ended = 0;

	while (ended < MEMBERS) {
		ended = 0;
		for (uint32_t i = 0; i < MEMBERS; i++) {
			if (!group.member[i].at)
				assert_true(test_step(&group.member[i]) >= 0);
			ended += group.member[i].at != 0;
		}
	}
}

/* Where members share processors, the last one ends operations inside its call, as it
 * does elsewhere: the others have posted. */
static void the_last_member_has_no_need_to_wait(void **unused)
{
	static const struct {
		enum fi_collective_op kind;
		size_t bytes;
	} of[] = { { FI_BARRIER, 0 }, { FI_ALLREDUCE, 8 }, { FI_ALLREDUCE, 4096 },
		{ FI_ALLGATHER, 8 }, { FI_ALLTOALL, 400 } };

	(void)unused;
	for (size_t i = 0; i < 2 * WF_ARRAY_SIZE(of); i++) {
		open_group(of[i / 2].kind, of[i / 2].bytes, false);
		test_set_oversubscribed(&group, i % 2);
		assert_int_equal(test_step(&group.member[2]), 0);
		assert_int_equal(test_step(&group.member[1]), 0);
		assert_int_equal(test_step(&group.member[0]), 1);
		end_operation();
		close_group();
	}
}

/* The thread that runs all members does not yield for one of them. */
static void one_process_does_not_wait_in_calls(void **unused)
{
	(void)unused;
	open_group(FI_BARRIER, 0, false);
	for (uint32_t i = 0; i < MEMBERS; i++)
		assert_int_equal(group.member[i].node->call_yields, 0);
	end_operation();
	close_group();
}

/* A member that shares its processor takes what the root of a broadcast has sent. */
static void a_broadcast_that_is_there(void **unused)
{
	(void)unused;
	open_group(FI_BROADCAST, 8, false);
	test_set_oversubscribed(&group, true);
	for (uint32_t i = 0; i < MEMBERS; i++)
		assert_int_equal(test_step(&group.member[i]), 1);
	close_group();
}

/* Does the result of @m contain what member @from has for it? */
static bool has_part(const struct test_member *m, uint32_t from)
{
	size_t part = m->call.count * m->call.type->size;
	size_t at = m->call.kind == FI_ALLTOALL ? m->rank * part : 0;
	const struct test_member *source = &group.member[from];

	return !memcmp(m->result + from * part, source->buf + at, part);
}

/* Large data are copied from one member after the other as they come, from the member
 * itself at once. */
static void copies_without_waiting_for_all(void **unused)
{
	static const enum fi_collective_op kinds[] = { FI_ALLGATHER, FI_ALLTOALL };
	struct test_member *m = group.member;

	(void)unused;
	for (size_t i = 0; i < WF_ARRAY_SIZE(kinds); i++) {
		open_group(kinds[i], LARGE, false);
		if (!m[0].node->may_read) {
			close_group();
			skip();
		}
		assert_int_equal(test_step(&m[0]), 0);
		assert_true(has_part(&m[0], 0));
		assert_int_equal(test_step(&m[1]), 0);
		for (int step = 0; step < 4; step++)
			assert_int_equal(test_step(&m[0]), 0);
		assert_true(has_part(&m[0], 1));
		end_operation();
		close_group();
	}
}

/* The result takes the place of the input, piece by piece, as others have read it. */
static void a_large_sum_in_place(void **unused)
{
	struct test_member *m = group.member;

	(void)unused;
	for (uint32_t first = 0; first < MEMBERS; first++) {
		open_group(FI_ALLREDUCE, LARGE, true);
		for (int step = 0; step < 20; step++)
			for (uint32_t i = 0; i < 2; i++)
				assert_int_equal(
					test_step(&m[(first + i) % MEMBERS]), 0);
		end_operation();
		close_group();
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_last_member_has_no_need_to_wait),
		cmocka_unit_test(one_process_does_not_wait_in_calls),
		cmocka_unit_test(a_broadcast_that_is_there),
		cmocka_unit_test(copies_without_waiting_for_all),
		cmocka_unit_test(a_large_sum_in_place),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
