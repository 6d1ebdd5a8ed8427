/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_COPY_OPS_H
#define WF_SYS_COPY_OPS_H

#include <string.h>

#include "sys/compiler.h"

/* Copy a table of operations to @to, which has @capacity bytes. The first member of a
 * table is its size; bytes beyond it become zero, bytes beyond @capacity are
 * dropped. */
static inline void wf_copy_ops(void *to, const void *from, size_t capacity)
{
	size_t size = WF_MIN(*(const size_t *)from, capacity);

	memset(to, 0, capacity);
	memcpy(to, from, size);
	*(size_t *)to = size;
}

#endif
