/* SPDX-License-Identifier: BSD-2-Clause */
#include "node_fixture.h"

#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* The intra-node engine with a process for each member: operations, and members that
 * leave or die. */

enum { PROCESSES_MAX = 4 };

struct board {
	atomic_uint written, attached, ended;
	struct coll_node_card card[PROCESSES_MAX];
};

struct processes {
	uint32_t members;
	struct board *board;
	pid_t pid[PROCESSES_MAX];
};

static struct board *new_board(void)
{
	struct board *board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	assert_true(board != MAP_FAILED);
	return board;
}

static void await(atomic_uint *count, uint32_t members)
{
	while (atomic_load(count) < members)
		(void)sched_yield();
}

static void join(struct test_member *m, struct board *board)
{
	if (m->members == PROCESSES_MAX)
		test_set_degree(2);
	assert_int_equal(coll_node_prepare(&m->node, &board->card[m->rank]), 0);
	atomic_fetch_add(&board->written, 1);
	await(&board->written, m->members);
	assert_int_equal(
		coll_node_attach(m->node, board->card, m->members, m->rank), 0);
	atomic_fetch_add(&board->attached, 1);
	await(&board->attached, m->members);
	coll_node_settled(m->node);
	/* Processes yield in their calls, whatever number of processors there is. */
	assert_true(m->node->call_yields > 0);
	if (m->members % 2)
		m->node->oversubscribed = true;
}

/* Start a process for each member, which exits with the result of @run. A failed
 * assertion ends it by a signal (CMOCKA_TEST_ABORT), a hang by another one. */
static void start(struct processes *p, uint32_t members, const struct test_list *list,
	int (*run)(struct test_member *m))
{
	*p = (struct processes){ .members = members, .board = new_board() };
	for (uint32_t i = 0; i < members; i++) {
		struct test_member m = { .list = list, .rank = i, .members = members };

		p->pid[i] = fork();
		assert_true(p->pid[i] >= 0);
		if (p->pid[i])
			continue;
		(void)setenv("CMOCKA_TEST_ABORT", "1", 1);
		(void)alarm(limit_s(60));
		join(&m, p->board);
		_exit(run(&m));
	}
}

static void check_exit(pid_t pid, int wanted)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFEXITED(status));
	assert_int_equal(WEXITSTATUS(status), wanted);
}

static void end(struct processes *p)
{
	(void)munmap(p->board, sizeof(*p->board));
}

static int run_list(struct test_member *m)
{
	int ret = test_run(m);

	coll_node_close(m->node);
	return -ret;
}

static void members_in_processes(void **unused)
{
	uint64_t state = 1;

	(void)unused;
	for (uint32_t n = 2; n <= PROCESSES_MAX; n++) {
		struct test_list list = { 0 };
		struct processes p;

		test_add_random(&list, n, limit_amount() ? 100 : 500, 300000, &state);
		start(&p, n, &list, run_list);
		for (uint32_t i = 0; i < n; i++)
			check_exit(p.pid[i], 0);
		end(&p);
		test_list_free(&list);
	}
}

/* Run the list again and again until it fails. */
static int run_until_error(struct test_member *m)
{
	int ret = 0;

	while (!ret) {
		m->at = 0;
		ret = test_run(m);
	}
	/* From now on all operations fail so. */
	m->at = 0;
	if (test_step(m) != ret)
		return 0;
	return -ret;
}

enum { GROUPS_AT_ONCE = 4 };

/* One member of each group is killed; those of all groups die at once, so that the
 * survivors wait together. */
static void kill_members(const struct test_list *list, uint32_t n, uint64_t *state)
{
	struct processes p[GROUPS_AT_ONCE];
	uint32_t victim[GROUPS_AT_ONCE];

	for (int g = 0; g < GROUPS_AT_ONCE; g++) {
		start(&p[g], n, list, run_until_error);
		victim[g] = (uint32_t)(random_next(state) % n);
	}
	for (int g = 0; g < GROUPS_AT_ONCE; g++)
		await(&p[g].board->attached, n);
	(void)usleep((useconds_t)(random_next(state) % 4000));
	for (int g = 0; g < GROUPS_AT_ONCE; g++)
		assert_int_equal(kill(p[g].pid[victim[g]], SIGKILL), 0);
	for (int g = 0; g < GROUPS_AT_ONCE; g++) {
		/* The dead member is waited for last: until then it is a zombie. */
		for (uint32_t i = 0; i < n; i++)
			if (i != victim[g])
				check_exit(p[g].pid[i], FI_ECONNRESET);
		assert_int_equal(
			waitpid(p[g].pid[victim[g]], NULL, 0), p[g].pid[victim[g]]);
		end(&p[g]);
	}
}

static void killed_at_any_time(void **unused)
{
	uint64_t state = 2;
	int rounds = (limit_amount() ? 20 : 200) / GROUPS_AT_ONCE;

	(void)unused;
	for (int i = 0; i < rounds; i++) {
		uint32_t n = 2 + (uint32_t)i % (PROCESSES_MAX - 1);
		struct test_list list = { 0 };

		test_add_random(&list, n, 50, 100000, &state);
		kill_members(&list, n, &state);
		test_list_free(&list);
	}
}

/* Operations in which no member waits for a leaf of the tree, until its slots are
 * needed again. */
static void killed_while_others_run_ahead(void **unused)
{
	static const enum fi_collective_op kinds[] = { FI_BROADCAST, FI_REDUCE };
	uint64_t state = 3;

	(void)unused;
	for (size_t i = 0; i < WF_ARRAY_SIZE(kinds); i++) {
		struct test_list list = { 0 };

		for (int k = 0; k < 4 * COLL_SLOTS; k++)
			test_add(&list,
				&(struct cm_call){
					.kind = kinds[i],
					.type = test_type(FI_INT32),
					.op = FI_SUM,
					.count = 2,
					.members = PROCESSES_MAX,
				},
				false);
		for (int round = 0; round < 3; round++)
			kill_members(&list, PROCESSES_MAX, &state);
		test_list_free(&list);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(members_in_processes),
		cmocka_unit_test(killed_at_any_time),
		cmocka_unit_test(killed_while_others_run_ahead),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
