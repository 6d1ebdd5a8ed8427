/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_CORE_LOAD_H
#define WF_CORE_LOAD_H

#include <stdbool.h>

/* Load and register every provider library that FI_PROVIDER_PATH, or the default
 * places in its absence, leads to. Returns whether the first provider of a name is
 * to win ("@" in front of the path). */
bool wf_load_providers(void);

#endif
