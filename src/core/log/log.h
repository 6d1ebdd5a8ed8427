/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_CORE_LOG_LOG_H
#define WF_CORE_LOG_LOG_H

#include <stdbool.h>
#include <rdma/fi_ext.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>

#include "sys/compiler.h"
#include "sys/notice.h"

/* The provider argument for log messages of the core. */
extern struct fi_provider wf_core_prov;

/*
 * Pass all messages to @log, whose ops the caller has checked and keeps valid until
 * wf_log_restore(). A second import replaces the first. Any thread may call it. 0, or
 * -FI_EBUSY if called from within a callback of a logger.
 */
int wf_log_import(struct fid_logging *log);

/*
 * Return to the log of the environment, if @log is imported. On return no thread is
 * inside a callback of @log. -FI_EBUSY from within a callback, which would have to wait
 * for itself.
 */
int wf_log_restore(struct fid_logging *log);

/*
 * Tell the user that a setting is wrong: a warning, also in a process without
 * FI_LOG_LEVEL. There it goes to stderr, unless FI_LOG_PROV or FI_LOG_SUBSYS excludes
 * it. FI_LOG_LEVEL=silent suppresses it. Each text is written once. No newline at the
 * end.
 */
WF_PRINTF(2, 3)
void wf_log_notice(const struct fi_provider *prov, const char *fmt, ...);

/* The same for providers: sys/notice.h. */
extern struct wf_notice_ops wf_log_notice_ops;

/* The names in FI_LOG_PROV, one after the other: the first for NULL, else the one
 * behind
 * @name. NULL: no more. */
const char *wf_log_next_prov(const char *name);

/* For notice.c. Does the environment have the process log warnings, or does a logger
 * get them? If not, the second call writes a notice all the same. */
bool wf_log_has_warnings(void);
void wf_log_write_notice(const struct fi_provider *prov, const char *text);

/* Close the log file and free the configuration, at the end of the process; later
 * messages are dropped. */
void wf_log_fini(void);

/* Notices are written again. For tests. */
void wf_log_forget_notices(void);

/* Read the configuration again. For tests, while the process has one thread. */
void wf_log_reset(void);

#endif
