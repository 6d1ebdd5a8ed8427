/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_TIME_LIMITS_H
#define TESTS_TIME_LIMITS_H

/*
 * Time limits of tests: how long a test waits for an event that has to come, and after
 * how long a watchdog ends it. A limit is written for an idle machine and passed
 * through limit_ms or limit_s, which allow for sanitizers and for the load. A wait that
 * checks that no event happens is not lengthened. tests/limits.sh is the same for
 * scripts.
 */
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "sanitizer.h"

enum {
	LIMIT_LOAD_MAX = 8, /* largest factor for the load */
	LIMIT_SANITIZER = THREAD_SANITIZER    ? 3
			  : ADDRESS_SANITIZER ? 2
					      : 1,
};

/* One plus the number of processes that were ready to run for each processor, averaged
 * over the last minute; LIMIT_LOAD_MAX at most. WEFT_LOAD in the environment replaces
 * that number if another machine determines the load. */
static inline unsigned int limit_load(void)
{
	long cores = sysconf(_SC_NPROCESSORS_ONLN);
	const char *told = getenv("WEFT_LOAD");
	double load;

	if (told && atoi(told) > 0)
		return (unsigned int)atoi(told);
	if (getloadavg(&load, 1) != 1 || cores < 1)
		return 1;
	load = 1 + load / (double)cores;
	return load < LIMIT_LOAD_MAX ? (unsigned int)load : LIMIT_LOAD_MAX;
}

/* The factor by which limits are multiplied. The load is read once; processes that are
 * forked later keep the factor. */
static inline unsigned int limit_factor(void)
{
	static atomic_uint factor;
	unsigned int known = atomic_load_explicit(&factor, memory_order_relaxed);

	if (!known) {
		known = LIMIT_SANITIZER * limit_load();
		atomic_store_explicit(&factor, known, memory_order_relaxed);
	}
	return known;
}

/* A limit of @ms or @seconds on an idle machine. */
static inline int limit_ms(int ms)
{
	return ms * (int)limit_factor();
}

static inline unsigned int limit_s(unsigned int seconds)
{
	return seconds * limit_factor();
}

/* Seconds of the monotonic clock. */
static inline time_t now_s(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec;
}

/* Do tests that take long because of their numbers (messages, bytes, random operations)
 * use small numbers? They do under sanitizers, and with WEFT_SHORT in the environment,
 * which ./dev sets if another build or another target uses the large ones. */
static inline bool limit_amount(void)
{
	return SANITIZED || getenv("WEFT_SHORT");
}

#endif
