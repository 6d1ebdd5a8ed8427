/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rows of coll_rows.h on the intra-node engine of collectives alone, without a
 * provider:
 *
 *   coll_node MEMBERS [OPERATION]
 *
 * Members are processes; each has a core of its own where there are enough of them.
 */
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "coll_rows.h"
#include "pair.h"
#include "providers/coll/node/node.h"

struct board {
	atomic_int written, attached;
	struct coll_node_card card[COLL_NODE_MEMBERS_MAX];
};

static void run(struct coll_group *group, struct coll_args *args)
{
	struct coll_node *node = group->library;
	int ret;

	args->size = sizeof(double);
	args->datatype = FI_DOUBLE;
	args->rank = (uint32_t)group->rank;
	args->members = (uint32_t)group->members;
	ret = coll_node_start(node, args);
	while (!ret)
		ret = coll_node_progress(node);
	if (ret < 0) {
		errno = -ret;
		pair_fail("collective");
	}
}

static void one_call(struct coll_group *group, const struct coll_call *call)
{
	static const enum fi_collective_op kinds[] = {
		[COLL_BARRIER] = FI_BARRIER,
		[COLL_ALLREDUCE] = FI_ALLREDUCE,
		[COLL_BROADCAST] = FI_BROADCAST,
		[COLL_ALLTOALL] = FI_ALLTOALL,
		[COLL_ALLGATHER] = FI_ALLGATHER,
		[COLL_REDUCE_BROADCAST] = FI_REDUCE,
	};
	struct coll_args args = {
		.kind = kinds[call->op],
		.op = FI_SUM,
		.count = call->count,
		.buf = call->op == COLL_BROADCAST ? call->to : call->from,
		.result = call->to,
		.root = (uint32_t)call->root,
	};

	run(group, &args);
	if (call->op == COLL_REDUCE_BROADCAST) {
		args.kind = FI_BROADCAST;
		args.buf = call->to;
		run(group, &args);
	}
}

static double max(struct coll_group *group, double mine)
{
	double all;
	struct coll_args args = {
		.kind = FI_ALLREDUCE,
		.op = FI_MAX,
		.count = 1,
		.buf = &mine,
		.result = &all,
	};

	run(group, &args);
	return all;
}

static void join(struct coll_group *group, struct board *board)
{
	struct coll_node *node;

	if (coll_node_prepare(&node, &board->card[group->rank]))
		pair_fail("coll_node_prepare");
	board->written++;
	while (board->written < group->members)
		sched_yield();
	if (coll_node_attach(
		    node, board->card, (uint32_t)group->members, (uint32_t)group->rank))
		pair_fail("coll_node_attach");
	board->attached++;
	while (board->attached < group->members)
		sched_yield();
	coll_node_settled(node);
	group->library = node;
}

static void start_member(
	struct coll_group *group, struct board *board, const char *only)
{
	pid_t parent = getpid(), child = fork();

	if (child < 0)
		pair_fail("fork");
	if (child)
		return;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	if (group->members <= sysconf(_SC_NPROCESSORS_ONLN))
		pair_pin(group->rank);
	join(group, board);
	coll_rows(group, only, true);
	(void)max(group, 0); /* a member that leaves ends the operations of others */
	coll_node_close(group->library);
	exit(0);
}

int main(int argc, char **argv)
{
	struct coll_group group = { .call = one_call, .max = max };
	struct board *board;
	int status;

	group.members = argc > 1 ? atoi(argv[1]) : 0;
	if (group.members < 1 || group.members > COLL_NODE_MEMBERS_MAX) {
		fprintf(stderr, "usage: coll_node MEMBERS [OPERATION]\n");
		return 2;
	}
	board = mmap(NULL, sizeof(*board), PROT_READ | PROT_WRITE,
		MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (board == MAP_FAILED)
		pair_fail("mmap");
	for (group.rank = 0; group.rank < group.members; group.rank++)
		start_member(&group, board, argc > 2 ? argv[2] : NULL);
	/* The first failure ends all: the others die with this process. */
	while (wait(&status) > 0)
		if (status)
			return 1;
	return 0;
}
