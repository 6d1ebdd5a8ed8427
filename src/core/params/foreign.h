/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_CORE_PARAMS_FOREIGN_H
#define WF_CORE_PARAMS_FOREIGN_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Variables of other libfabric implementations, which this library does not read. A
 * cluster's profile may set them (FI_EFA_...) on all machines, so they are no typing
 * errors. Used for warnings only.
 */

/* The length of the prefix of @var that belongs to a known provider, 0 if none. */
size_t wf_foreign_prefix(const char *var);

/* A variable of the core that has no effect in this library. */
bool wf_foreign_core(const char *var);

#endif
