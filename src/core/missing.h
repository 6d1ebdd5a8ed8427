/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_CORE_MISSING_H
#define WF_CORE_MISSING_H

#include "core/prov_filter.h"

/* Names in FI_PROVIDER of providers that are not here: a warning for each, with what
 * would serve; where none of the list is here, also in a process that asked for no log.
 * Called once. */
void wf_missing_in_filter(const struct wf_prov_filter *filter);

/* The same for names in hints, once for each of the providers that the core knows, and
 * at FI_LOG_INFO: programs try names. Callable from any thread. */
void wf_missing_in_hints(const struct wf_layers *names);

#endif
