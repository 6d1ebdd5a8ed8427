/* SPDX-License-Identifier: BSD-2-Clause */
/* Every collective of MPI-3.1, results compared with what each rank can compute. */
#include "check.h"

static const int counts[] = { 0, 1, 7, 1000, 33333, 200000 };
enum { COUNTS = sizeof(counts) / sizeof(counts[0]) };

static int *in, *out; /* enough for all ranks and counts */

static void broadcast(int n, int root)
{
	fill(in, (size_t)n, rank == root ? root : -5, n);
	MPI_Bcast(in, n, MPI_INT, root, MPI_COMM_WORLD);
	verify(in, (size_t)n, root, n);
}

static void gathers(int n, int root)
{
	fill(out, (size_t)n, rank, n);
	MPI_Gather(out, n, MPI_INT, in, n, MPI_INT, root, MPI_COMM_WORLD);
	for (int r = 0; rank == root && r < ranks; r++)
		verify(in + r * n, (size_t)n, r, n);
	memset(in, 0, (size_t)(n * ranks) * 4);
	MPI_Allgather(out, n, MPI_INT, in, n, MPI_INT, MPI_COMM_WORLD);
	for (int r = 0; r < ranks; r++)
		verify(in + r * n, (size_t)n, r, n);
}

static void scatter(int n, int root)
{
	for (int r = 0; rank == root && r < ranks; r++)
		fill(out + r * n, (size_t)n, root * 100 + r, n);
	MPI_Scatter(out, n, MPI_INT, in, n, MPI_INT, root, MPI_COMM_WORLD);
	verify(in, (size_t)n, root * 100 + rank, n);
}

static void all_to_all(int n)
{
	for (int r = 0; r < ranks; r++)
		fill(out + r * n, (size_t)n, rank * 100 + r, n);
	memset(in, 0, (size_t)(n * ranks) * 4);
	MPI_Alltoall(out, n, MPI_INT, in, n, MPI_INT, MPI_COMM_WORLD);
	for (int r = 0; r < ranks; r++)
		verify(in + r * n, (size_t)n, r * 100 + rank, n);
}

/* Blocks of different lengths: rank r has n + r elements, or none. */
static void irregular(int n)
{
	int *lens = xcalloc((size_t)ranks, 4), *at = xcalloc((size_t)ranks, 4);
	int *same = xcalloc((size_t)ranks, 4), *places = xcalloc((size_t)ranks, 4);
	int total = 0;

	for (int r = 0; r < ranks; r++) {
		lens[r] = r % 3 == 1 ? 0 : n + r;
		at[r] = total;
		total += lens[r];
	}
	fill(out, (size_t)lens[rank], rank, n);
	MPI_Allgatherv(out, lens[rank], MPI_INT, in, lens, at, MPI_INT, MPI_COMM_WORLD);
	for (int r = 0; r < ranks; r++)
		verify(in + at[r], (size_t)lens[r], r, n);
	memset(in, 0, (size_t)total * 4);
	MPI_Gatherv(out, lens[rank], MPI_INT, in, lens, at, MPI_INT, 0, MPI_COMM_WORLD);
	for (int r = 0; rank == 0 && r < ranks; r++)
		verify(in + at[r], (size_t)lens[r], r, n);
	MPI_Scatterv(
		in, lens, at, MPI_INT, out, lens[rank], MPI_INT, 0, MPI_COMM_WORLD);
	verify(out, (size_t)lens[rank], rank, n);
	/* Everyone sends lens[to] to @to, so gets lens[rank] from each. */
	for (int r = 0; r < ranks; r++) {
		fill(out + at[r], (size_t)lens[r], rank * 100 + r, n);
		same[r] = lens[rank];
		places[r] = r * lens[rank];
	}
	MPI_Alltoallv(
		out, lens, at, MPI_INT, in, same, places, MPI_INT, MPI_COMM_WORLD);
	for (int r = 0; r < ranks; r++)
		verify(in + places[r], (size_t)lens[rank], r * 100 + rank, n);
	free(lens);
	free(at);
	free(same);
	free(places);
}

/* ---- reductions ---- */

static int value(int r, int i)
{
	return (r + 2) * (i % 13 + 1) + (i % 5) - 20;
}

static long expected(MPI_Op op, int last, int i)
{
	long result = value(0, i);

	for (int r = 1; r <= last; r++) {
		long v = value(r, i);

		if (op == MPI_SUM)
			result += v;
		else if (op == MPI_MAX)
			result = v > result ? v : result;
		else if (op == MPI_MIN)
			result = v < result ? v : result;
		else if (op == MPI_BXOR)
			result ^= v;
		else if (op == MPI_LAND)
			result = result && v;
		else
			CHECK(!"an operation that this test knows");
	}
	return op == MPI_LAND && last == 0 ? value(0, i) : result;
}

static void set_values(int n)
{
	for (int i = 0; i < n; i++)
		out[i] = value(rank, i);
}

static void reductions(int n, MPI_Op op, int root)
{
	int *part = xcalloc((size_t)ranks, 4);

	set_values(n);
	MPI_Allreduce(out, in, n, MPI_INT, op, MPI_COMM_WORLD);
	for (int i = 0; ranks > 1 && i < n; i++)
		CHECK(in[i] == expected(op, ranks - 1, i));
	memset(in, 0, (size_t)n * 4);
	MPI_Reduce(out, in, n, MPI_INT, op, root, MPI_COMM_WORLD);
	for (int i = 0; ranks > 1 && rank == root && i < n; i++)
		CHECK(in[i] == expected(op, ranks - 1, i));
	MPI_Scan(out, in, n, MPI_INT, op, MPI_COMM_WORLD);
	for (int i = 0; i < n && rank; i++)
		CHECK(in[i] == expected(op, rank, i));
	MPI_Exscan(out, in, n, MPI_INT, op, MPI_COMM_WORLD);
	for (int i = 0; i < n && rank > 1; i++)
		CHECK(in[i] == expected(op, rank - 1, i));
	/* Each rank keeps its share. */
	set_values(n * ranks);
	MPI_Reduce_scatter_block(out, in, n, MPI_INT, op, MPI_COMM_WORLD);
	for (int i = 0; ranks > 1 && i < n; i++)
		CHECK(in[i] == expected(op, ranks - 1, rank * n + i));
	for (int r = 0; r < ranks; r++)
		part[r] = n;
	MPI_Reduce_scatter(out, in, part, MPI_INT, op, MPI_COMM_WORLD);
	for (int i = 0; ranks > 1 && i < n; i++)
		CHECK(in[i] == expected(op, ranks - 1, rank * n + i));
	free(part);
}

static void other_types(void)
{
	struct {
		double value;
		int place;
	} mine = { 10.0 - rank, rank }, best;
	double x = 1.5 * (rank + 1), sum;
	long long product = rank + 1, all;

	MPI_Allreduce(&x, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
	CHECK(sum == 1.5 * ranks * (ranks + 1) / 2);
	MPI_Allreduce(&product, &all, 1, MPI_LONG_LONG, MPI_PROD, MPI_COMM_WORLD);
	for (int r = 1; r <= ranks; r++) {
		CHECK(all % r == 0);
		all /= r;
	}
	CHECK(all == 1);
	MPI_Allreduce(&mine, &best, 1, MPI_DOUBLE_INT, MPI_MINLOC, MPI_COMM_WORLD);
	CHECK(best.place == ranks - 1 && best.value == 10.0 - (ranks - 1));
}

/* Several at once, waited for out of order; and the communicators made from them. */
static void nonblocking(void)
{
	enum { AT_ONCE = 8, LEN = 2000 };
	MPI_Request requests[AT_ONCE + 1];
	int *send = xcalloc(AT_ONCE * LEN, 4), *sum = xcalloc(AT_ONCE * LEN, 4);
	MPI_Comm half;
	int total, one = 1, size;

	for (int k = 0; k < AT_ONCE; k++) {
		for (int i = 0; i < LEN; i++)
			send[k * LEN + i] = value(rank, i) + k;
		MPI_Iallreduce(send + k * LEN, sum + k * LEN, LEN, MPI_INT, MPI_SUM,
			MPI_COMM_WORLD, &requests[k]);
	}
	MPI_Ibarrier(MPI_COMM_WORLD, &requests[AT_ONCE]);
	for (int k = AT_ONCE; k >= 0; k--)
		MPI_Wait(&requests[k], MPI_STATUS_IGNORE);
	for (int k = 0; k < AT_ONCE; k++) {
		for (int i = 0; i < LEN; i++)
			CHECK(sum[k * LEN + i] ==
				expected(MPI_SUM, ranks - 1, i) + k * ranks);
	}
	MPI_Comm_split(MPI_COMM_WORLD, rank % 2, -rank, &half);
	MPI_Comm_size(half, &size);
	MPI_Allreduce(&one, &total, 1, MPI_INT, MPI_SUM, half);
	CHECK(total == size);
	MPI_Comm_free(&half);
	free(send);
	free(sum);
}

int main(int argc, char **argv)
{
	MPI_Op ops[] = { MPI_SUM, MPI_MAX, MPI_MIN, MPI_BXOR, MPI_LAND };

	begin(&argc, &argv);
	in = xcalloc((size_t)ranks * (200000 + 64), 4);
	out = xcalloc((size_t)ranks * (200000 + 64), 4);
	for (int c = 0; c < COUNTS; c++) {
		int n = counts[c];

		for (int root = 0; root < ranks; root++) {
			broadcast(n, root);
			gathers(n, root);
			scatter(n, root);
		}
		all_to_all(n);
		irregular(n);
		for (size_t o = 0; o < sizeof(ops) / sizeof(ops[0]); o++)
			reductions(n, ops[o], c % ranks);
		MPI_Barrier(MPI_COMM_WORLD);
	}
	other_types();
	nonblocking();
	free(in);
	free(out);
	return end("collectives");
}
