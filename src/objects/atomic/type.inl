/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The operations of one type, generated where this is included. Before that:
 *
 *   NAME      the suffix of the generated wf_atomic_<NAME>
 *   T         the type in C
 *   WORD      unsigned integer of the same size that C11 swaps; or
 *   WIDE      16 bytes; or neither: always under the lock
 *   ORDERED   < and > mean something
 *   UNSIGNED  integers: the unsigned type, at least of int's size, for arithmetic
 *             that wraps
 *
 *   PARTS, PART_BYTES  for types with padding: the number of equal parts of a value,
 * and the bytes in each that hold the value
 *
 * t is the element, b the operand, c what it is compared with.
 */

#define JOIN_(a, b) a##_##b
#define JOIN(a, b)  JOIN_(a, b)
#define FN(what)    JOIN(NAME, what)

#if !defined(PARTS)
#define PARTS      1
#define PART_BYTES sizeof(T)
#endif

typedef T FN(next_fn)(T t, T b, T c);

/* Copy a value without the padding of long double: the padding in memory stays
 * unchanged, so that different bytes mean different values. */
static inline void FN(put)(void *bytes, const T *value)
{
	const size_t part = sizeof(T) / PARTS;

	for (size_t i = 0; i < PARTS; i++)
		memcpy((char *)bytes + i * part, (const char *)value + i * part,
			PART_BYTES);
}

/* update() under a lock, for elements that no instruction can update. Out of line: it
 * is rare, and the same for all operations. */
static __attribute__((noinline)) void FN(update_locked)(
	void *p, T b, T c, void *result, FN(next_fn) * next)
{
	unsigned char old_bytes[sizeof(T)], new_bytes[sizeof(T)];
	struct wf_lock *lock = wf_atomic_lock(p);
	T t, n;

	wf_lock(lock);
	memcpy(old_bytes, p, sizeof(t));
	memcpy(&t, old_bytes, sizeof(t));
	n = next(t, b, c);
	memcpy(new_bytes, old_bytes, sizeof(t));
	FN(put)(new_bytes, &n);
	if (memcmp(new_bytes, old_bytes, sizeof(t)))
		memcpy(p, new_bytes, sizeof(t));
	wf_unlock(lock);
	if (result)
		memcpy(result, old_bytes, sizeof(t));
}

/* Replace the value at @p by next(value, b, c); @result, if not NULL, gets the previous
 * value. */
WF_INLINE void FN(update)(void *p, T b, T c, void *result, FN(next_fn) * next)
{
#if defined(WORD)
	if (wf_likely((uintptr_t)p % sizeof(WORD) == 0)) {
		_Atomic(WORD) *word = p;
		/* acquire, also below: pairs with the release of another update. A
		 * thread that sees a count in an element sees the work that it counts.
		 */
		WORD old = atomic_load_explicit(word, memory_order_acquire), new_word;
		T t, n;

		_Static_assert(sizeof(T) == sizeof(WORD), "wrong word");
		do {
			memcpy(&t, &old, sizeof(t));
			n = next(t, b, c);
			memcpy(&new_word, &n, sizeof(n));
		} while (new_word != old &&
			 !atomic_compare_exchange_weak_explicit(word, &old, new_word,
				 memory_order_acq_rel, memory_order_acquire));
		if (result)
			memcpy(result, &old, sizeof(old));
		return;
	}
#elif defined(WIDE)
	if (wf_likely((uintptr_t)p % sizeof(wf_u128) == 0 && wf_atomic_cas16())) {
		wf_u128 old = wf_load16(p), new_word;
		T t, n;

		_Static_assert(sizeof(T) == sizeof(wf_u128), "wrong word");
		do {
			memcpy(&t, &old, sizeof(t));
			n = next(t, b, c);
			new_word = old;
			FN(put)(&new_word, &n);
		} while (new_word != old && !wf_cas16(p, &old, new_word));
		if (result)
			memcpy(result, &old, sizeof(old));
		return;
	}
#endif
	FN(update_locked)(p, b, c, result, next);
}

WF_INLINE void FN(each)(void *dst, const void *src, const void *compare, void *result,
	size_t count, FN(next_fn) * next)
{
	for (size_t at = 0; at < count * sizeof(T); at += sizeof(T)) {
		T b = 0, c = 0;

		if (src)
			memcpy(&b, (const char *)src + at, sizeof(b));
		if (compare)
			memcpy(&c, (const char *)compare + at, sizeof(c));
		FN(update)
		((char *)dst + at, b, c, result ? (char *)result + at : NULL, next);
	}
}

#define OPERATION(op, value)                                                           \
	static inline T FN(JOIN(op, of))(T t, T b, T c)                                \
	{                                                                              \
		(void)t, (void)b, (void)c;                                             \
		return value;                                                          \
	}                                                                              \
	static void FN(op)(void *dst, const void *src, const void *compare,            \
		void *result, size_t count)                                            \
	{                                                                              \
		FN(each)(dst, src, compare, result, count, FN(JOIN(op, of)));          \
	}

#if defined(UNSIGNED)
OPERATION(sum, (T)((UNSIGNED)t + (UNSIGNED)b))
OPERATION(diff, (T)((UNSIGNED)t - (UNSIGNED)b))
OPERATION(prod, (T)((UNSIGNED)t *(UNSIGNED)b))
OPERATION(bor, t | b)
OPERATION(band, (t & b))
OPERATION(bxor, t ^ b)
OPERATION(mswap, (b & c) | (t & ~c))
#else
OPERATION(sum, t + b)
OPERATION(diff, t - b)
OPERATION(prod, (t * b))
#endif
#if defined(ORDERED)
OPERATION(min, b < t ? b : t)
OPERATION(max, b > t ? b : t)
OPERATION(cswap_le, c <= t ? b : t)
OPERATION(cswap_lt, c < t ? b : t)
OPERATION(cswap_ge, c >= t ? b : t)
OPERATION(cswap_gt, c > t ? b : t)
#endif
OPERATION(lor, t != 0 || b != 0)
OPERATION(land, t != 0 && b != 0)
OPERATION(lxor, (t != 0) != (b != 0))
OPERATION(read, t)
OPERATION(write, b)
OPERATION(cswap, c == t ? b : t)
OPERATION(cswap_ne, c != t ? b : t)

const struct wf_atomic_type JOIN(wf_atomic, NAME) = {
	.size = sizeof(T),
	.fn = {
		[FI_SUM] = FN(sum),
		[FI_DIFF] = FN(diff),
		[FI_PROD] = FN(prod),
#if defined(UNSIGNED)
		[FI_BOR] = FN(bor),
		[FI_BAND] = FN(band),
		[FI_BXOR] = FN(bxor),
		[FI_MSWAP] = FN(mswap),
#endif
#if defined(ORDERED)
		[FI_MIN] = FN(min),
		[FI_MAX] = FN(max),
		[FI_CSWAP_LE] = FN(cswap_le),
		[FI_CSWAP_LT] = FN(cswap_lt),
		[FI_CSWAP_GE] = FN(cswap_ge),
		[FI_CSWAP_GT] = FN(cswap_gt),
#endif
		[FI_LOR] = FN(lor),
		[FI_LAND] = FN(land),
		[FI_LXOR] = FN(lxor),
		[FI_ATOMIC_READ] = FN(read),
		[FI_ATOMIC_WRITE] = FN(write),
		[FI_CSWAP] = FN(cswap),
		[FI_CSWAP_NE] = FN(cswap_ne),
	},
};

#undef OPERATION
#undef FN
#undef JOIN
#undef JOIN_
#undef NAME
#undef T
#undef WORD
#undef WIDE
#undef ORDERED
#undef UNSIGNED
#undef PARTS
#undef PART_BYTES
