/* SPDX-License-Identifier: BSD-2-Clause */
#include <complex.h>
#include <float.h>
#include <math.h>

#include "unit.h"

/* Every reduction has the results of objects/atomic/ops.h, on random values and on
 * those that are special: NaN, zeros of both signs, infinities, the ends of ranges. */

enum { COUNT = 301, GUARD = 32, WIDEST = sizeof(long double _Complex) };

static uint64_t seed = 0x9e3779b97f4a7c15;

static double random_real(void)
{
	static const double special[] = { NAN, -NAN, 0.0, -0.0, INFINITY, -INFINITY, 1,
		-1, FLT_MAX, FLT_MIN, 1e-40, DBL_MAX };
	uint64_t bits = random_next(&seed);

	if (bits % 3 == 0)
		return special[bits / 3 % WF_ARRAY_SIZE(special)];
	return ((double)(int64_t)bits) / (double)(1 << 30);
}

/* The real type that values of @datatype consist of; FI_VOID: they are integers. */
static enum fi_datatype part_of(enum fi_datatype datatype)
{
	switch (datatype) {
	case FI_FLOAT:
	case FI_FLOAT_COMPLEX:
		return FI_FLOAT;
	case FI_DOUBLE:
	case FI_DOUBLE_COMPLEX:
		return FI_DOUBLE;
	case FI_LONG_DOUBLE:
	case FI_LONG_DOUBLE_COMPLEX:
		return FI_LONG_DOUBLE;
	default:
		return FI_VOID;
	}
}

static void fill(enum fi_datatype datatype, unsigned char *at, size_t len)
{
	enum fi_datatype part = part_of(datatype);
	size_t size = part == FI_VOID ? 1 : wf_atomic_size(part);

	for (size_t i = 0; i < len; i += size) {
		double real = random_real();
		float narrow = (float)real;
		long double wide = real;
		uint64_t bits = random_next(&seed);

		if (part == FI_FLOAT)
			memcpy(at + i, &narrow, sizeof(narrow));
		else if (part == FI_DOUBLE)
			memcpy(at + i, &real, sizeof(real));
		else if (part == FI_LONG_DOUBLE)
			memcpy(at + i, &wide, sizeof(wide));
		else /* whole bytes of zeros and ones, so that equal values occur */
			at[i] = bits % 4 == 0 ? 0 : bits % 4 == 1 ? 0xff : bits >> 8;
	}
}

/* Like bits; any NaN equals any other, padding does not count. */
static bool same(enum fi_datatype datatype, const unsigned char *a,
	const unsigned char *b, size_t len)
{
	enum fi_datatype part = part_of(datatype);
	size_t size = part == FI_VOID ? 1 : wf_atomic_size(part);

	for (size_t i = 0; i < len; i += size) {
		long double x = 0, y = 0;
		double dx, dy;
		float fx, fy;

		if (part == FI_FLOAT) {
			memcpy(&fx, a + i, sizeof(fx));
			memcpy(&fy, b + i, sizeof(fy));
			x = fx, y = fy;
		} else if (part == FI_DOUBLE) {
			memcpy(&dx, a + i, sizeof(dx));
			memcpy(&dy, b + i, sizeof(dy));
			x = dx, y = dy;
		} else if (part == FI_LONG_DOUBLE) {
			memcpy(&x, a + i, sizeof(x));
			memcpy(&y, b + i, sizeof(y));
		} else {
			x = a[i], y = b[i];
		}
		if (isnan(x) || isnan(y) ? !isnan(x) || !isnan(y)
					 : x != y || !signbit(x) != !signbit(y))
			return false;
	}
	return true;
}

static void check(enum fi_datatype datatype, enum fi_op op, size_t count, size_t offset,
	char dst_is)
{
	static unsigned char first[COUNT * WIDEST], second[COUNT * WIDEST],
		want[COUNT * WIDEST], a[COUNT * WIDEST + 2 * GUARD],
		b[COUNT * WIDEST + 2 * GUARD], c[COUNT * WIDEST + 2 * GUARD];
	size_t len = count * wf_atomic_size(datatype);
	unsigned char *dst = dst_is == 'a' ? a : dst_is == 'b' ? b : c;

	fill(datatype, first, len);
	fill(datatype, second, len);
	memset(dst, 0xa5, sizeof(c));
	memcpy(a + offset, first, len);
	memcpy(b + offset, second, len);
	memcpy(want, first, len);
	wf_atomic_apply(datatype, op, want, second, NULL, NULL, count);
	coll_reduce(datatype, op)(dst + offset, a + offset, b + offset, count);
	if (!same(datatype, dst + offset, want, len))
		fail_msg("datatype %d op %d count %zu dst %c", datatype, op, count,
			dst_is);
	for (size_t i = 0; i < offset; i++)
		assert_int_equal(dst[i], 0xa5);
	for (size_t i = 0; i < GUARD; i++)
		assert_int_equal(dst[offset + len + i], 0xa5);
	if (dst != a)
		assert_memory_equal(a + offset, first, len);
	if (dst != b)
		assert_memory_equal(b + offset, second, len);
}

/* Every operation on every datatype, aligned or not, of lengths around those of
 * vectors, with the destination in place of each operand. */
static void test_values(void **state)
{
	static const size_t counts[] = { 0, 1, 2, 3, 15, 16, 17, 64, COUNT };
	static const size_t offsets[] = { 0, 1, 16 };

	(void)state;
	for (int datatype = 0; datatype < DATATYPES; datatype++)
		for (int op = 0; op < REDUCTIONS; op++) {
			if (!coll_reduce(datatype, op))
				continue;
			for (size_t i = 0; i < WF_ARRAY_SIZE(counts); i++)
				for (size_t j = 0; j < WF_ARRAY_SIZE(offsets); j++)
					for (char dst = 'a'; dst <= 'c'; dst++)
						check(datatype, op, counts[i],
							offsets[j], dst);
		}
}

/* What can be reduced is what can be an atomic operation. */
static void test_valid(void **state)
{
	size_t count;

	(void)state;
	for (int datatype = -1; datatype < 64; datatype++) {
		assert_int_equal(coll_type_size(datatype), wf_atomic_size(datatype));
		for (int op = FI_MIN; op <= FI_BXOR; op++) {
			int err = wf_atomic_valid(
				WF_OP_ATOMIC, datatype, op, WIDEST, &count);

			assert_int_equal(coll_reduce(datatype, op) == NULL, err != 0);
		}
		assert_null(coll_reduce(datatype, FI_ATOMIC_READ));
		assert_null(coll_reduce(datatype, FI_ATOMIC_WRITE));
		assert_null(coll_reduce(datatype, FI_NOOP));
		assert_null(coll_reduce(datatype, (enum fi_op) - 1));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_valid),
	};

	return cmocka_run_group_tests_name("coll_reduce", tests, NULL, NULL);
}
