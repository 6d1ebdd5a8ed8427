/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_READABLE_H
#define TESTS_READABLE_H

#include <poll.h>
#include <stdbool.h>

/* Is @fd readable within @timeout_ms? -1: it is waited for without a limit. */
static inline bool is_readable(int fd, int timeout_ms)
{
	struct pollfd entry = { .fd = fd, .events = POLLIN };

	return poll(&entry, 1, timeout_ms) == 1;
}

#endif
