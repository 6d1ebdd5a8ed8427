/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_CORE_PARAM_FOREIGN_H
#define WF_CORE_PARAM_FOREIGN_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Variables of other libfabric implementations, which may be set although this library
 * does not read them: a cluster's profile sets FI_EFA_... on all its machines. Text
 * only; no other part of the core may decide by these names.
 */

/* The length of the prefix of @var that belongs to a known provider, 0 if none. */
size_t wf_foreign_prefix(const char *var);

/* A variable of the core that has no effect in this library. */
bool wf_foreign_core(const char *var);

#endif
