/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The rows of coll_rows.h with an MPI library:
 *
 *   mpirun -n MEMBERS coll_mpi [OPERATION]
 */
#include <mpi.h>
#include <stdio.h>

#include "coll_rows.h"

static void call(struct coll_group *group, const struct coll_call *call)
{
	int count = (int)call->count;

	(void)group;
	switch (call->op) {
	case COLL_BARRIER:
		MPI_Barrier(MPI_COMM_WORLD);
		break;
	case COLL_ALLREDUCE:
		MPI_Allreduce(call->from, call->to, count, MPI_DOUBLE, MPI_SUM,
			MPI_COMM_WORLD);
		break;
	case COLL_BROADCAST:
		MPI_Bcast(call->to, count, MPI_DOUBLE, call->root, MPI_COMM_WORLD);
		break;
	case COLL_ALLTOALL:
		MPI_Alltoall(call->from, count, MPI_DOUBLE, call->to, count, MPI_DOUBLE,
			MPI_COMM_WORLD);
		break;
	case COLL_ALLGATHER:
		MPI_Allgather(call->from, count, MPI_DOUBLE, call->to, count,
			MPI_DOUBLE, MPI_COMM_WORLD);
		break;
	case COLL_REDUCE_BROADCAST:
		MPI_Reduce(call->from, call->to, count, MPI_DOUBLE, MPI_SUM, call->root,
			MPI_COMM_WORLD);
		MPI_Bcast(call->to, count, MPI_DOUBLE, call->root, MPI_COMM_WORLD);
		break;
	}
}

static double max(struct coll_group *group, double mine)
{
	double all;

	(void)group;
	MPI_Allreduce(&mine, &all, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	return all;
}

int main(int argc, char *argv[])
{
	struct coll_group group = { .call = call, .max = max };

	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &group.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &group.members);
	coll_rows(&group, argc > 1 ? argv[1] : NULL, true);
	MPI_Finalize();
	return 0;
}
