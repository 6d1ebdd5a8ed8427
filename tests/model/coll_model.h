/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_MODEL_COLL_MODEL_H
#define TESTS_MODEL_COLL_MODEL_H

#include <rdma/fi_collective.h>

#include "atomic_model.h"

/*
 * What collective operations do, in plain C: the buffers of a member before an
 * operation, which follow from its rank, and after it. Values are chosen so that
 * reductions are exact in any order, also of floating-point numbers.
 */
struct cm_call {
	enum fi_collective_op kind;
	const struct am_type *type;
	enum fi_op op; /* operation of a reduction */
	size_t count;  /* count of the call, as in fi_collective(3) */
	uint32_t members, root;
	uint32_t seed; /* calls with different seeds have different values */
};

/* Can collectives reduce @type by @op? */
bool cm_reduces(const struct am_type *type, enum fi_op op);
/* Has @kind an operation? */
bool cm_is_reduction(enum fi_collective_op kind);
/* Has @kind a root? */
bool cm_has_root(enum fi_collective_op kind);
/* The name of @kind. */
const char *cm_kind_name(enum fi_collective_op kind);

/* Number of elements of the two buffers of member @rank; 0: it has none. A broadcast
 * has only the first buffer. */
size_t cm_buf_elems(const struct cm_call *call, uint32_t rank);
size_t cm_result_elems(const struct cm_call *call, uint32_t rank);

/* Write the contribution of member @rank to @buf; at a destination of a broadcast,
 * other values. */
void cm_fill(const struct cm_call *call, uint32_t rank, void *buf);

/* Is element @i of the result of member @rank right? @result has cm_result_elems
 * elements; with a broadcast it is the buffer. */
bool cm_right(const struct cm_call *call, uint32_t rank, const void *result, size_t i);

/* Check all elements. False: *@ret_wrong is the first wrong one. */
bool cm_check(const struct cm_call *call, uint32_t rank, const void *result,
	size_t *ret_wrong);

#endif
