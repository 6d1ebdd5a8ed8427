/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The reductions of one type of objects/atomic/types.inl, as coll_reduce_<NAME>: plain
 * loops, which the compiler vectorises.
 */

#include "objects/atomic/value.inl"

typedef T FN(element) __attribute__((aligned(1), may_alias));

#define REDUCTION(op)                                                                  \
	static void FN(op)(void *dst, const void *a, const void *b, size_t count)      \
	{                                                                              \
		FN(element) *d = dst;                                                  \
		const FN(element) *t = a, *operand = b;                                \
                                                                                       \
		COLL_INDEPENDENT                                                       \
		for (size_t i = 0; i < count; i++)                                     \
			d[i] = FN(JOIN(op, of))(t[i], operand[i], 0);                  \
	}

REDUCTION(sum)
REDUCTION(prod)
#if defined(UNSIGNED)
REDUCTION(bor)
REDUCTION(band)
REDUCTION(bxor)
#endif
#if defined(ORDERED)
REDUCTION(min)
REDUCTION(max)
#endif
REDUCTION(lor)
REDUCTION(land)
REDUCTION(lxor)

const struct coll_reduce_type JOIN(coll_reduce, NAME) = {
	.fn = {
		[FI_SUM] = FN(sum),
		[FI_PROD] = FN(prod),
#if defined(UNSIGNED)
		[FI_BOR] = FN(bor),
		[FI_BAND] = FN(band),
		[FI_BXOR] = FN(bxor),
#endif
#if defined(ORDERED)
		[FI_MIN] = FN(min),
		[FI_MAX] = FN(max),
#endif
		[FI_LOR] = FN(lor),
		[FI_LAND] = FN(land),
		[FI_LXOR] = FN(lxor),
	},
};

#undef REDUCTION
#include "objects/atomic/type_end.inl"
