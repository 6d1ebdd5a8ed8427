/* SPDX-License-Identifier: BSD-2-Clause */
#include "objects/atomic/ops.h"
#include "providers/coll/reduce_type.h"
#include "sys/compiler.h"

static const struct coll_reduce_type *const types[] = {
	[FI_INT8] = &coll_reduce_int8,
	[FI_UINT8] = &coll_reduce_uint8,
	[FI_INT16] = &coll_reduce_int16,
	[FI_UINT16] = &coll_reduce_uint16,
	[FI_INT32] = &coll_reduce_int32,
	[FI_UINT32] = &coll_reduce_uint32,
	[FI_INT64] = &coll_reduce_int64,
	[FI_UINT64] = &coll_reduce_uint64,
	[FI_FLOAT] = &coll_reduce_float,
	[FI_DOUBLE] = &coll_reduce_double,
	[FI_FLOAT_COMPLEX] = &coll_reduce_float_complex,
	[FI_DOUBLE_COMPLEX] = &coll_reduce_double_complex,
	[FI_LONG_DOUBLE] = &coll_reduce_long_double,
	[FI_LONG_DOUBLE_COMPLEX] = &coll_reduce_long_double_complex,
	[FI_INT128] = &coll_reduce_int128,
	[FI_UINT128] = &coll_reduce_uint128,
};

size_t coll_type_size(enum fi_datatype datatype)
{
	return wf_atomic_size(datatype);
}

coll_reduce_fn *coll_reduce(enum fi_datatype datatype, enum fi_op op)
{
	if ((size_t)datatype >= WF_ARRAY_SIZE(types) || (size_t)op > FI_BXOR)
		return NULL;
	return types[datatype]->fn[op];
}
