/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The atomic operations of one type of objects/atomic/types.inl, as
 * wf_atomic_<NAME>.
 */

#include "objects/atomic/value.inl"

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
		 * thread that sees a count in an element sees the work that it
		 * counts. */
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

#define OPERATION(op)                                                                  \
	static void FN(op)(void *dst, const void *src, const void *compare,            \
		void *result, size_t count)                                            \
	{                                                                              \
		FN(each)(dst, src, compare, result, count, FN(JOIN(op, of)));          \
	}

OPERATION(sum)
OPERATION(diff)
OPERATION(prod)
#if defined(UNSIGNED)
OPERATION(bor)
OPERATION(band)
OPERATION(bxor)
OPERATION(mswap)
#endif
#if defined(ORDERED)
OPERATION(min)
OPERATION(max)
OPERATION(cswap_le)
OPERATION(cswap_lt)
OPERATION(cswap_ge)
OPERATION(cswap_gt)
#endif
OPERATION(lor)
OPERATION(land)
OPERATION(lxor)
OPERATION(read)
OPERATION(write)
OPERATION(cswap)
OPERATION(cswap_ne)

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
#include "objects/atomic/type_end.inl"
