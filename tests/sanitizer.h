/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_SANITIZER_H
#define TESTS_SANITIZER_H

#include <stdlib.h>

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

/* For processes that end with objects open, on purpose: what they have allocated is no
 * leak, whichever thread did it, so __lsan_disable() is not enough. LeakSanitizer asks
 * the hook when the process ends. Weak: of one process, though many files include
 * it. */
#if ADDRESS_SANITIZER
int __lsan_is_turned_off(void);
__attribute__((weak)) int sanitizer_ends_open;

__attribute__((weak, visibility("default"))) int __lsan_is_turned_off(void)
{
	return sanitizer_ends_open;
}
#endif

static inline void sanitizer_allow_leaks(void)
{
#if ADDRESS_SANITIZER
	sanitizer_ends_open = 1;
#endif
}

/* For a process that has both ends of a pair, or opens endpoints and then forks another
 * that does. ThreadSanitizer does not see what orders the ends: memory that is mapped
 * twice, or sockets. And it ends a child whose thread has the identity of one of its
 * parent's. */
static inline void sanitizer_no_threads(void)
{
#if THREAD_SANITIZER
	(void)setenv("FI_BACKGROUND_PROGRESS", "no", 1);
#endif
}

#define SANITIZED (ADDRESS_SANITIZER || THREAD_SANITIZER)

#endif
