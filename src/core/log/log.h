/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_CORE_LOG_H
#define WF_CORE_LOG_H

#include <stdbool.h>
#include <rdma/fi_ext.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>

/* The provider in whose name the core logs, with the macros of rdma/providers/fi_log.h.
 */
extern struct fi_provider wf_core_prov;

/*
 * Pass all messages to @log. Its ops are complete (size checked) and stay valid until
 * wf_log_restore(). A second import replaces the first. 0, or -FI_EBUSY from within a
 * callback.
 */
int wf_log_import(struct fid_logging *log);

/*
 * Return to the log of the environment, if @log is imported. On return no thread is
 * inside a callback of @log. -FI_EBUSY from within a callback, which would have to wait
 * for itself.
 */
int wf_log_restore(struct fid_logging *log);

/*
 * A warning of the core that is also printed in a process without FI_LOG_LEVEL: then to
 * stderr, unless FI_LOG_PROV or FI_LOG_SUBSYS excludes the core; else as other
 * messages. @text is without the line's end.
 */
void wf_log_notice(const char *text);

/* Close the log file and free the configuration; nothing is logged from now on. */
void wf_log_fini(void);

/* Read the configuration again. For tests, before threads. */
void wf_log_reset(void);

#endif
