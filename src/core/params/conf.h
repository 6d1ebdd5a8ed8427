/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_CORE_PARAMS_CONF_H
#define WF_CORE_PARAMS_CONF_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Configuration values: from the environment and from the file
 * <sysconfdir>/libfabric.conf, which holds VAR=value lines, empty lines and lines that
 * begin with '#'. The environment wins unless FI_PREFER_SYSCONFIG is true.
 *
 * The file is read once, by the first query. This code does not log, because the log is
 * configured by it; errors of the file are kept for wf_conf_report().
 */

/* The value of @var, or NULL if neither the environment nor the file sets it. The text
 * is valid until the environment changes. Any thread may call it. */
const char *wf_conf_value(const char *var);

/* The variables of the file, by index; NULL at the end. */
const char *wf_conf_file_var(size_t index);

/* Log the lines of the file that could not be read or understood. */
void wf_conf_report(void);

/* Read @path instead of the installed file. For tests, before threads exist: texts that
 * were returned earlier are freed. */
void wf_conf_use_file(const char *path);

void wf_conf_fini(void);

/* Parse 0/1, no/yes, off/on or false/true, in any case, into *ret_value (0 or 1).
 * False:
 * @text is none of them. */
bool wf_conf_parse_bool(const char *text, int *ret_value);

#endif
