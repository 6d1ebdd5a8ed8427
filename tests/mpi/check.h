/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_MPI_CHECK_H
#define TESTS_MPI_CHECK_H

#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int rank, ranks;

#define CHECK(cond)                                                                    \
	do {                                                                           \
		if (!(cond)) {                                                         \
			fprintf(stderr, "rank %d: %s:%d: %s\n", rank, __FILE__,        \
				__LINE__, #cond);                                      \
			MPI_Abort(MPI_COMM_WORLD, 1);                                  \
		}                                                                      \
	} while (0)

static inline void *xcalloc(size_t count, size_t size)
{
	void *p = calloc(count ? count : 1, size);

	CHECK(p);
	return p;
}

static inline void begin(int *argc, char ***argv)
{
	MPI_Init(argc, argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &rank);
	MPI_Comm_size(MPI_COMM_WORLD, &ranks);
}

static inline int end(const char *name)
{
	MPI_Barrier(MPI_COMM_WORLD);
	if (rank == 0)
		printf("%s: %d ranks passed\n", name, ranks);
	MPI_Finalize();
	return 0;
}

/* Element @i of a message from @from with number @seed. */
static inline int pattern(int from, int seed, size_t i)
{
	return from * 1000003 + seed * 7919 + (int)(i * 31 % 65521);
}

static inline void fill(int *buf, size_t count, int from, int seed)
{
	for (size_t i = 0; i < count; i++)
		buf[i] = pattern(from, seed, i);
}

static inline void verify(const int *buf, size_t count, int from, int seed)
{
	for (size_t i = 0; i < count; i++)
		CHECK(buf[i] == pattern(from, seed, i));
}

#endif
