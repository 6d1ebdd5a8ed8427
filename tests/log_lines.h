/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_LOG_LINES_H
#define TESTS_LOG_LINES_H

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <rdma/fi_ext.h>
#include <rdma/providers/fi_log.h>

/* The log of this process up to the level info, for tests of the reasons that the
 * library gives. */
static char log_lines[1 << 16];
/* Guards the lines: a thread of the library logs, too. */
static pthread_mutex_t log_lines_lock = PTHREAD_MUTEX_INITIALIZER;

static int log_lines_enabled(const struct fi_provider *prov, enum fi_log_level level,
	enum fi_log_subsys subsys, uint64_t flags)
{
	return level <= FI_LOG_INFO;
}

static int log_lines_ready(const struct fi_provider *prov, enum fi_log_level level,
	enum fi_log_subsys subsys, uint64_t flags, uint64_t *showtime)
{
	return level <= FI_LOG_INFO;
}

static void log_lines_add(const struct fi_provider *prov, enum fi_log_level level,
	enum fi_log_subsys subsys, const char *func, int line, const char *msg)
{
	size_t used;

	(void)pthread_mutex_lock(&log_lines_lock);
	used = strlen(log_lines);
	(void)snprintf(log_lines + used, sizeof(log_lines) - used, "%s", msg);
	(void)pthread_mutex_unlock(&log_lines_lock);
}

/* Forget the lines so far, and keep those from now on. */
static inline void log_lines_start(void)
{
	static struct fi_ops_log ops = { .size = sizeof(ops),
		.enabled = log_lines_enabled,
		.ready = log_lines_ready,
		.log = log_lines_add };
	static struct fid_logging fid = { .fid = { .fclass = FI_CLASS_LOG },
		.ops = &ops };
	static bool started;

	(void)pthread_mutex_lock(&log_lines_lock);
	log_lines[0] = '\0';
	(void)pthread_mutex_unlock(&log_lines_lock);
	if (!started)
		(void)fi_import_log(fi_version(), 0, &fid);
	started = true;
}

/* Has the log a line with @text? */
static inline bool log_lines_have(const char *text)
{
	bool have;

	(void)pthread_mutex_lock(&log_lines_lock);
	have = strstr(log_lines, text) != NULL;
	(void)pthread_mutex_unlock(&log_lines_lock);
	return have;
}

#endif
