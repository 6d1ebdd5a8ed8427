/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_NOTICE_H
#define WF_OBJECTS_NOTICE_H

#include <stdbool.h>

#include "sys/compiler.h"

struct fi_provider;

/* Tell the user, once in a process, that a setting is wrong: a warning in the log,
 * which is printed without FI_LOG_LEVEL as well. In another library, a plain warning.
 * No newline at the end. */
WF_PRINTF(2, 3)
void wf_notice(const struct fi_provider *prov, const char *fmt, ...);

/* The variable of the parameter @param: FI_TCP_TX_SIZE. At most @len bytes; returns
 * @buf. */
const char *wf_notice_var(
	const struct fi_provider *prov, const char *param, char *buf, size_t len);

/* The text that the parameter is set to. False: it is not set, or this is another
 * library, which only has the value of fi_param_get. */
bool wf_notice_value(
	const struct fi_provider *prov, const char *param, const char **ret_text);

#endif
