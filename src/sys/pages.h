/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_PAGES_H
#define WF_SYS_PAGES_H

#include <stddef.h>

/*
 * Memory that is mapped from the system and unmapped when it is freed, independent of
 * malloc. @size is a power of two and at least a page; the memory is aligned to @size
 * and zeroed. NULL: no memory.
 */
void *wf_pages_get(size_t size);
void wf_pages_put(void *mem, size_t size);

#endif
