/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_OBJECTS_ATOMIC_TYPE_H
#define WF_OBJECTS_ATOMIC_TYPE_H

#include <float.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>

#include "objects/atomic/ops.h"
#include "sys/cas16.h"
#include "sys/compiler.h"
#include "sys/lock.h"

/* The interface of the generated operations; type.inl generates those of one type. */

typedef void (*wf_atomic_fn)(
	void *dst, const void *src, const void *compare, void *result, size_t count);

enum { WF_ATOMIC_OPS = FI_DIFF + 1 };

/* One datatype: bytes of an element, and its operations; NULL where C has none. */
struct wf_atomic_type {
	size_t size;                    /* bytes of an element */
	wf_atomic_fn fn[WF_ATOMIC_OPS]; /* by enum fi_op */
};

extern const struct wf_atomic_type wf_atomic_int8, wf_atomic_uint8, wf_atomic_int16,
	wf_atomic_uint16, wf_atomic_int32, wf_atomic_uint32, wf_atomic_int64,
	wf_atomic_uint64, wf_atomic_int128, wf_atomic_uint128, wf_atomic_float,
	wf_atomic_double, wf_atomic_long_double, wf_atomic_float_complex,
	wf_atomic_double_complex, wf_atomic_long_double_complex;

/* The x87 format has 10 bytes, in 16 of memory. */
#define WF_LONG_DOUBLE_BYTES (LDBL_MANT_DIG == 64 ? 10 : sizeof(long double))

/* The lock for an element that the processor cannot update in one step, selected by the
 * element's address. */
struct wf_lock *wf_atomic_lock(const void *element);

/* True if this processor has the instructions that sys/cas16.h needs. */
bool wf_atomic_cas16(void);

#endif
