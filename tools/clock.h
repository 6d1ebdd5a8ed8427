/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TOOLS_CLOCK_H
#define TOOLS_CLOCK_H

#include <stdint.h>
#include <time.h>

static inline uint64_t tool_now_ns(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

static inline uint64_t tool_after_ms(int ms)
{
	return tool_now_ns() + (uint64_t)ms * 1000000u;
}

#endif
