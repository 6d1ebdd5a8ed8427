/* SPDX-License-Identifier: BSD-2-Clause */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "coll_rows.h"

static const char *const names[] = {
	[COLL_BARRIER] = "barrier",
	[COLL_ALLREDUCE] = "allreduce",
	[COLL_BROADCAST] = "broadcast",
	[COLL_ALLTOALL] = "alltoall",
	[COLL_ALLGATHER] = "allgather",
	[COLL_REDUCE_BROADCAST] = "reduce+broadcast",
};

enum { LINE = 64, BATCHES_MIN = 5, BATCHES_MAX = 100, BATCH_MAX = 20000 };

static const size_t sizes[] = { 8, 4096, 1048576 };

/* Buffers of all members together, for each direction: more than any cache holds. */
static const size_t out_of_caches = (size_t)128 << 20;

/* Long enough for the clock, short enough that not every batch is disturbed. */
static const double batch_ns = 1e6, row_ns = 1e8;

/* The buffers of one direction, @count of them, @stride bytes apart. */
struct pool {
	char *memory;
	size_t stride, count, len;
};

struct row {
	enum coll_op op;
	size_t bytes;
	struct pool from, to;
	uint64_t iteration;
};

static uint64_t now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* New pages, as in fi_bench: the time of large copies depends on what the pages of a
 * heap were used for before, and Open MPI keeps its heap. */
static struct pool pool_of(const struct coll_group *group, size_t bytes)
{
	struct pool pool = { .stride = (bytes / LINE + 1) * LINE };
	size_t doubles;

	pool.count = out_of_caches / (size_t)group->members / pool.stride;
	if (pool.count < 2)
		pool.count = 2;
	pool.len = pool.count * pool.stride;
	pool.memory = mmap(NULL, pool.len, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pool.memory == MAP_FAILED) {
		fprintf(stderr, "no memory for buffers\n");
		exit(1);
	}
	doubles = pool.len / sizeof(double);
	for (size_t i = 0; i < doubles; i++)
		((double *)(void *)pool.memory)[i] = 1.0;
	return pool;
}

static double *pool_at(const struct pool *pool, uint64_t iteration)
{
	return (double *)(void *)(pool->memory +
				  iteration % pool->count * pool->stride);
}

/* Bytes of a member's buffer in one direction. */
static size_t row_extent(
	const struct coll_group *group, enum coll_op op, bool result, size_t bytes)
{
	bool of_all = op == COLL_ALLTOALL || (op == COLL_ALLGATHER && result);

	return bytes * (of_all ? (size_t)group->members : 1);
}

/* Time of one operation in a batch of @count, ns. */
static double row_batch(struct coll_group *group, struct row *row, size_t count)
{
	uint64_t start;

	(void)group->max(group, 0);
	start = now_ns();
	for (size_t i = 0; i < count; i++, row->iteration++) {
		struct coll_call call = { .op = row->op,
			.count = row->bytes / sizeof(double),
			.from = pool_at(&row->from, row->iteration),
			.to = pool_at(&row->to, row->iteration),
			.root = (int)(row->iteration % (uint64_t)group->members) };

		group->call(group, &call);
	}
	return group->max(group, (double)(now_ns() - start)) / (double)count;
}

/* Operations of a batch; warms up connections and buffers, too. */
static size_t row_batch_size(struct coll_group *group, struct row *row)
{
	size_t count = 1;

	while (count < BATCH_MAX &&
		row_batch(group, row, count) * (double)count < batch_ns)
		count *= 2;
	return count;
}

static void row_time(struct coll_group *group, struct row *row)
{
	size_t count = row_batch_size(group, row), n = 0;
	double ns[BATCHES_MAX], spent = 0;

	while (n < BATCHES_MIN || (n < BATCHES_MAX && spent < row_ns)) {
		ns[n] = row_batch(group, row, count);
		spent += ns[n++] * (double)count;
	}
	qsort(ns, n, sizeof(*ns), compare);
	if (!group->rank) {
		printf("%s %zu %.1f %.1f\n", names[row->op], row->bytes, ns[0],
			ns[n / 2]);
		fflush(stdout);
	}
}

static void row_run(struct coll_group *group, enum coll_op op, size_t bytes)
{
	struct row row = { .op = op, .bytes = bytes };

	row.from = pool_of(group, row_extent(group, op, false, bytes));
	row.to = pool_of(group, row_extent(group, op, true, bytes));
	row_time(group, &row);
	munmap(row.from.memory, row.from.len);
	munmap(row.to.memory, row.to.len);
}

void coll_rows(struct coll_group *group, const char *only, bool composed)
{
	for (int op = 0; op <= COLL_REDUCE_BROADCAST; op++) {
		if ((only && strcmp(only, names[op])) ||
			(op == COLL_REDUCE_BROADCAST && !composed))
			continue;
		if (op == COLL_BARRIER) {
			row_run(group, op, 0);
			continue;
		}
		for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
			row_run(group, op, sizes[i]);
	}
}
