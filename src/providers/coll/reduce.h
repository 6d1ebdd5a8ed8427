/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_COLL_REDUCE_H
#define WF_COLL_REDUCE_H

#include <stddef.h>
#include <rdma/fi_atomic.h>

/* Size of an element of @datatype in bytes; 0: collectives do not support it. */
size_t coll_type_size(enum fi_datatype datatype);

/* Computes dst[i] = a[i] op b[i] for @count elements. @dst may be equal to @a or @b,
 * else they do not overlap. Elements need not be aligned. */
typedef void coll_reduce_fn(void *dst, const void *a, const void *b, size_t count);

/* The function for @op (FI_MIN to FI_BXOR) on @datatype, with the results of
 * fi_atomic(3) (objects/atomic/ops.h). NULL: not supported; the caller returns
 * -FI_EOPNOTSUPP. */
coll_reduce_fn *coll_reduce(enum fi_datatype datatype, enum fi_op op);

#endif
