/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/atomic/type.h"

/* Atomic operations on integers of 128 bits. */

#define NAME int128
#define T    __int128
#define WIDE
#define UNSIGNED wf_u128
#define ORDERED
#include "objects/atomic/type.inl"

#define NAME uint128
#define T    wf_u128
#define WIDE
#define UNSIGNED wf_u128
#define ORDERED
#include "objects/atomic/type.inl"
