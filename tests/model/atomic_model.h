/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_MODEL_ATOMIC_MODEL_H
#define TESTS_MODEL_ATOMIC_MODEL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <rdma/fi_atomic.h>

/* A model of atomic operations, in plain C and independent of the library's code. */

enum am_class { AM_INTEGER, AM_REAL, AM_COMPLEX };

struct am_type {
	const char *name;
	enum fi_datatype datatype;
	enum am_class class;
	size_t size;
	bool optional; /* 128-bit integers */
	/* Set element @i of @array to @value. */
	void (*set)(void *array, size_t i, int value);
	bool (*equal)(const void *a, const void *b, size_t i);
	/* Apply @op to element @i of @target; @compare is used only by compare
	 * operations. */
	void (*apply)(enum fi_op op, void *target, const void *operand,
		const void *compare, size_t i);
};

extern const struct am_type am_types[];
extern const size_t am_type_count;

enum am_kind { AM_BASE, AM_FETCH, AM_COMPARE, AM_KINDS };

/* Flags of fi_query_atomic. */
static const uint64_t am_kind_flags[AM_KINDS] = {
	[AM_FETCH] = FI_FETCH_ATOMIC,
	[AM_COMPARE] = FI_COMPARE_ATOMIC,
};

/* Do fi_atomic(3) and the matrix of the software providers have this combination? */
bool am_valid(const struct am_type *type, enum fi_op op, enum am_kind kind);

#endif
