/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_PROVIDERS_COLL_REDUCE_H
#define WF_PROVIDERS_COLL_REDUCE_H

#include <stddef.h>
#include <rdma/fi_atomic.h>

/* Bytes of an element of @datatype; 0: collectives cannot have it. */
size_t coll_type_size(enum fi_datatype datatype);

/* dst[i] = a[i] op b[i] for @count elements. @dst may be @a or @b, else they do not
 * overlap. Elements need not be aligned. */
typedef void coll_reduce_fn(void *dst, const void *a, const void *b, size_t count);

/* The function for @op (FI_MIN to FI_BXOR) on @datatype, with the results of
 * fi_atomic(3) (objects/atomic/ops.h). NULL: not possible, -FI_EOPNOTSUPP for the
 * caller. */
coll_reduce_fn *coll_reduce(enum fi_datatype datatype, enum fi_op op);

#endif
