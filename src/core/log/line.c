/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/log/line.h"

#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "core/log/file.h"
#include "core/log/log.h"
#include "core/strings/strings.h"

/* The most that a line may take, in bytes; longer ones are cut. */
#define LINE_MAX_SIZE 65536

_Thread_local const char *wf_log_asker;

const char *wf_log_prov_name(const struct fi_provider *prov)
{
	return prov && prov->name ? prov->name : wf_core_prov.name;
}

void wf_log_line_begin(struct wf_strbuf *sb, const struct fi_provider *prov,
	enum fi_log_level level, enum fi_log_subsys subsys, const char *func, int line)
{
	wf_strbuf_printf(sb, "libfabric:%ld:%lld:%s:%s:%s:%s():%d<%s> ", (long)getpid(),
		(long long)time(NULL), wf_log_asker ? wf_log_asker : "",
		wf_log_prov_name(prov),
		wf_enum_name(&wf_names_log_subsys, (uint32_t)subsys), func ? func : "",
		line, wf_enum_name(&wf_names_log_level, (uint32_t)level));
}

void wf_log_line_end(int fd, struct wf_strbuf *sb)
{
	if (sb->len == 0 || sb->buf[sb->len - 1] != '\n') {
		if (sb->len == sb->size - 1)
			sb->len--;
		sb->buf[sb->len++] = '\n';
	}
	wf_log_file_write(fd, sb->buf, sb->len);
}

void wf_log_line(int fd, const struct fi_provider *prov, enum fi_log_level level,
	enum fi_log_subsys subsys, const char *func, int line, const char *fmt,
	va_list args)
{
	char text[WF_LOG_LINE_SIZE], *long_text;
	struct wf_strbuf sb;
	va_list again;

	va_copy(again, args);
	wf_strbuf_init(&sb, text, sizeof(text));
	wf_log_line_begin(&sb, prov, level, subsys, func, line);
	wf_strbuf_vprintf(&sb, fmt, args);
	long_text = sb.cut ? malloc(LINE_MAX_SIZE) : NULL;
	if (long_text) {
		wf_strbuf_init(&sb, long_text, LINE_MAX_SIZE);
		wf_log_line_begin(&sb, prov, level, subsys, func, line);
		wf_strbuf_vprintf(&sb, fmt, again);
	}
	va_end(again);
	wf_log_line_end(fd, &sb);
	free(long_text);
}
