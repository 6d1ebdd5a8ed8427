/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/coll/reduce_type.h"

/* The reductions of all datatypes. */

/* gcc vectorises loops of unknown length from this level on. clang does so at all
 * levels, and warns about each loop that it cannot vectorise. */
#ifdef __clang__
#pragma clang diagnostic ignored "-Wpass-failed"
#else
#pragma GCC optimize("O3")
#endif

#define GENERATE "providers/coll/reduce_type.inl"
#include "objects/atomic/types.inl"
