/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BENCH_PAIR_H
#define BENCH_PAIR_H

#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/*
 * Two processes on two cores. Both run pair_main's function; they exchange data before
 * the measurement through a local socket.
 */
struct pair {
	int side;    /* 0 starts and measures, 1 answers */
	int channel; /* to the other side */
};

static inline void pair_fail(const char *what)
{
	perror(what);
	exit(1);
}

/* Send @mine, receive the same number of bytes into @theirs. Also a barrier. */
static inline void pair_swap(
	const struct pair *pair, const void *mine, void *theirs, size_t len)
{
	if (send(pair->channel, mine, len, 0) != (ssize_t)len ||
		recv(pair->channel, theirs, len, MSG_WAITALL) != (ssize_t)len)
		pair_fail("channel between the processes");
}

static inline void pair_barrier(const struct pair *pair)
{
	char byte = 0;

	pair_swap(pair, &byte, &byte, 1);
}

static inline void pair_pin(int core)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(core, &set);
	if (sched_setaffinity(0, sizeof(set), &set))
		pair_fail("sched_setaffinity");
}

static inline uint64_t pair_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static inline int pair_compare_(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

/* A timed test, in batches of @batch iterations. Batches are short, because other
 * processes of the machine disturb a long batch. */
struct pair_test {
	void (*iterate)(const struct pair *pair, void *arg, size_t count);
	/* Before each batch, not timed; NULL on both sides or on none. */
	void (*prepare)(const struct pair *pair, void *arg);
	size_t count, batch; /* iterations in all, and between two reads of the clock */
	int legs;            /* messages of an iteration, one after the other */
};

/* Print the best and the median batch in ns for each message. */
static inline void pair_time(
	const struct pair *pair, const struct pair_test *test, void *arg)
{
	size_t n = test->count / test->batch;
	double *ns = calloc(n + 1, sizeof(*ns));

	if (!ns)
		pair_fail("calloc");
	test->iterate(pair, arg, test->batch);
	pair_barrier(pair);
	for (size_t i = 0; i < n; i++) {
		uint64_t start;

		if (test->prepare) {
			test->prepare(pair, arg);
			pair_barrier(pair);
		}
		start = pair_now_ns();
		test->iterate(pair, arg, test->batch);
		ns[i] = (double)(pair_now_ns() - start) / (double)test->batch /
			test->legs;
	}
	qsort(ns, n, sizeof(*ns), pair_compare_);
	if (!pair->side && n)
		printf("%.1f %.1f\n", ns[0], ns[n / 2]);
	free(ns);
}

static inline int pair_core(const char *name, int fallback)
{
	const char *text = getenv(name);

	return text ? atoi(text) : fallback;
}

/* Cores from BENCH_CORE0 and BENCH_CORE1. Returns the exit status. */
static inline int pair_main(void (*run)(const struct pair *pair, void *arg), void *arg)
{
	int fds[2], status;
	struct pair pair;
	pid_t child;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, fds))
		pair_fail("socketpair");
	child = fork();
	if (child < 0)
		pair_fail("fork");
	pair = (struct pair){ .side = !child, .channel = fds[!child] };
	pair_pin(child ? pair_core("BENCH_CORE0", 0) : pair_core("BENCH_CORE1", 1));
	run(&pair, arg);
	if (!child)
		exit(0);
	if (waitpid(child, &status, 0) != child)
		pair_fail("waitpid");
	return status != 0;
}

#endif
