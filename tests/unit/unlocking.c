/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A thread that releases a mutex which no thread holds ends the program: a lock that was
 * forgotten has an effect in a test of one thread, too. Linked into the test programs,
 * in place of the C library's function, for the library under test as well. (For
 * wf_lock an assertion does the same.)
 *
 * Which thread holds it is not asked: after a fork the child releases what its parent
 * had taken. Sanitizers replace the function themselves; ThreadSanitizer has a check of
 * its own.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../sanitizer.h"

#if defined(__GLIBC__) && !SANITIZED
static void unlocking_fail(void)
{
	static const char text[] = "\nnot ok - a mutex is released that is not held\n";

	(void)!write(STDOUT_FILENO, text, sizeof(text) - 1);
	abort();
}

__attribute__((visibility("default"))) int pthread_mutex_unlock(pthread_mutex_t *mutex)
{
	static int (*real)(pthread_mutex_t * mutex);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "pthread_mutex_unlock");
	if (!mutex->__data.__owner)
		unlocking_fail();
	return real(mutex);
}
#endif
