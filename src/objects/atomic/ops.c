/* SPDX-License-Identifier: BSD-2-Clause */
#include <rdma/providers/fi_log.h>

#include "objects/atomic/type.h"

static const struct wf_atomic_type *const types[] = {
	[FI_INT8] = &wf_atomic_int8,
	[FI_UINT8] = &wf_atomic_uint8,
	[FI_INT16] = &wf_atomic_int16,
	[FI_UINT16] = &wf_atomic_uint16,
	[FI_INT32] = &wf_atomic_int32,
	[FI_UINT32] = &wf_atomic_uint32,
	[FI_INT64] = &wf_atomic_int64,
	[FI_UINT64] = &wf_atomic_uint64,
	[FI_FLOAT] = &wf_atomic_float,
	[FI_DOUBLE] = &wf_atomic_double,
	[FI_FLOAT_COMPLEX] = &wf_atomic_float_complex,
	[FI_DOUBLE_COMPLEX] = &wf_atomic_double_complex,
	[FI_LONG_DOUBLE] = &wf_atomic_long_double,
	[FI_LONG_DOUBLE_COMPLEX] = &wf_atomic_long_double_complex,
	[FI_INT128] = &wf_atomic_int128,
	[FI_UINT128] = &wf_atomic_uint128,
};

/* In which kinds of calls each operation is allowed, as bits of enum wf_op_kind. */
#define KIND(kind) (1u << WF_OP_##kind)
#define UPDATES    (KIND(ATOMIC) | KIND(FETCH))

static const unsigned int kinds[WF_ATOMIC_OPS] = {
	[FI_MIN] = UPDATES,
	[FI_MAX] = UPDATES,
	[FI_SUM] = UPDATES,
	[FI_PROD] = UPDATES,
	[FI_LOR] = UPDATES,
	[FI_LAND] = UPDATES,
	[FI_BOR] = UPDATES,
	[FI_BAND] = UPDATES,
	[FI_LXOR] = UPDATES,
	[FI_BXOR] = UPDATES,
	[FI_ATOMIC_READ] = KIND(FETCH),
	[FI_ATOMIC_WRITE] = UPDATES,
	[FI_CSWAP] = KIND(COMPARE),
	[FI_CSWAP_NE] = KIND(COMPARE),
	[FI_CSWAP_LE] = KIND(COMPARE),
	[FI_CSWAP_LT] = KIND(COMPARE),
	[FI_CSWAP_GE] = KIND(COMPARE),
	[FI_CSWAP_GT] = KIND(COMPARE),
	[FI_MSWAP] = KIND(COMPARE),
	[FI_DIFF] = UPDATES,
};

size_t wf_atomic_size(enum fi_datatype datatype)
{
	return (size_t)datatype < WF_ARRAY_SIZE(types) ? types[datatype]->size : 0;
}

int wf_atomic_valid(enum wf_op_kind kind, enum fi_datatype datatype, enum fi_op op,
	size_t max_size, size_t *ret_count)
{
	size_t size = wf_atomic_size(datatype);

	if (!size || (size_t)op >= WF_ATOMIC_OPS || !(kinds[op] & 1u << kind) ||
		!types[datatype]->fn[op] || max_size < size)
		return -FI_EOPNOTSUPP;
	*ret_count = max_size / size;
	return 0;
}

void wf_atomic_apply(enum fi_datatype datatype, enum fi_op op, void *dst,
	const void *src, const void *compare, void *result, size_t count)
{
	types[datatype]->fn[op](dst, src, compare, result, count);
}

struct wf_lock *wf_atomic_lock(const void *element)
{
	enum { LOCKS = 64 };
	static struct {
		_Alignas(WF_CACHELINE) struct wf_lock lock;
	} table[LOCKS] = { [0 ... LOCKS - 1] = { { .kind = WF_LOCK_SPIN } } };
	uintptr_t address = (uintptr_t)element;

	return &table[(address ^ address >> 6) % LOCKS].lock;
}

/* Concurrent first calls store the same answer. */
bool wf_atomic_cas16(void)
{
	static atomic_int known; /* 0: not yet; else 1 + answer */
	int answer = atomic_load_explicit(&known, memory_order_relaxed);

	if (wf_unlikely(!answer)) {
		answer = 1 + wf_cas16_present();
		atomic_store_explicit(&known, answer, memory_order_relaxed);
	}
	return answer == 2;
}
