/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_CORE_STRINGS_STRBUF_H
#define WF_CORE_STRINGS_STRBUF_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

#include "sys/compiler.h"

/* A text in memory of fixed size, at least 1 byte. The text always ends with a NUL;
 * what does not fit is cut off. */
struct wf_strbuf {
	char *buf;
	size_t size;
	size_t len; /* bytes of the text without the NUL, at most size - 1 */
	bool cut;   /* text that did not fit was cut off */
};

void wf_strbuf_init(struct wf_strbuf *sb, char *buf, size_t size);
void wf_strbuf_vprintf(struct wf_strbuf *sb, const char *fmt, va_list args)
	WF_PRINTF(2, 0);
void wf_strbuf_printf(struct wf_strbuf *sb, const char *fmt, ...) WF_PRINTF(2, 3);

#endif
