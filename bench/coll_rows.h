/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_COLL_ROWS_H
#define BENCH_COLL_ROWS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * The timing of collectives, the same for every library. Each member of a group of
 * processes calls coll_rows; member 0 prints a line for each row,
 *
 *   NAME BYTES BEST MEDIAN
 *
 * the time of one operation in ns, in the best and in the median batch. The time of a
 * batch is that of the slowest member. Operations use one buffer after the other; all
 * buffers together are larger than the caches. Roots change with each operation, so
 * that a root cannot run ahead of the others.
 */
enum coll_op {
	COLL_BARRIER,
	COLL_ALLREDUCE,
	COLL_BROADCAST,
	COLL_ALLTOALL,
	COLL_ALLGATHER,
	COLL_REDUCE_BROADCAST, /* a reduce, then a broadcast */
};

/* One operation on @count doubles; BYTES of a row is the contribution of one member to,
 * or its result from, one other member. */
struct coll_call {
	enum coll_op op;
	size_t count;
	double *from, *to; /* a broadcast uses @to alone */
	int root;
};

struct coll_group {
	int rank, members;
	void *library;
	/* Make one operation and wait for its end. */
	void (*call)(struct coll_group *group, const struct coll_call *call);
	/* The greatest @mine of all members, at each of them. */
	double (*max)(struct coll_group *group, double mine);
};

/* The rows of operation @only; NULL: all. @composed: also COLL_REDUCE_BROADCAST. */
void coll_rows(struct coll_group *group, const char *only, bool composed);

#endif
