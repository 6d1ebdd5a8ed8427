/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/atomic/type.h"

/* The atomic operations of all datatypes. */

#define GENERATE "objects/atomic/type.inl"
#include "objects/atomic/types.inl"
