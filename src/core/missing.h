/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_CORE_MISSING_H
#define WF_CORE_MISSING_H

#include "core/prov_filter.h"

/* Warn of each name in FI_PROVIDER whose provider does not exist; the line suggests a
 * provider to use instead. If none of the names has a provider, the warning is printed
 * without FI_LOG_LEVEL, too. Called once, by wf_core_init. */
void wf_missing_in_filter(const struct wf_prov_filter *filter);

/* The same for names in hints, once per process and known provider, at FI_LOG_INFO,
 * because programs try names. Any thread may call it. */
void wf_missing_in_hints(const struct wf_layers *names);

struct wf_prov_entry;

/* The provider @entry has no device here: the line is a warning, once per process, if
 * FI_PROVIDER names the provider, also without FI_LOG_LEVEL if it names no other one;
 * else it is at FI_LOG_INFO. Any thread may call it. */
void wf_missing_device(const struct wf_prov_entry *entry);

#endif
