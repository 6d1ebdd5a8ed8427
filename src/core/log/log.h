/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_CORE_LOG_H
#define WF_CORE_LOG_H

#include <stdbool.h>
#include <rdma/fi_ext.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>

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
 * Log a warning of the core, also in a process without FI_LOG_LEVEL: there it goes to
 * stderr, unless FI_LOG_PROV or FI_LOG_SUBSYS excludes the core. @text has no newline
 * at its end.
 */
void wf_log_notice(const char *text);

/* Close the log file and free the configuration, at the end of the process; later
 * messages are dropped. */
void wf_log_fini(void);

/* Read the configuration again. For tests, while the process has one thread. */
void wf_log_reset(void);

#endif
