/* SPDX-License-Identifier: BSD-2-Clause */
/* One-sided communication of MPI under each kind of synchronisation. */
#include "check.h"

enum { PART = 4096 };

static int *base;
static MPI_Win window;

/* Memory that MPI allocated for a window would be shared by the ranks of one host. */
static void open_window(void)
{
	base = xcalloc((size_t)ranks * PART, 4);
	MPI_Win_create(base, (MPI_Aint)ranks * PART * 4, 4, MPI_INFO_NULL,
		MPI_COMM_WORLD, &window);
	MPI_Barrier(MPI_COMM_WORLD);
}

static void close_window(void)
{
	MPI_Win_free(&window);
	free(base);
}

static void put_and_get_with_fences(void)
{
	int *mine = xcalloc(PART, 4), *theirs = xcalloc(PART, 4);

	open_window();
	fill(mine, PART, rank, 1);
	MPI_Win_fence(0, window);
	for (int r = 0; r < ranks; r++)
		MPI_Put(mine, PART, MPI_INT, r, (MPI_Aint)rank * PART, PART, MPI_INT,
			window);
	MPI_Win_fence(0, window);
	for (int r = 0; r < ranks; r++)
		verify(base + r * PART, PART, r, 1);
	for (int r = 0; r < ranks; r++) {
		MPI_Win_fence(0, window);
		MPI_Get(theirs, PART, MPI_INT, r, (MPI_Aint)((rank + r) % ranks) * PART,
			PART, MPI_INT, window);
		MPI_Win_fence(0, window);
		verify(theirs, PART, (rank + r) % ranks, 1);
	}
	close_window();
	free(mine);
	free(theirs);
}

/* Everyone adds to everyone: elements of the target are updated one by one. */
static void accumulate(void)
{
	enum { TIMES = 25 };
	int *ones = xcalloc(PART, 4);

	open_window();
	for (int i = 0; i < PART; i++)
		ones[i] = rank + 1;
	MPI_Win_fence(0, window);
	for (int t = 0; t < TIMES; t++) {
		for (int r = 0; r < ranks; r++)
			MPI_Accumulate(ones, PART, MPI_INT, r, 0, PART, MPI_INT,
				MPI_SUM, window);
	}
	MPI_Win_fence(0, window);
	for (int i = 0; i < PART; i++)
		CHECK(base[i] == TIMES * ranks * (ranks + 1) / 2);
	MPI_Win_fence(0, window);
	/* One of several wins. Open MPI's BTL has only this operation and the sum. */
	for (int r = 0; r < ranks; r++)
		MPI_Accumulate(
			ones, 10, MPI_INT, r, PART, 10, MPI_INT, MPI_REPLACE, window);
	MPI_Win_fence(0, window);
	for (int i = 0; ranks > 1 && i < 10; i++)
		CHECK(base[PART + i] >= 1 && base[PART + i] <= ranks);
	close_window();
	free(ones);
}

/* A counter that everyone fetches and adds to: each value is seen once. */
static void fetch_and_add(void)
{
	enum { TIMES = 100 };
	int *seen = xcalloc((size_t)ranks * TIMES, 4);
	int *all = xcalloc((size_t)ranks * TIMES, 4);
	int one = 1, old, expected = 7, swapped = 8;

	open_window();
	MPI_Win_lock_all(0, window);
	for (int t = 0; t < TIMES; t++) {
		MPI_Fetch_and_op(&one, &old, MPI_INT, 0, 0, MPI_SUM, window);
		MPI_Win_flush(0, window);
		CHECK(old >= 0 && old < ranks * TIMES);
		seen[old]++;
	}
	MPI_Win_unlock_all(window);
	MPI_Allreduce(seen, all, ranks * TIMES, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	for (int i = 0; i < ranks * TIMES; i++)
		CHECK(all[i] == 1);
	/* One of them swaps. */
	MPI_Win_lock_all(0, window);
	if (rank == 0) {
		MPI_Put(&expected, 1, MPI_INT, ranks - 1, 5, 1, MPI_INT, window);
		MPI_Win_flush(ranks - 1, window);
	}
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Compare_and_swap(&swapped, &expected, &old, MPI_INT, ranks - 1, 5, window);
	MPI_Win_flush(ranks - 1, window);
	one = old == 7;
	MPI_Win_unlock_all(window);
	MPI_Allreduce(&one, &old, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
	CHECK(old == 1);
	close_window();
	free(seen);
	free(all);
}

static void get_accumulate(void)
{
	int *add = xcalloc(PART, 4), *before = xcalloc(PART, 4);
	int to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;

	open_window();
	fill(base, PART, rank, 3);
	for (int i = 0; i < PART; i++)
		add[i] = i;
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, window);
	MPI_Get_accumulate(add, PART, MPI_INT, before, PART, MPI_INT, to, 0, PART,
		MPI_INT, MPI_SUM, window);
	MPI_Win_unlock(to, window);
	verify(before, PART, to, 3);
	MPI_Barrier(MPI_COMM_WORLD);
	MPI_Win_lock(MPI_LOCK_SHARED, rank, 0, window);
	for (int i = 0; i < PART; i++)
		CHECK(base[i] == pattern(rank, 3, (size_t)i) + i);
	MPI_Win_unlock(rank, window);
	(void)from;
	close_window();
	free(add);
	free(before);
}

/* Start, complete, post, wait: the neighbour writes. */
static void general_active_target(void)
{
	int to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
	int *mine = xcalloc(PART, 4);
	MPI_Group world, origins, targets;

	open_window();
	MPI_Comm_group(MPI_COMM_WORLD, &world);
	MPI_Group_incl(world, 1, &from, &origins);
	MPI_Group_incl(world, 1, &to, &targets);
	for (int round = 0; round < 10; round++) {
		fill(mine, PART, rank, round);
		MPI_Win_post(origins, 0, window);
		MPI_Win_start(targets, 0, window);
		MPI_Put(mine, PART, MPI_INT, to, 0, PART, MPI_INT, window);
		MPI_Win_complete(window);
		MPI_Win_wait(window);
		verify(base, PART, from, round);
	}
	MPI_Group_free(&world);
	MPI_Group_free(&origins);
	MPI_Group_free(&targets);
	close_window();
	free(mine);
}

int main(int argc, char **argv)
{
	begin(&argc, &argv);
	put_and_get_with_fences();
	accumulate();
	fetch_and_add();
	get_accumulate();
	general_active_target();
	return end("one_sided");
}
