/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The values that operations compute for one type of objects/atomic/types.inl: for each
 * operation <op> a function <NAME>_<op>_of(t, b, c). t is the element, b the operand,
 * c what the element is compared with.
 */

#define JOIN_(a, b) a##_##b
#define JOIN(a, b)  JOIN_(a, b)
#define FN(what)    JOIN(NAME, what)

#define VALUE(op, value)                                                               \
	static inline T FN(JOIN(op, of))(T t, T b, T c)                                \
	{                                                                              \
		(void)t, (void)b, (void)c;                                             \
		return value;                                                          \
	}

#if defined(UNSIGNED)
VALUE(sum, (T)((UNSIGNED)t + (UNSIGNED)b))
VALUE(diff, (T)((UNSIGNED)t - (UNSIGNED)b))
VALUE(prod, (T)((UNSIGNED)t *(UNSIGNED)b))
VALUE(bor, t | b)
VALUE(band, (t & b))
VALUE(bxor, t ^ b)
VALUE(mswap, (b & c) | (t & ~c))
#else
VALUE(sum, t + b)
VALUE(diff, t - b)
VALUE(prod, (t * b))
#endif
#if defined(ORDERED)
VALUE(min, b < t ? b : t)
VALUE(max, b > t ? b : t)
VALUE(cswap_le, c <= t ? b : t)
VALUE(cswap_lt, c < t ? b : t)
VALUE(cswap_ge, c >= t ? b : t)
VALUE(cswap_gt, c > t ? b : t)
#endif
VALUE(lor, t != 0 || b != 0)
VALUE(land, t != 0 && b != 0)
VALUE(lxor, (t != 0) != (b != 0))
VALUE(read, t)
VALUE(write, b)
VALUE(cswap, c == t ? b : t)
VALUE(cswap_ne, c != t ? b : t)

#undef VALUE
