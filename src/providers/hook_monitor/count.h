/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_HOOK_MONITOR_COUNT_H
#define WF_HOOK_MONITOR_COUNT_H

#include <stdatomic.h>
#include <stddef.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "providers/hook_monitor/file.h"
#include "providers/hook_monitor/format.h"
#include "sys/list.h"

/*
 * Counters of one thread for one file, so that threads share no cache lines and a count
 * takes no atomic addition. One thread writes, the thread that takes a sample reads:
 * relaxed, because a count may as well belong to the next sample.
 *
 * A block is found by the address of a thread's variable. A new thread that gets the
 * address of one that ended goes on with its block.
 */
struct mon_block {
	struct wf_list link; /* in mon_file.blocks */
	const void *owner;
	atomic_uint calls; /* counted calls since the last tick */
	struct {
		_Atomic uint64_t count, sum;
	} cell[MON_FUNCTIONS][MON_BUCKETS];
};

/* A successful call or, if @ret is negative, a failed one, which is not counted. */
void mon_count(
	struct mon_file *file, enum mon_function function, size_t len, ssize_t ret);

/* An entry of a completion queue; mon_count of the read comes after it. */
void mon_count_entry(struct mon_file *file, enum mon_function function, size_t len);

/* The bytes of a vector. */
static inline size_t mon_iov_len(const struct iovec *iov, size_t count)
{
	size_t len = 0;

	for (size_t i = 0; iov && i < count; i++)
		len += iov[i].iov_len;
	return len;
}

#endif
