/* SPDX-License-Identifier: BSD-2-Clause */
#include "core/log/log.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <rdma/fi_errno.h>

#include "core/params/conf.h"
#include "core/log/file.h"
#include "core/log/filter.h"
#include "core/log/line.h"
#include "core/strings/strbuf.h"
#include "core/strings/strings.h"
#include "sys/calls.h"
#include "sys/clock.h"
#include "sys/nearest.h"

/*
 * The gate, one atomic word, is the number of levels that may be logged, so that a
 * silent process pays one relaxed load per message. Before the first message, and while
 * an application's logger is imported, all levels pass the gate and the slow path
 * decides.
 *
 * The configuration is read once and constant afterwards; pthread_once publishes it.
 * Warnings about the configuration are written directly, because a log call would wait
 * for the same pthread_once.
 *
 * An imported logger is called with import_lock held for reading, so that closing it
 * waits for running callbacks. Messages from within a callback are dropped: passing
 * them on would call the callback without end.
 */

#define GATE_OPEN           UINT_MAX
#define DEFAULT_INTERVAL_MS 2000
#define TEXT_MAX_SIZE       65536

struct fi_provider wf_core_prov = {
	.name = "core",
	.version = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION),
	.fi_version = FI_VERSION(FI_MAJOR_VERSION, FI_MINOR_VERSION),
};

/* Written once, by the first query, and constant then. */
static struct {
	struct wf_log_filter filter;
	/* Least time between two sparse lines from one place, in milliseconds. */
	uint64_t interval_ms;
} log_conf;

static atomic_uint gate = GATE_OPEN;
static atomic_int log_fd = STDERR_FILENO;
static pthread_once_t log_once = PTHREAD_ONCE_INIT;

/* Prefer writers: otherwise threads that log all the time could delay wf_log_restore
 * forever. */
#ifdef PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP
#define IMPORT_LOCK_INIT PTHREAD_RWLOCK_WRITER_NONRECURSIVE_INITIALIZER_NP
#else
#define IMPORT_LOCK_INIT PTHREAD_RWLOCK_INITIALIZER
#endif
static pthread_rwlock_t import_lock = IMPORT_LOCK_INIT;
static struct fid_logging *imported; /* guarded by import_lock; NULL: none */
static _Thread_local bool in_callback;

static int log_fd_now(void)
{
	return atomic_load_explicit(&log_fd, memory_order_relaxed);
}

/* Write a line of the core as this filter admits it. */
static void log_write_line(const struct wf_log_filter *filter,
	const struct fi_provider *prov, enum fi_log_level level, const char *text)
{
	char line[WF_LOG_LINE_SIZE];
	struct wf_strbuf sb;

	if (!wf_log_filter_pass(filter, wf_log_prov_name(prov), level, FI_LOG_CORE))
		return;
	wf_strbuf_init(&sb, line, sizeof(line));
	wf_log_line_begin(&sb, prov, level, FI_LOG_CORE, "log", 0);
	wf_strbuf_printf(&sb, "%s", text);
	wf_log_line_end(log_fd_now(), &sb);
}

void wf_log_write_notice(const struct fi_provider *prov, const char *text)
{
	struct wf_log_filter filter = log_conf.filter;

	if (filter.quiet)
		return;
	filter.level_count = FI_LOG_WARN + 1;
	log_write_line(&filter, prov, FI_LOG_WARN, text);
}

/* A notice about the settings of the log, which do not filter it. */
WF_PRINTF(1, 2)
static void log_note(const char *fmt, ...)
{
	const struct wf_log_filter all = {
		.level_count = FI_LOG_WARN + 1,
		.subsys_mask = UINT32_MAX,
	};
	char text[WF_LOG_LINE_SIZE];
	va_list args;

	va_start(args, fmt);
	(void)vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	if (!log_conf.filter.quiet)
		log_write_line(&all, &wf_core_prov, FI_LOG_WARN, text);
}

static long log_conf_number(const char *var, long fallback, long max)
{
	const char *text = wf_conf_value(var);
	char *end;
	long value;

	if (!text)
		return fallback;
	errno = 0;
	value = strtol(text, &end, 0);
	if (!errno && end != text && *end == '\0' && value >= 0 && value <= max)
		return value;
	log_note("%s is \"%s\", not a number from 0 to %ld; %ld is used", var, text,
		max, fallback);
	return fallback;
}

static void log_open_file(void)
{
	const char *location = wf_conf_value("FI_LOG_LOCATION");
	mode_t mode = (mode_t)log_conf_number("FI_LOG_LOCATION_MODE", 0600, 07777);
	int fd, err;

	fd = wf_log_file_open(location, mode, &err);
	atomic_store_explicit(&log_fd, fd, memory_order_relaxed);
	if (err)
		log_note("cannot log to %s: %s; stderr is used", location,
			fi_strerror(err));
}

/* What the subsystem at the beginning of @text was probably meant to be. */
static const char *log_subsys_hint(const char *text, char *buf, unsigned int len)
{
	char word[32];
	struct wf_nearest nearest;

	(void)snprintf(word, sizeof(word), "%.*s", (int)strcspn(text, ", \t"), text);
	nearest = wf_nearest_to(word);
	for (size_t i = 0; i < wf_names_log_subsys.count; i++)
		wf_nearest_offer(&nearest, wf_names_log_subsys.rows[i].name);
	return wf_nearest_hint(&nearest, buf, len);
}

static void log_init(void)
{
	struct wf_log_filter *filter = &log_conf.filter;
	const char *level = wf_conf_value("FI_LOG_LEVEL");
	int saved_errno = errno;
	char hint[64];

	wf_log_filter_init(filter, level, wf_conf_value("FI_LOG_PROV"),
		wf_conf_value("FI_LOG_SUBSYS"));
	/* A silent log does not leave an empty file behind. */
	if (filter->level_count)
		log_open_file();
	log_conf.interval_ms = (uint64_t)log_conf_number(
		"FI_LOG_INTERVAL", DEFAULT_INTERVAL_MS, INT_MAX);
	if (filter->bad_level)
		log_note("FI_LOG_LEVEL is \"%s\", not silent, warn, trace, info or "
			 "debug; "
			 "warn is used",
			level);
	if (filter->bad_subsys)
		log_note("FI_LOG_SUBSYS has no subsystem \"%.*s\"%s",
			(int)strcspn(filter->bad_subsys, ", \t"), filter->bad_subsys,
			log_subsys_hint(filter->bad_subsys, hint, sizeof(hint)));
	if (filter->debug_absent)
		log_write_line(filter, &wf_core_prov, FI_LOG_INFO,
			"this build has no debug messages");
	/* relaxed: a thread that passes the gate goes through pthread_once. */
	atomic_store_explicit(&gate, filter->level_count, memory_order_relaxed);
	errno = saved_errno;
}

static bool log_default_enabled(const struct fi_provider *prov, enum fi_log_level level,
	enum fi_log_subsys subsys)
{
	return wf_log_filter_pass(
		&log_conf.filter, wf_log_prov_name(prov), level, subsys);
}

/* Take import_lock for reading and return the imported logger's ops. NULL: no logger,
 * or the caller is its callback; then the lock is not held. */
static const struct fi_ops_log *log_import_enter(void)
{
	if (in_callback)
		return NULL;
	(void)pthread_rwlock_rdlock(&import_lock);
	if (!imported) {
		(void)pthread_rwlock_unlock(&import_lock);
		return NULL;
	}
	in_callback = true;
	return imported->ops;
}

static void log_import_leave(void)
{
	in_callback = false;
	(void)pthread_rwlock_unlock(&import_lock);
}

static uint64_t log_import_flags(const struct fi_provider *prov)
{
	return wf_log_filter_prov(&log_conf.filter, wf_log_prov_name(prov))
		       ? 0
		       : FI_LOG_PROV_FILTERED;
}

static int log_enabled_slow(const struct fi_provider *prov, enum fi_log_level level,
	enum fi_log_subsys subsys)
{
	const struct fi_ops_log *ops;
	int enabled;

	(void)pthread_once(&log_once, log_init);
	if (in_callback)
		return 0;
	ops = log_import_enter();
	if (!ops)
		return log_default_enabled(prov, level, subsys);
	enabled = ops->enabled
			  ? ops->enabled(prov, level, subsys, log_import_flags(prov))
			  : log_default_enabled(prov, level, subsys);
	log_import_leave();
	return enabled;
}

WF_EXPORT int fi_log_enabled(const struct fi_provider *prov, enum fi_log_level level,
	enum fi_log_subsys subsys)
{
	if (wf_likely((unsigned int)level >=
		      atomic_load_explicit(&gate, memory_order_relaxed)))
		return 0;
	return log_enabled_slow(prov, level, subsys);
}

/* Has the interval for a repeated message passed? @showtime is the earliest time of the
 * next message in ms; several threads may share it, so one of them advances it with a
 * compare-and-swap, and that one may log. */
static int log_interval_over(uint64_t *showtime)
{
	uint64_t now_ms = wf_now_ns() / 1000000u;
	uint64_t next_ms = __atomic_load_n(showtime, __ATOMIC_RELAXED);

	if (now_ms < next_ms)
		return 0;
	return __atomic_compare_exchange_n(showtime, &next_ms,
		now_ms + log_conf.interval_ms, false, __ATOMIC_RELAXED,
		__ATOMIC_RELAXED);
}

WF_EXPORT int fi_log_ready(const struct fi_provider *prov, enum fi_log_level level,
	enum fi_log_subsys subsys, uint64_t *showtime)
{
	const struct fi_ops_log *ops;
	int ready;

	if ((unsigned int)level >= atomic_load_explicit(&gate, memory_order_relaxed))
		return 0;
	(void)pthread_once(&log_once, log_init);
	ops = log_import_enter();
	if (ops && ops->ready) {
		ready = ops->ready(
			prov, level, subsys, log_import_flags(prov), showtime);
		log_import_leave();
		return ready;
	}
	if (ops)
		log_import_leave();
	return log_enabled_slow(prov, level, subsys) && log_interval_over(showtime);
}

static void log_write_asker(struct wf_strbuf *sb)
{
	if (wf_log_asker)
		wf_strbuf_printf(sb, "for %s: ", wf_log_asker);
}

/* What an imported logger gets has no field for the asker: it is part of the text. */
static void log_pass_on(const struct fi_ops_log *ops, const struct fi_provider *prov,
	enum fi_log_level level, enum fi_log_subsys subsys, const char *func, int line,
	const char *fmt, va_list args)
{
	char text[WF_LOG_LINE_SIZE], *long_text;
	struct wf_strbuf sb;
	va_list again;

	va_copy(again, args);
	wf_strbuf_init(&sb, text, sizeof(text));
	log_write_asker(&sb);
	wf_strbuf_vprintf(&sb, fmt, args);
	long_text = sb.cut ? malloc(TEXT_MAX_SIZE) : NULL;
	if (long_text) {
		wf_strbuf_init(&sb, long_text, TEXT_MAX_SIZE);
		log_write_asker(&sb);
		wf_strbuf_vprintf(&sb, fmt, again);
	}
	va_end(again);
	ops->log(prov, level, subsys, func, line, long_text ? long_text : text);
	free(long_text);
}

WF_EXPORT void fi_log(const struct fi_provider *prov, enum fi_log_level level,
	enum fi_log_subsys subsys, const char *func, int line, const char *fmt, ...)
{
	const struct fi_ops_log *ops;
	int saved_errno = errno;
	va_list args;

	(void)pthread_once(&log_once, log_init);
	if (in_callback)
		return;
	va_start(args, fmt);
	ops = log_import_enter();
	if (ops && ops->log)
		log_pass_on(ops, prov, level, subsys, func, line, fmt, args);
	else if (log_default_enabled(prov, level, subsys))
		/* Checked again: the logger that admitted the message may have been
		 * closed since. */
		wf_log_line(log_fd_now(), prov, level, subsys, func, line, fmt, args);
	if (ops)
		log_import_leave();
	va_end(args);
	errno = saved_errno;
}

int wf_log_import(struct fid_logging *log)
{
	if (in_callback)
		return -FI_EBUSY;
	(void)pthread_once(&log_once, log_init);
	(void)pthread_rwlock_wrlock(&import_lock);
	imported = log;
	atomic_store_explicit(&gate, GATE_OPEN, memory_order_relaxed);
	(void)pthread_rwlock_unlock(&import_lock);
	return 0;
}

int wf_log_restore(struct fid_logging *log)
{
	if (in_callback)
		return -FI_EBUSY;
	(void)pthread_rwlock_wrlock(&import_lock);
	if (imported == log) {
		imported = NULL;
		atomic_store_explicit(
			&gate, log_conf.filter.level_count, memory_order_relaxed);
	}
	(void)pthread_rwlock_unlock(&import_lock);
	return 0;
}

static void log_close_file(void)
{
	int fd = atomic_exchange(&log_fd, STDERR_FILENO);

	if (fd != STDERR_FILENO && fd != STDOUT_FILENO)
		(void)wf_sys_close(fd);
}

const char *wf_log_next_prov(const char *name)
{
	(void)pthread_once(&log_once, log_init);
	if (!log_conf.filter.provs)
		return NULL;
	name = name ? name + strlen(name) + 1 : log_conf.filter.provs;
	return *name ? name : NULL;
}

bool wf_log_has_warnings(void)
{
	(void)pthread_once(&log_once, log_init);
	return atomic_load_explicit(&gate, memory_order_relaxed);
}

void wf_log_fini(void)
{
	atomic_store_explicit(&gate, 0, memory_order_relaxed);
	log_close_file();
	wf_log_filter_done(&log_conf.filter);
}

void wf_log_reset(void)
{
	(void)pthread_once(&log_once, log_init);
	log_close_file();
	wf_log_filter_done(&log_conf.filter);
	log_init();
}
