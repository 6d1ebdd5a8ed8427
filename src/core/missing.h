/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_CORE_MISSING_H
#define WF_CORE_MISSING_H

#include "core/prov_filter.h"

/* Warn of each name in FI_PROVIDER whose provider does not exist, with a provider that
 * could be used instead. If none of the list exists, also in a process without
 * FI_LOG_LEVEL. Called once. */
void wf_missing_in_filter(const struct wf_prov_filter *filter);

/* The same for names in hints, once for each of the providers that the core knows, and
 * at FI_LOG_INFO: programs try names. Callable from any thread. */
void wf_missing_in_hints(const struct wf_layers *names);

#endif
