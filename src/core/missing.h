/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_CORE_MISSING_H
#define WF_CORE_MISSING_H

#include "core/prov_filter.h"

/* Warn of each name in FI_PROVIDER whose provider does not exist; the line suggests a
 * provider to use instead. If none of the names has a provider, or nothing is known of
 * the name, the warning is printed without FI_LOG_LEVEL, too. Called once, by
 * wf_core_init. */
void wf_missing_in_filter(const struct wf_prov_filter *filter);

/* Tell of names in FI_LOG_PROV that no provider has. Called once, by wf_core_init. */
void wf_missing_in_log(void);

/* Tell that FI_HOOK has the name of no hook. */
void wf_missing_hook(const struct wf_layer *name);

/* Log each name in hints whose provider does not exist, once per process and known
 * provider, at FI_LOG_INFO, because programs try names. Any thread may call it. */
void wf_missing_in_hints(const struct wf_layers *names);

struct wf_prov_entry;

/* Log that the provider @entry has no device on this machine. If FI_PROVIDER names the
 * provider, the line is a warning, once per process, and is printed without
 * FI_LOG_LEVEL, too, if FI_PROVIDER names no other provider; else it is at FI_LOG_INFO.
 * Any thread may call it. */
void wf_missing_device(const struct wf_prov_entry *entry);

#endif
