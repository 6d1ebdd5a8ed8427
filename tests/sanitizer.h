/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_SANITIZER_H
#define TESTS_SANITIZER_H

/* The sanitizer with which a test is built: gcc has a macro, clang a feature test. For
 * tests that take long or measure memory. */
#ifndef __has_feature
#define __has_feature(x) 0
#endif

#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define ADDRESS_SANITIZER 1
#else
#define ADDRESS_SANITIZER 0
#endif

#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define THREAD_SANITIZER 1
#else
#define THREAD_SANITIZER 0
#endif

/* Function of LeakSanitizer, if it is linked: memory that is allocated from now on is
 * no leak. For processes that end with objects open, on purpose. */
void __lsan_disable(void) __attribute__((weak));

static inline void sanitizer_allow_leaks(void)
{
	if (__lsan_disable)
		__lsan_disable();
}

#define SANITIZED (ADDRESS_SANITIZER || THREAD_SANITIZER)

#endif
