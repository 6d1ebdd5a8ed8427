/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_CORE_LOAD_H
#define WF_CORE_LOAD_H

#include <stdbool.h>

/* Load and register every provider library that FI_PROVIDER_PATH names, or that is in
 * the default places. Returns whether the first provider of a name wins ("@" in front
 * of the path). */
bool wf_load_providers(void);

#endif
