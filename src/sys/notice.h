/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_NOTICE_H
#define WF_SYS_NOTICE_H

#include <stddef.h>

struct fi_provider;

/*
 * What the core does for providers of this library, beside the public interface:
 * notices to the user about wrong settings. Providers, also loadable ones, get a
 * pointer to this table by fi_param_get with the name WF_NOTICE and no provider: other
 * libraries know no such parameter, and permit the call while a provider is loaded. Any
 * thread may call the functions.
 */
#define WF_NOTICE "weft notice 1"

struct wf_notice_ops {
	size_t size;
	/* Log a warning, also in a process without FI_LOG_LEVEL, and each text once.
	 * @text has no newline at its end. */
	void (*tell)(const struct fi_provider *prov, const char *text);
	/* The text of the variable @var, such as FI_TCP_TX_SIZE, from the environment
	 * or the configuration file. NULL: it is not set. */
	const char *(*value)(const char *var);
};

#endif
