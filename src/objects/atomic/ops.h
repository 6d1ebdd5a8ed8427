/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_ATOMIC_OPS_H
#define WF_OBJECTS_ATOMIC_OPS_H

#include <stddef.h>
#include <rdma/fi_atomic.h>

#include "objects/op/op.h"

/*
 * The atomic operations in software.
 *
 * Each update of an element is atomic with respect to all other operations of this
 * file. How it is done depends on size and alignment:
 *
 *   up to 8 bytes, aligned to its size    an instruction; also atomic for other
 *                                         processes that map the memory
 *   16 bytes, aligned to its size         the same where the processor has one
 *                                         (sys/cas16.h), else a lock
 *   all other elements                    a lock of this process
 *
 * An element that keeps its value is not written, so that FI_ATOMIC_READ works on
 * read-only memory (except for 16 bytes on AArch64).
 *
 * Integers wrap. Comparisons are as in C: with a NaN only "not equal" is true, so
 * FI_MIN and FI_MAX keep a NaN at the target and ignore one in the operand, and
 * -0.0 equals 0.0. Logical operations give 0 or 1.
 */

/* Bytes of an element; 0: the datatype is not supported. */
size_t wf_atomic_size(enum fi_datatype datatype);

/* Check that @op is possible on @datatype in calls of @kind (WF_OP_ATOMIC, _FETCH,
 * _COMPARE), and return the number of elements that fit in @max_size bytes. 0, or
 * -FI_EOPNOTSUPP. */
int wf_atomic_valid(enum wf_op_kind kind, enum fi_datatype datatype, enum fi_op op,
	size_t max_size, size_t *ret_count);

/*
 * Apply @op to @count elements at @dst, one after the other; wf_atomic_valid returned
 * 0.
 * @src: operands; NULL for FI_ATOMIC_READ. @compare: compare operands of WF_OP_COMPARE,
 * else NULL. @result: gets the previous values; may be NULL, or equal to @src or
 * @compare. No address needs to be aligned.
 */
void wf_atomic_apply(enum fi_datatype datatype, enum fi_op op, void *dst,
	const void *src, const void *compare, void *result, size_t count);

#endif
