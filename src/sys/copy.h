/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_COPY_H
#define WF_SYS_COPY_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "sys/compiler.h"

/*
 * memcpy for some tens of bytes, whose number the compiler does not know: a call would
 * take as long as the copy. Copies pieces of one size; the last piece overlaps the one
 * before.
 */
static inline void wf_copy_small(void *to_, const void *from_, size_t len)
{
	const uint8_t *from = from_;
	uint8_t *to = to_;
	size_t at = 0;

	if (wf_likely(len >= 16)) {
		for (; at + 16 <= len; at += 16)
			memcpy(to + at, from + at, 16);
		if (at < len)
			memcpy(to + len - 16, from + len - 16, 16);
	} else if (len >= 8) {
		memcpy(to, from, 8);
		memcpy(to + len - 8, from + len - 8, 8);
	} else if (len >= 4) {
		memcpy(to, from, 4);
		memcpy(to + len - 4, from + len - 4, 4);
	} else {
		for (; at < len; at++)
			to[at] = from[at];
	}
}

#endif
