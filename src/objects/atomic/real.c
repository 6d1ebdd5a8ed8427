/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/atomic/type.h"

/* Atomic operations on real numbers. */

#define NAME float
#define T    float
#define WORD uint32_t
#define ORDERED
#include "objects/atomic/type.inl"

#define NAME double
#define T    double
#define WORD uint64_t
#define ORDERED
#include "objects/atomic/type.inl"

#define NAME long_double
#define T    long double
#define WIDE
#define ORDERED
#define PARTS      1
#define PART_BYTES WF_LONG_DOUBLE_BYTES
#include "objects/atomic/type.inl"
