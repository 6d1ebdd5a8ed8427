/* SPDX-License-Identifier: BSD-2-Clause */
#include <complex.h>
#include <float.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cmocka.h>

#include <rdma/fi_errno.h>

#include "objects/atomic/ops.h"
#include "sys/compiler.h"

/*
 * Expected values come from arithmetic of another kind than the code's: integers are
 * computed bit by bit in 128 bits and cut, real and complex numbers are small whole
 * ones computed with __int128 parts.
 */

typedef __int128 wide;
typedef unsigned __int128 uwide;

enum class { SIGNED, PLAIN, REAL, COMPLEX };

static const struct type {
	enum fi_datatype datatype;
	size_t size;
	enum class class;
} types[] = {
	{ FI_INT8, 1, SIGNED },
	{ FI_UINT8, 1, PLAIN },
	{ FI_INT16, 2, SIGNED },
	{ FI_UINT16, 2, PLAIN },
	{ FI_INT32, 4, SIGNED },
	{ FI_UINT32, 4, PLAIN },
	{ FI_INT64, 8, SIGNED },
	{ FI_UINT64, 8, PLAIN },
	{ FI_INT128, 16, SIGNED },
	{ FI_UINT128, 16, PLAIN },
	{ FI_FLOAT, sizeof(float), REAL },
	{ FI_DOUBLE, sizeof(double), REAL },
	{ FI_LONG_DOUBLE, sizeof(long double), REAL },
	{ FI_FLOAT_COMPLEX, sizeof(float complex), COMPLEX },
	{ FI_DOUBLE_COMPLEX, sizeof(double complex), COMPLEX },
	{ FI_LONG_DOUBLE_COMPLEX, sizeof(long double complex), COMPLEX },
};

static bool is_int(const struct type *type)
{
	return type->class <= PLAIN;
}

/* A number that every type can say: parts are whole. */
struct num {
	wide re, im;
};

/* Cut to the type's bits, which stand for a signed number or not. */
static wide cut(const struct type *type, wide v)
{
	unsigned int unused = 128 - 8 * (unsigned int)type->size;
	uwide shifted = (uwide)v << unused;

	if (type->class == PLAIN)
		return (wide)(shifted >> unused);
	return unused ? (wide)shifted / ((wide)1 << unused) : (wide)shifted;
}

static void put(const struct type *type, void *to, struct num n)
{
	long double complex c = (long double)n.re + (long double)n.im * I;
	float complex fc = (float complex)c;
	double complex dc = (double complex)c;
	long double ld = (long double)n.re;
	double d = (double)n.re;
	float f = (float)n.re;

	switch (type->datatype) {
	case FI_FLOAT:
		memcpy(to, &f, sizeof(f));
		break;
	case FI_DOUBLE:
		memcpy(to, &d, sizeof(d));
		break;
	case FI_LONG_DOUBLE:
		memcpy(to, &ld, sizeof(ld));
		break;
	case FI_FLOAT_COMPLEX:
		memcpy(to, &fc, sizeof(fc));
		break;
	case FI_DOUBLE_COMPLEX:
		memcpy(to, &dc, sizeof(dc));
		break;
	case FI_LONG_DOUBLE_COMPLEX:
		memcpy(to, &c, sizeof(c));
		break;
	default:
		memcpy(to, &n.re, type->size); /* little endian */
	}
}

static struct num get(const struct type *type, const void *from)
{
	long double complex c = 0;
	float complex fc;
	double complex dc;
	long double ld;
	double d;
	float f;
	wide v = 0;

	switch (type->datatype) {
	case FI_FLOAT:
		memcpy(&f, from, sizeof(f));
		c = f;
		break;
	case FI_DOUBLE:
		memcpy(&d, from, sizeof(d));
		c = d;
		break;
	case FI_LONG_DOUBLE:
		memcpy(&ld, from, sizeof(ld));
		c = ld;
		break;
	case FI_FLOAT_COMPLEX:
		memcpy(&fc, from, sizeof(fc));
		c = fc;
		break;
	case FI_DOUBLE_COMPLEX:
		memcpy(&dc, from, sizeof(dc));
		c = dc;
		break;
	case FI_LONG_DOUBLE_COMPLEX:
		memcpy(&c, from, sizeof(c));
		break;
	default:
		memcpy(&v, from, type->size);
		return (struct num){ cut(type, v), 0 };
	}
	return (struct num){ (wide)creall(c), (wide)cimagl(c) };
}

static bool zero(struct num n)
{
	return !n.re && !n.im;
}

static bool equal(struct num a, struct num b)
{
	return a.re == b.re && a.im == b.im;
}

/* a < b as the type has it. */
static bool less(const struct type *type, struct num a, struct num b)
{
	return type->class == PLAIN ? (uwide)a.re < (uwide)b.re : a.re < b.re;
}

/* Schoolbook multiplication: additions of shifted values, which wrap. */
static wide times(wide a, wide b)
{
	uwide sum = 0;

	for (int bit = 0; bit < 128; bit++)
		if ((uwide)b >> bit & 1)
			sum += (uwide)a << bit;
	return (wide)sum;
}

static wide plus(wide a, wide b)
{
	return (wide)((uwide)a + (uwide)b);
}

static wide minus(wide a, wide b)
{
	return plus(a, plus(~b, 1));
}

/* What is defined for the class, by fi_atomic(3). */
static bool defined(const struct type *type, enum fi_op op)
{
	switch (op) {
	case FI_BOR:
	case FI_BAND:
	case FI_BXOR:
	case FI_MSWAP:
		return is_int(type);
	case FI_MIN:
	case FI_MAX:
	case FI_CSWAP_LE:
	case FI_CSWAP_LT:
	case FI_CSWAP_GE:
	case FI_CSWAP_GT:
		return type->class != COMPLEX;
	default:
		return op <= FI_DIFF;
	}
}

static struct num expect(const struct type *type, enum fi_op op, struct num t,
	struct num b, struct num c)
{
	switch (op) {
	case FI_MIN:
		return less(type, b, t) ? b : t;
	case FI_MAX:
		return less(type, t, b) ? b : t;
	case FI_SUM:
		return (struct num){ plus(t.re, b.re), plus(t.im, b.im) };
	case FI_DIFF:
		return (struct num){ minus(t.re, b.re), minus(t.im, b.im) };
	case FI_PROD:
		return (struct num){ minus(times(t.re, b.re), times(t.im, b.im)),
			plus(times(t.re, b.im), times(t.im, b.re)) };
	case FI_LOR:
		return (struct num){ !(zero(t) && zero(b)), 0 };
	case FI_LAND:
		return (struct num){ !zero(t) && !zero(b), 0 };
	case FI_LXOR:
		return (struct num){ zero(t) ^ zero(b), 0 };
	case FI_BOR:
		return (struct num){ t.re | b.re, 0 };
	case FI_BAND:
		return (struct num){ t.re & b.re, 0 };
	case FI_BXOR:
		return (struct num){ t.re ^ b.re, 0 };
	case FI_ATOMIC_READ:
		return t;
	case FI_ATOMIC_WRITE:
		return b;
	case FI_CSWAP:
		return equal(c, t) ? b : t;
	case FI_CSWAP_NE:
		return equal(c, t) ? t : b;
	case FI_CSWAP_LE:
		return less(type, t, c) ? t : b;
	case FI_CSWAP_LT:
		return less(type, c, t) ? b : t;
	case FI_CSWAP_GE:
		return less(type, c, t) ? t : b;
	case FI_CSWAP_GT:
		return less(type, t, c) ? b : t;
	case FI_MSWAP:
		return (struct num){ (b.re & c.re) | (t.re & ~c.re), 0 };
	default:
		fail();
		return t;
	}
}

static bool compares(enum fi_op op)
{
	return op >= FI_CSWAP && op <= FI_MSWAP;
}

static enum wf_op_kind kind_of(enum fi_op op)
{
	return compares(op) ? WF_OP_COMPARE : WF_OP_FETCH;
}

/* Whole numbers that are exact in every type; for integers also the ends. */
static size_t samples(const struct type *type, struct num *n)
{
	static const int small[] = { 0, 1, 2, 3, 5, 100, -1, -7, -128 };
	size_t count = 0;

	for (size_t i = 0; i < WF_ARRAY_SIZE(small); i++) {
		wide re = is_int(type) ? cut(type, small[i]) : small[i];

		n[count++] = (struct num){ re, 0 };
		if (type->class == COMPLEX)
			n[count++] = (struct num){ re, small[i] / 2 + 1 };
	}
	if (is_int(type)) {
		wide top = (wide)((uwide)1 << (8 * type->size - 1));

		n[count++] = (struct num){ cut(type, top), 0 };
		n[count++] = (struct num){ cut(type, minus(top, 1)), 0 };
	}
	return count;
}

enum { MANY = 20 };

static void check_one(const struct type *type, enum fi_op op, struct num t,
	struct num b, struct num c, size_t offset, bool fetch)
{
	_Alignas(32) unsigned char dst[64 + 8], src[64 + 8], cmp[64 + 8], res[64 + 8];
	struct num want = expect(type, op, t, b, c), got;

	memset(dst, 0xa5, sizeof(dst));
	memset(res, 0x5a, sizeof(res));
	put(type, dst + offset, t);
	put(type, src + 3, b);
	put(type, cmp + 5, c);
	wf_atomic_apply(type->datatype, op, dst + offset,
		op == FI_ATOMIC_READ ? NULL : src + 3, compares(op) ? cmp + 5 : NULL,
		fetch ? res + 7 : NULL, 1);
	if (is_int(type))
		want.re = cut(type, want.re);
	got = get(type, dst + offset);
	if (!equal(got, want))
		fail_msg("type %d op %d: t %ld+%ldi b %ld+%ldi c %ld: %ld+%ldi, not "
			 "%ld+%ldi",
			type->datatype, op, (long)t.re, (long)t.im, (long)b.re,
			(long)b.im, (long)c.re, (long)got.re, (long)got.im,
			(long)want.re, (long)want.im);
	assert_int_equal(dst[offset + type->size], 0xa5);
	if (offset)
		assert_int_equal(dst[offset - 1], 0xa5);
	if (fetch)
		assert_true(equal(get(type, res + 7), t));
	else
		assert_int_equal(res[7], 0x5a);
}

/* ATM-001 to ATM-008, Appendix B: every operation on every type, aligned or not. */
static void test_values(void **state)
{
	struct num n[MANY];
	size_t max;

	(void)state;
	for (const struct type *type = types; type < types + WF_ARRAY_SIZE(types);
		type++) {
		size_t count = samples(type, n);

		assert_int_equal(wf_atomic_size(type->datatype), type->size);
		for (int op = FI_MIN; op <= FI_DIFF; op++) {
			int valid = wf_atomic_valid(
				kind_of(op), type->datatype, op, 64, &max);

			assert_int_equal(valid, defined(type, op) ? 0 : -FI_EOPNOTSUPP);
			if (valid)
				continue;
			assert_int_equal(max, 64 / type->size);
			for (size_t i = 0; i < count * count * count; i++) {
				struct num t = n[i % count], b = n[i / count % count],
					   c = n[i / count / count];

				if (!compares(op) && i >= count * count)
					break;
				check_one(type, op, t, b, c, 0, true);
				check_one(type, op, t, b, c, 1, i % 2);
				check_one(type, op, t, b, c, type->size, false);
			}
		}
	}
}

/* Arrays, element after element; the result may take the operand's place. */
static void test_arrays(void **state)
{
	struct num n[MANY];

	(void)state;
	for (const struct type *type = types; type < types + WF_ARRAY_SIZE(types);
		type++) {
		_Alignas(32) unsigned char dst[MANY * 32], src[MANY * 32];
		size_t count = samples(type, n), size = type->size;

		for (size_t i = 0; i < count; i++) {
			put(type, dst + i * size, n[i]);
			put(type, src + i * size, n[count - 1 - i]);
		}
		wf_atomic_apply(type->datatype, FI_SUM, dst, src, NULL, src, count);
		for (size_t i = 0; i < count; i++) {
			struct num want =
				expect(type, FI_SUM, n[i], n[count - 1 - i], n[0]);

			if (is_int(type))
				want.re = cut(type, want.re);
			assert_true(equal(get(type, dst + i * size), want));
			assert_true(equal(get(type, src + i * size), n[i]));
		}
	}
}

/* ATM-008 to ATM-010 */
static void test_valid(void **state)
{
	static const enum fi_datatype none[] = { FI_FLOAT16, FI_BFLOAT16,
		FI_FLOAT8_E4M3, FI_FLOAT8_E5M2, FI_VOID, (enum fi_datatype) - 1 };
	size_t count = 7;

	(void)state;
	for (size_t i = 0; i < WF_ARRAY_SIZE(none); i++) {
		assert_int_equal(wf_atomic_size(none[i]), 0);
		assert_int_equal(
			wf_atomic_valid(WF_OP_FETCH, none[i], FI_SUM, 64, &count),
			-FI_EOPNOTSUPP);
	}
	for (int op = FI_MIN; op <= FI_DIFF; op++) {
		bool swap = compares(op), read = op == FI_ATOMIC_READ;

		assert_int_equal(
			wf_atomic_valid(WF_OP_ATOMIC, FI_INT8, op, 64, &count) == 0,
			!swap && !read);
		assert_int_equal(
			wf_atomic_valid(WF_OP_FETCH, FI_INT8, op, 64, &count) == 0,
			!swap);
		assert_int_equal(
			wf_atomic_valid(WF_OP_COMPARE, FI_INT8, op, 64, &count) == 0,
			swap);
	}
	assert_int_equal(wf_atomic_valid(WF_OP_FETCH, FI_INT64, FI_SUM, 7, &count),
		-FI_EOPNOTSUPP);
}

/* NaN, zeros with a sign, and what a loop over bits could hang on. */
static void test_nan(void **state)
{
	double nan_value = NAN, one = 1, zero_value = 0, t, result;
	static const enum fi_op never[] = { FI_CSWAP, FI_CSWAP_LE, FI_CSWAP_LT,
		FI_CSWAP_GE, FI_CSWAP_GT };

	(void)state;
	for (size_t i = 0; i < WF_ARRAY_SIZE(never); i++) {
		t = NAN;
		wf_atomic_apply(FI_DOUBLE, never[i], &t, &one, &nan_value, &result, 1);
		assert_true(isnan(t) && isnan(result));
	}
	wf_atomic_apply(FI_DOUBLE, FI_CSWAP_NE, &t, &one, &nan_value, &result, 1);
	assert_true(t == 1);
	wf_atomic_apply(FI_DOUBLE, FI_MIN, &t, &nan_value, NULL, NULL, 1);
	assert_true(t == 1);
	t = NAN;
	wf_atomic_apply(FI_DOUBLE, FI_MAX, &t, &one, NULL, NULL, 1);
	assert_true(isnan(t));
	wf_atomic_apply(FI_DOUBLE, FI_LAND, &t, &one, NULL, NULL, 1);
	assert_true(t == 1); /* a NaN is not zero */
	t = -0.0;
	wf_atomic_apply(FI_DOUBLE, FI_CSWAP, &t, &one, &zero_value, NULL, 1);
	assert_true(t == 1);
	t = 0.0;
	zero_value = -0.0;
	wf_atomic_apply(FI_DOUBLE, FI_ATOMIC_WRITE, &t, &zero_value, NULL, NULL, 1);
	assert_true(signbit(t));
}

/* What keeps its value is not written: memory may be read-only. */
static void test_read_only(void **state)
{
	long page = sysconf(_SC_PAGESIZE);
	unsigned char *map = mmap(NULL, (size_t)page, PROT_READ | PROT_WRITE,
		MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned char res[64];

	(void)state;
	assert_ptr_not_equal(map, MAP_FAILED);
	memset(map, 0x3f, (size_t)page);
	assert_int_equal(mprotect(map, (size_t)page, PROT_READ), 0);
	for (const struct type *type = types; type < types + WF_ARRAY_SIZE(types);
		type++) {
#if defined(__aarch64__)
		if (type->size == 16)
			continue;
#endif
		for (size_t offset = 0; offset < 2; offset++) {
			memset(res, 0, sizeof(res));
			wf_atomic_apply(type->datatype, FI_ATOMIC_READ, map + offset,
				NULL, NULL, res, 1);
			assert_memory_equal(res, map, type->size);
		}
	}
	munmap(map, (size_t)page);
}

/* The padding of an x87 number is not a value: it keeps its bytes, and no bytes of the
 * stack get into it. */
static void test_padding(void **state)
{
	_Alignas(16) unsigned char dst[2 * sizeof(long double) + 1], src[sizeof(dst)],
		res[sizeof(dst)];
	const long double one = 1;

	(void)state;
	if (LDBL_MANT_DIG != 64)
		skip();
	for (size_t offset = 0; offset < 2; offset++) {
		memset(dst, 0xa5, sizeof(dst));
		memset(src, 0xee, sizeof(src));
		memset(res, 0, sizeof(res));
		for (size_t part = 0; part < 2; part++) {
			memcpy(dst + offset + 16 * part, &one, 10);
			memcpy(src + 16 * part, &one, 10);
		}
		wf_atomic_apply(
			FI_LONG_DOUBLE, FI_SUM, dst + offset, src, NULL, res, 2);
		wf_atomic_apply(FI_LONG_DOUBLE_COMPLEX, FI_SUM, dst + offset, src, NULL,
			res, 1);
		for (size_t i = 10; i < 16; i++) {
			assert_int_equal(dst[offset + i], 0xa5);
			assert_int_equal(dst[offset + 16 + i], 0xa5);
			assert_int_equal(res[i], 0xa5);
		}
	}
}

enum { THREADS = 4, ROUNDS = 20000 };

struct hammer {
	const struct type *type;
	void *element;
	bool cas;
};

static void *hammer_thread(void *arg)
{
	struct hammer *h = arg;
	_Alignas(32) unsigned char one[32], seen[32], next[32];
	struct num n;

	put(h->type, one, (struct num){ 1, 0 });
	for (int i = 0; i < ROUNDS; i++) {
		if (!h->cas) {
			wf_atomic_apply(h->type->datatype, FI_SUM, h->element, one,
				NULL, i % 2 ? seen : NULL, 1);
			continue;
		}
		wf_atomic_apply(h->type->datatype, FI_ATOMIC_READ, h->element, NULL,
			NULL, seen, 1);
		do {
			n = get(h->type, seen);
			put(h->type, one, n);
			n.re = plus(n.re, 1);
			put(h->type, next, n);
			wf_atomic_apply(h->type->datatype, FI_CSWAP, h->element, next,
				one, seen, 1);
		} while (!equal(get(h->type, seen), get(h->type, one)));
	}
	return NULL;
}

static void hammer(const struct type *type, void *element, bool cas)
{
	struct hammer h = { type, element, cas };
	wide want = (wide)THREADS * ROUNDS;
	pthread_t threads[THREADS];

	put(type, element, (struct num){ 0, 0 });
	for (int i = 0; i < THREADS; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, hammer_thread, &h), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_true(get(type, element).re == (is_int(type) ? cut(type, want) : want));
}

/* ATM-016: no update is lost, whatever the alignment. */
static void test_threads(void **state)
{
	static _Alignas(64) unsigned char memory[128];

	(void)state;
	for (const struct type *type = types; type < types + WF_ARRAY_SIZE(types);
		type++) {
		hammer(type, memory, false);
		hammer(type, memory + 1, false);
		hammer(type, memory, true);
	}
}

/* Several processes on the same memory. */
static void test_processes(void **state)
{
	unsigned char *map = mmap(
		NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child;
	int status;

	(void)state;
	assert_ptr_not_equal(map, MAP_FAILED);
	for (const struct type *type = types; type < types + WF_ARRAY_SIZE(types);
		type++) {
		struct hammer h = { type, map, false };
		wide want = 2 * ROUNDS;

		if (type->size > 16)
			continue;
		memset(map, 0, 64);
		child = fork();
		assert_true(child >= 0);
		hammer_thread(&h);
		if (!child)
			_exit(0);
		assert_int_equal(waitpid(child, &status, 0), child);
		assert_int_equal(status, 0);
		assert_true(
			get(type, map).re == (is_int(type) ? cut(type, want) : want));
	}
	munmap(map, 4096);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),
		cmocka_unit_test(test_arrays),
		cmocka_unit_test(test_valid),
		cmocka_unit_test(test_nan),
		cmocka_unit_test(test_read_only),
		cmocka_unit_test(test_padding),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_processes),
	};

	return cmocka_run_group_tests_name("atomic_ops", tests, NULL, NULL);
}
