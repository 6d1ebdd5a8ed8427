/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_OBJECTS_REFUSED_H
#define TESTS_UNIT_OBJECTS_REFUSED_H

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* Allocations that fail, in the test and in what is linked with it by --wrap
 * (meson.build); those of the shared library do not. */

/* Allocations until the one that fails; 0: none does. */
static unsigned int refused_in;

static inline bool refused_now(void)
{
	if (!refused_in || --refused_in)
		return false;
	errno = ENOMEM;
	return true;
}

#define REFUSABLE(type, name, params, args)                                            \
	type __wrap_##name params;                                                     \
	type __real_##name params;                                                     \
	__attribute__((visibility("default"))) type __wrap_##name params               \
	{                                                                              \
		return refused_now() ? NULL : __real_##name args;                      \
	}

REFUSABLE(void *, malloc, (size_t len), (len))
REFUSABLE(void *, calloc, (size_t count, size_t len), (count, len))
REFUSABLE(void *, realloc, (void *at, size_t len), (at, len))
REFUSABLE(char *, strdup, (const char *text), (text))

#endif
