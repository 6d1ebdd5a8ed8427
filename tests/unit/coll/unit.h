/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_COLL_UNIT_H
#define TESTS_UNIT_COLL_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <rdma/fi_atomic.h>

#include "objects/atomic/ops.h"
#include "providers/coll/reduce.h"
#include "sys/compiler.h"

enum { DATATYPES = FI_UINT128 + 1, REDUCTIONS = FI_BXOR + 1 };

/* A fixed sequence of pseudo-random numbers: xorshift64*. */
static inline uint64_t random_next(uint64_t *state)
{
	*state ^= *state >> 12;
	*state ^= *state << 25;
	*state ^= *state >> 27;
	return *state * 0x2545f4914f6cdd1d;
}

#endif
