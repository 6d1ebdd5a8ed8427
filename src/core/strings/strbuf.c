/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/strings/strbuf.h"

#include <assert.h>
#include <stdio.h>

void wf_strbuf_init(struct wf_strbuf *sb, char *buf, size_t size)
{
	assert(buf && size);
	*sb = (struct wf_strbuf){ .buf = buf, .size = size };
	buf[0] = '\0';
}

void wf_strbuf_vprintf(struct wf_strbuf *sb, const char *fmt, va_list args)
{
	size_t capacity = sb->size - sb->len;
	int want = vsnprintf(sb->buf + sb->len, capacity, fmt, args);

	if (want < 0) {
		sb->buf[sb->len] = '\0';
		sb->cut = true;
	} else if ((size_t)want >= capacity) {
		sb->len = sb->size - 1;
		sb->cut = true;
	} else {
		sb->len += (size_t)want;
	}
}

void wf_strbuf_printf(struct wf_strbuf *sb, const char *fmt, ...)
{
	va_list args;

	va_start(args, fmt);
	wf_strbuf_vprintf(sb, fmt, args);
	va_end(args);
}
