/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_CORE_LOG_LINE_H
#define WF_CORE_LOG_LINE_H

#include <stdarg.h>
#include <rdma/providers/fi_log.h>

#include "core/strings/strbuf.h"

/* The text of log lines. Any thread may call these. */

/* Bytes on the stack for a line; longer lines are made in memory. */
#define WF_LOG_LINE_SIZE 1024

/* The layer whose question the calling thread answers, for the field before the
 * provider's name; NULL: the application asks. Set by fi_getinfo. */
extern _Thread_local const char *wf_log_asker;

/* The provider's name; that of the core if it has none. */
const char *wf_log_prov_name(const struct fi_provider *prov);

/* Write the part of a line before the message. */
void wf_log_line_begin(struct wf_strbuf *sb, const struct fi_provider *prov,
	enum fi_log_level level, enum fi_log_subsys subsys, const char *func, int line);

/* Write the text to the descriptor @fd, with a newline at its end, also if it was
 * cut. */
void wf_log_line_end(int fd, struct wf_strbuf *sb);

/* Write a whole line to @fd; the other arguments are those of fi_log. */
void wf_log_line(int fd, const struct fi_provider *prov, enum fi_log_level level,
	enum fi_log_subsys subsys, const char *func, int line, const char *fmt,
	va_list args);

#endif
