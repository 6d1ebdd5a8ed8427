/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_PAGES_H
#define WF_SYS_PAGES_H

#include <stddef.h>

/*
 * Memory straight from the system and straight back to it, whatever else lies around.
 * @size is a power of two, a page or more, and the alignment, too. Zeroed.
 */
void *wf_pages_get(size_t size);
void wf_pages_put(void *mem, size_t size);

#endif
