/* SPDX-License-Identifier: BSD-2-Clause */
#include "atomic_model.h"

#include <complex.h>

#define ARITHMETIC(o, t)                                                               \
	case FI_SUM:                                                                   \
		*t = *t + *o;                                                          \
		break;                                                                 \
	case FI_PROD:                                                                  \
		*t = *t * *o;                                                          \
		break;                                                                 \
	case FI_DIFF:                                                                  \
		*t = *t - *o;                                                          \
		break

/* Integers wrap, which C defines for unsigned ones of at least the size of int
 * alone. */
#define WIDE(x) ((unsigned __int128)(x))
#define ARITHMETIC_INTEGER(o, t)                                                       \
	case FI_SUM:                                                                   \
		*t = (__typeof__(*t))(WIDE(*t) + WIDE(*o));                            \
		break;                                                                 \
	case FI_PROD:                                                                  \
		*t = (__typeof__(*t))(WIDE(*t) * WIDE(*o));                            \
		break;                                                                 \
	case FI_DIFF:                                                                  \
		*t = (__typeof__(*t))(WIDE(*t) - WIDE(*o));                            \
		break

#define EQUALITY(c, o, t)                                                              \
	case FI_LOR:                                                                   \
		*t = *t != 0 || *o != 0;                                               \
		break;                                                                 \
	case FI_LAND:                                                                  \
		*t = *t != 0 && *o != 0;                                               \
		break;                                                                 \
	case FI_LXOR:                                                                  \
		*t = (*t != 0) != (*o != 0);                                           \
		break;                                                                 \
	case FI_ATOMIC_WRITE:                                                          \
		*t = *o;                                                               \
		break;                                                                 \
	case FI_CSWAP:                                                                 \
		*t = *c == *t ? *o : *t;                                               \
		break;                                                                 \
	case FI_CSWAP_NE:                                                              \
		*t = *c != *t ? *o : *t;                                               \
		break

#define ORDER(c, o, t)                                                                 \
	case FI_MIN:                                                                   \
		*t = *o < *t ? *o : *t;                                                \
		break;                                                                 \
	case FI_MAX:                                                                   \
		*t = *o > *t ? *o : *t;                                                \
		break;                                                                 \
	case FI_CSWAP_LE:                                                              \
		*t = *c <= *t ? *o : *t;                                               \
		break;                                                                 \
	case FI_CSWAP_LT:                                                              \
		*t = *c < *t ? *o : *t;                                                \
		break;                                                                 \
	case FI_CSWAP_GE:                                                              \
		*t = *c >= *t ? *o : *t;                                               \
		break;                                                                 \
	case FI_CSWAP_GT:                                                              \
		*t = *c > *t ? *o : *t;                                                \
		break

#define BITS(c, o, t)                                                                  \
	case FI_BOR:                                                                   \
		*t = *t | *o;                                                          \
		break;                                                                 \
	case FI_BAND:                                                                  \
		*t = *t & *o;                                                          \
		break;                                                                 \
	case FI_BXOR:                                                                  \
		*t = *t ^ *o;                                                          \
		break;                                                                 \
	case FI_MSWAP:                                                                 \
		*t = (*o & *c) | (*t & ~*c);                                           \
		break

#define MODEL(name, type, number, cases)                                               \
	enum { sizeof_##name = sizeof(type) };                                         \
	static void set_##name(void *array, size_t i, int value)                       \
	{                                                                              \
		((type *)array)[i] = (type)(number);                                   \
	}                                                                              \
	static bool equal_##name(const void *a, const void *b, size_t i)               \
	{                                                                              \
		return ((const type *)a)[i] == ((const type *)b)[i];                   \
	}                                                                              \
	static void apply_##name(enum fi_op op, void *target, const void *operand,     \
		const void *compare, size_t i)                                         \
	{                                                                              \
		type *t = (type *)target + i;                                          \
		const type *o = (const type *)operand + i;                             \
		const type *c = (const type *)compare + i;                             \
                                                                                       \
		(void)c;                                                               \
		switch (op) {                                                          \
			cases;                                                         \
		default:                                                               \
			break;                                                         \
		}                                                                      \
	}

#define CASES_INTEGER                                                                  \
	ARITHMETIC_INTEGER(o, t);                                                      \
	EQUALITY(c, o, t);                                                             \
	ORDER(c, o, t);                                                                \
	BITS(c, o, t)
#define CASES_REAL                                                                     \
	ARITHMETIC(o, t);                                                              \
	EQUALITY(c, o, t);                                                             \
	ORDER(c, o, t)
#define CASES_COMPLEX                                                                  \
	ARITHMETIC(o, t);                                                              \
	EQUALITY(c, o, t)

MODEL(int8, int8_t, value, CASES_INTEGER)
MODEL(uint8, uint8_t, value, CASES_INTEGER)
MODEL(int16, int16_t, value, CASES_INTEGER)
MODEL(uint16, uint16_t, value, CASES_INTEGER)
MODEL(int32, int32_t, value, CASES_INTEGER)
MODEL(uint32, uint32_t, value, CASES_INTEGER)
MODEL(int64, int64_t, value, CASES_INTEGER)
MODEL(uint64, uint64_t, value, CASES_INTEGER)
MODEL(int128, __int128, value *((__int128)1 << 60), CASES_INTEGER)
MODEL(uint128, unsigned __int128, value *((__int128)1 << 60), CASES_INTEGER)
MODEL(float, float, value / 4.0f, CASES_REAL)
MODEL(double, double, value / 8.0, CASES_REAL)
MODEL(long_double, long double, value / 16.0L, CASES_REAL)
MODEL(float_complex, float complex, value + 0.5f * (float)value * I, CASES_COMPLEX)
MODEL(double_complex, double complex, value - 2.0 * value * I, CASES_COMPLEX)
MODEL(long_double_complex, long double complex, value + 1.5L * value * I, CASES_COMPLEX)

#define TYPE(word, number, kind, opt)                                                  \
	{                                                                              \
		.name = #word, .datatype = number, .class = kind, .optional = opt,     \
		.set = set_##word, .equal = equal_##word, .apply = apply_##word,       \
		.size = sizeof_##word,                                                 \
	}

const struct am_type am_types[] = {
	TYPE(int8, FI_INT8, AM_INTEGER, false),
	TYPE(uint8, FI_UINT8, AM_INTEGER, false),
	TYPE(int16, FI_INT16, AM_INTEGER, false),
	TYPE(uint16, FI_UINT16, AM_INTEGER, false),
	TYPE(int32, FI_INT32, AM_INTEGER, false),
	TYPE(uint32, FI_UINT32, AM_INTEGER, false),
	TYPE(int64, FI_INT64, AM_INTEGER, false),
	TYPE(uint64, FI_UINT64, AM_INTEGER, false),
	TYPE(int128, FI_INT128, AM_INTEGER, true),
	TYPE(uint128, FI_UINT128, AM_INTEGER, true),
	TYPE(float, FI_FLOAT, AM_REAL, false),
	TYPE(double, FI_DOUBLE, AM_REAL, false),
	TYPE(long_double, FI_LONG_DOUBLE, AM_REAL, false),
	TYPE(float_complex, FI_FLOAT_COMPLEX, AM_COMPLEX, false),
	TYPE(double_complex, FI_DOUBLE_COMPLEX, AM_COMPLEX, false),
	TYPE(long_double_complex, FI_LONG_DOUBLE_COMPLEX, AM_COMPLEX, false),
};
const size_t am_type_count = sizeof(am_types) / sizeof(am_types[0]);

static bool compares(enum fi_op op)
{
	return op >= FI_CSWAP && op <= FI_MSWAP;
}

bool am_valid(const struct am_type *type, enum fi_op op, enum am_kind kind)
{
	if (compares(op) != (kind == AM_COMPARE))
		return false;
	if (op == FI_ATOMIC_READ && kind != AM_FETCH)
		return false;
	switch (op) {
	case FI_BOR:
	case FI_BAND:
	case FI_BXOR:
	case FI_MSWAP:
		return type->class == AM_INTEGER;
	case FI_MIN:
	case FI_MAX:
	case FI_CSWAP_LE:
	case FI_CSWAP_LT:
	case FI_CSWAP_GE:
	case FI_CSWAP_GT:
		return type->class != AM_COMPLEX;
	default:
		return true;
	}
}
