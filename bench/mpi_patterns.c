/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What MPI programs do with messages, timed:
 *
 *   mpirun -n MEMBERS mpi_patterns PATTERN|all BYTES...
 *
 * Member 0 prints a line for each row,
 *
 *   PATTERN BYTES BEST MEDIAN FIRST
 *
 * the time of one operation in ns, in the best and in the median batch, and the mean of
 * the first operations of that pattern and size. The time of a batch is that of the
 * slowest member. Buffers are written before anything is measured, and used again and
 * again.
 */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	WINDOW = 16,
	STREAM = 64,      /* messages of one operation of stream */
	FIRST = 100,      /* operations of messages up to FIRST_BYTES */
	FIRST_LARGE = 10, /* of larger ones */
	FIRST_BYTES = 65536,
	BATCHES_MIN = 5,
	BATCHES_MAX = 100,
	BATCH_MAX = 20000,
	TAG = 1,
};

static const double batch_s = 1e-3, row_s = 0.1;

struct job {
	int rank, members, to, from; /* to and from: neighbours in a ring */
	int bytes;
	long iteration;
	char *out, *in; /* @in has WINDOW messages */
};

/* ---- the patterns ---- */

/* Members 0 and 1, 2 and 3, ...: one sends, the other answers. */
static void pingpong(struct job *job)
{
	int other = job->rank ^ 1;

	if (other >= job->members)
		return;
	if (job->rank < other)
		MPI_Send(job->out, job->bytes, MPI_CHAR, other, TAG, MPI_COMM_WORLD);
	MPI_Recv(job->in, job->bytes, MPI_CHAR, other, TAG, MPI_COMM_WORLD,
		MPI_STATUS_IGNORE);
	if (job->rank > other)
		MPI_Send(job->out, job->bytes, MPI_CHAR, other, TAG, MPI_COMM_WORLD);
}

static void exchange(struct job *job)
{
	MPI_Sendrecv(job->out, job->bytes, MPI_CHAR, job->to, TAG, job->in, job->bytes,
		MPI_CHAR, job->from, TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

static void burst(struct job *job)
{
	MPI_Request request[2 * WINDOW];

	for (int i = 0; i < WINDOW; i++)
		MPI_Irecv(job->in + (size_t)i * (size_t)job->bytes, job->bytes,
			MPI_CHAR, job->from, TAG, MPI_COMM_WORLD, &request[i]);
	for (int i = 0; i < WINDOW; i++)
		MPI_Isend(job->out, job->bytes, MPI_CHAR, job->to, TAG, MPI_COMM_WORLD,
			&request[WINDOW + i]);
	MPI_Waitall(2 * WINDOW, request, MPI_STATUSES_IGNORE);
}

/* Members 0 and 1, 2 and 3, ...: one sends STREAM messages, the other answers once, as
 * in osu_bw. */
static void stream(struct job *job)
{
	int other = job->rank ^ 1;
	MPI_Request request[STREAM];

	if (other >= job->members)
		return;
	for (int i = 0; i < STREAM; i++)
		if (job->rank < other)
			MPI_Isend(job->out, job->bytes, MPI_CHAR, other, TAG,
				MPI_COMM_WORLD, &request[i]);
		else
			MPI_Irecv(job->in + (size_t)(i % WINDOW) * (size_t)job->bytes,
				job->bytes, MPI_CHAR, other, TAG, MPI_COMM_WORLD,
				&request[i]);
	MPI_Waitall(STREAM, request, MPI_STATUSES_IGNORE);
	if (job->rank < other)
		MPI_Recv(NULL, 0, MPI_CHAR, other, TAG, MPI_COMM_WORLD,
			MPI_STATUS_IGNORE);
	else
		MPI_Send(NULL, 0, MPI_CHAR, other, TAG, MPI_COMM_WORLD);
}

static void allreduce(struct job *job)
{
	MPI_Allreduce(job->out, job->in, job->bytes / (int)sizeof(double), MPI_DOUBLE,
		MPI_SUM, MPI_COMM_WORLD);
}

/* Roots change, so that a root cannot run ahead of the others. */
static void bcast(struct job *job)
{
	MPI_Bcast(job->out, job->bytes, MPI_CHAR, (int)(job->iteration % job->members),
		MPI_COMM_WORLD);
}

static void barrier(struct job *job)
{
	(void)job;
	MPI_Barrier(MPI_COMM_WORLD);
}

static const struct pattern {
	const char *name;
	void (*run)(struct job *job);
} patterns[] = {
	{ "pingpong", pingpong },
	{ "exchange", exchange },
	{ "burst", burst },
	{ "stream", stream },
	{ "allreduce", allreduce },
	{ "bcast", bcast },
	{ "barrier", barrier },
};

/* ---- timing ---- */

/* Seconds of one operation in a batch of @count. */
static double batch(struct job *job, const struct pattern *pattern, int count)
{
	double mine, slowest;

	MPI_Barrier(MPI_COMM_WORLD);
	mine = MPI_Wtime();
	for (int i = 0; i < count; i++, job->iteration++)
		pattern->run(job);
	mine = MPI_Wtime() - mine;
	MPI_Allreduce(&mine, &slowest, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
	return slowest / count;
}

static int compare(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void row(struct job *job, const struct pattern *pattern)
{
	int count = job->bytes > FIRST_BYTES ? FIRST_LARGE : FIRST, n = 0;
	double s[BATCHES_MAX], spent = 0, first = batch(job, pattern, count);

	count = 1;
	while (count < BATCH_MAX && batch(job, pattern, count) * count < batch_s)
		count *= 2;
	while (n < BATCHES_MIN || (n < BATCHES_MAX && spent < row_s)) {
		s[n] = batch(job, pattern, count);
		spent += s[n++] * count;
	}
	qsort(s, (size_t)n, sizeof(*s), compare);
	if (!job->rank) {
		printf("%s %d %.1f %.1f %.1f\n", pattern->name, job->bytes, s[0] * 1e9,
			s[n / 2] * 1e9, first * 1e9);
		fflush(stdout);
	}
}

static char *buffer(size_t len)
{
	char *memory = malloc(len);

	if (!memory) {
		fprintf(stderr, "no memory for %zu bytes\n", len);
		MPI_Abort(MPI_COMM_WORLD, 1);
		exit(1);
	}
	memset(memory, 0, len);
	return memory;
}

static void run_pattern(
	struct job *job, const struct pattern *pattern, int count, char *bytes[])
{
	bool sized = pattern->run != barrier;

	for (int i = 0; i < (sized ? count : 1); i++) {
		job->bytes = sized ? atoi(bytes[i]) : 0;
		job->out = buffer((size_t)job->bytes + 1);
		job->in = buffer((size_t)job->bytes * WINDOW + 1);
		row(job, pattern);
		free(job->out);
		free(job->in);
	}
}

int main(int argc, char *argv[])
{
	enum { PATTERNS = sizeof(patterns) / sizeof(patterns[0]) };
	struct job job = { .bytes = 0 };

	if (argc < 3) {
		fprintf(stderr, "usage: mpi_patterns PATTERN|all BYTES...\n");
		return 2;
	}
	MPI_Init(&argc, &argv);
	MPI_Comm_rank(MPI_COMM_WORLD, &job.rank);
	MPI_Comm_size(MPI_COMM_WORLD, &job.members);
	job.to = (job.rank + 1) % job.members;
	job.from = (job.rank + job.members - 1) % job.members;
	for (int i = 0; i < PATTERNS; i++)
		if (!strcmp(argv[1], "all") || !strcmp(argv[1], patterns[i].name))
			run_pattern(&job, &patterns[i], argc - 2, argv + 2);
	MPI_Finalize();
	return 0;
}
