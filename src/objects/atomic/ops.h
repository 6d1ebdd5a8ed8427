/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_ATOMIC_OPS_H
#define WF_OBJECTS_ATOMIC_OPS_H

#include <stddef.h>
#include <rdma/fi_atomic.h>

#include "objects/op/op.h"

/*
 * The atomic operations in software.
 *
 * An element is updated in one step that every other atomic operation of this file
 * sees as a whole, with the strength that the memory allows:
 *
 *   up to 8 bytes, aligned to its size    the processor's; any process that maps it
 *   16 bytes, aligned to its size         the same where there is an instruction
 *                                         (sys/cas16.h), else as below
 *   everything else                       a lock of this process
 *
 * An element that keeps its value is not written, so that memory which is only read
 * may be read-only. (16 bytes on AArch64: it has to be writable.)
 *
 * Integers wrap. Comparisons are those of C: none holds for a NaN but "not equal", so
 * that FI_MIN and FI_MAX keep a NaN at the target and ignore one in the operand, and
 * -0.0 equals 0.0. Logical operations give 0 or 1.
 */

/* Bytes of an element, 0 for a type that nothing here works on. */
size_t wf_atomic_size(enum fi_datatype datatype);

/* Is @op possible on @datatype in calls of @kind (WF_OP_ATOMIC, _FETCH, _COMPARE)?
 * 0, and how many elements @max_size bytes have room for. -FI_EOPNOTSUPP: no. */
int wf_atomic_valid(enum wf_op_kind kind, enum fi_datatype datatype, enum fi_op op,
	size_t max_size, size_t *ret_count);

/*
 * @op on @count elements at @dst, one after the other; wf_atomic_valid was asked.
 * @src: operands; NULL for FI_ATOMIC_READ. @compare: for the comparing ones, else NULL.
 * @result: gets the previous values; may be NULL, or @src or @compare. No address
 * needs to be aligned.
 */
void wf_atomic_apply(enum fi_datatype datatype, enum fi_op op, void *dst,
	const void *src, const void *compare, void *result, size_t count);

#endif
