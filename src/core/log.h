/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_CORE_LOG_H
#define WF_CORE_LOG_H

#include <stdbool.h>
#include <rdma/fi_ext.h>
#include <rdma/providers/fi_log.h>
#include <rdma/providers/fi_prov.h>

/* Who speaks when the core logs, with the macros of rdma/providers/fi_log.h. */
extern struct fi_provider wf_core_prov;

/*
 * Let @log take over. Its ops are complete (size checked) and stay valid until
 * wf_log_restore(). A second import replaces the first. -FI_EBUSY from within a
 * callback.
 */
int wf_log_import(struct fid_logging *log);

/*
 * Back to the log of the environment, if @log is the one in charge. On return no
 * thread is inside a callback of @log. -FI_EBUSY from within one of the callbacks,
 * because that could never become true.
 */
int wf_log_restore(struct fid_logging *log);

/*
 * A warning of the core that is worth a line in a process that has asked for none: with
 * FI_LOG_LEVEL unset it goes to stderr, unless FI_LOG_PROV or FI_LOG_SUBSYS excludes
 * the core; with a level it is a message like others. @text is without the line's end.
 */
void wf_log_notice(const char *text);

/* Close the log file and free the configuration; nothing is logged from now on. */
void wf_log_fini(void);

/* Read the configuration again. For tests, before threads. */
void wf_log_reset(void);

#endif
