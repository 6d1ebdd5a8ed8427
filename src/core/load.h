/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_CORE_LOAD_H
#define WF_CORE_LOAD_H

#include <stdbool.h>

/* Load and register every provider library that FI_PROVIDER_PATH names, or that is in
 * the default directories; fi_provider(7). Called once, by wf_core_init. Returns true
 * if the path begins with "@": then the first provider of a name is kept, not the one
 * with the highest version. */
bool wf_load_providers(void);

#endif
