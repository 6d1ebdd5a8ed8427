/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_CAS16_H
#define WF_SYS_CAS16_H

#include <stdbool.h>
#include <stdint.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

/*
 * Compare and swap of 16 aligned bytes in one step. The compilers call a library for
 * it, which may take a lock of its own process; memory shared between processes needs
 * the instruction itself.
 */

typedef unsigned __int128 wf_u128;

#if defined(__x86_64__)

/* All but the first x86-64 processors have cmpxchg16b; on those with AVX an aligned
 * 16-byte load is one access (the vendors' manuals say so since 2021), so that memory
 * which is only read need not be writable. */
static inline bool wf_cas16_present(void)
{
	unsigned int a, b, c, d;

	return __get_cpuid(1, &a, &b, &c, &d) && c & bit_CMPXCHG16B && c & bit_AVX;
}

/* Full barrier. On failure *@old becomes the current value. */
static inline bool wf_cas16(void *p, wf_u128 *old, wf_u128 new_value)
{
	uint64_t lo = (uint64_t)*old, hi = (uint64_t)(*old >> 64);
	bool done;

	__asm__ volatile("lock cmpxchg16b %1"
			 : "=@ccz"(done), "+m"(*(wf_u128 *)p), "+a"(lo), "+d"(hi)
			 : "b"((uint64_t)new_value), "c"((uint64_t)(new_value >> 64))
			 : "memory");
	*old = (wf_u128)hi << 64 | lo;
	return done;
}

/* Acquire, as every load on x86. */
static inline wf_u128 wf_load16(const void *p)
{
	typedef long long vector __attribute__((vector_size(16)));
	vector v;

	__asm__ volatile("movdqa %1, %0"
			 : "=x"(v)
			 : "m"(*(const vector *)p)
			 : "memory");
	return (wf_u128)(uint64_t)v[1] << 64 | (uint64_t)v[0];
}

#elif defined(__aarch64__)

static inline bool wf_cas16_present(void)
{
	return true;
}

/* Acquire and release. An exclusive pair is only known to have been read in one step
 * when it could be written, hence the write-back on a mismatch. */
static inline bool wf_cas16(void *p, wf_u128 *old, wf_u128 new_value)
{
	uint64_t want_lo = (uint64_t)*old, want_hi = (uint64_t)(*old >> 64);
	uint64_t lo, hi, put_lo, put_hi;
	uint32_t failed;
	bool same;

	do {
		__asm__ volatile("ldaxp %0, %1, %2"
				 : "=&r"(lo), "=&r"(hi)
				 : "Q"(*(wf_u128 *)p)
				 : "memory");
		same = lo == want_lo && hi == want_hi;
		put_lo = same ? (uint64_t)new_value : lo;
		put_hi = same ? (uint64_t)(new_value >> 64) : hi;
		__asm__ volatile("stlxp %w0, %2, %3, %1"
				 : "=&r"(failed), "=Q"(*(wf_u128 *)p)
				 : "r"(put_lo), "r"(put_hi)
				 : "memory");
	} while (failed);
	*old = (wf_u128)hi << 64 | lo;
	return same;
}

/* Writes what it read: the memory must be writable. */
static inline wf_u128 wf_load16(const void *p)
{
	wf_u128 old = 0;

	(void)wf_cas16((void *)(uintptr_t)p, &old, 0);
	return old;
}

#endif

#endif
