/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_COLL_REDUCE_TYPE_H
#define WF_COLL_REDUCE_TYPE_H

#include <stdint.h>

#include "objects/atomic/type.h"
#include "providers/coll/reduce.h"

/* The reductions of one datatype, by enum fi_op; NULL: C has no such operation. */
struct coll_reduce_type {
	coll_reduce_fn *fn[FI_BXOR + 1];
};

extern const struct coll_reduce_type coll_reduce_int8, coll_reduce_uint8,
	coll_reduce_int16, coll_reduce_uint16, coll_reduce_int32, coll_reduce_uint32,
	coll_reduce_int64, coll_reduce_uint64, coll_reduce_int128, coll_reduce_uint128,
	coll_reduce_float, coll_reduce_double, coll_reduce_long_double,
	coll_reduce_float_complex, coll_reduce_double_complex,
	coll_reduce_long_double_complex;

/* Stands before a loop whose iterations are independent, because the destination is
 * equal to an operand or does not overlap it. */
#ifdef __clang__
#define COLL_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define COLL_INDEPENDENT _Pragma("GCC ivdep")
#endif

#endif
