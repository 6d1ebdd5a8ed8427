/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/atomic/type.h"

/* Atomic operations on complex numbers, which have no order. */

#define NAME float_complex
#define T    float _Complex
#define WORD uint64_t
#include "objects/atomic/type.inl"

#define NAME double_complex
#define T    double _Complex
#define WIDE
#include "objects/atomic/type.inl"

#define NAME       long_double_complex
#define T          long double _Complex
#define PARTS      2
#define PART_BYTES WF_LONG_DOUBLE_BYTES
#include "objects/atomic/type.inl"
