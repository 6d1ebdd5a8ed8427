/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_SHORTAGE_REFUSE_H
#define TESTS_SHORTAGE_REFUSE_H

/*
 * Calls for memory, descriptors, mappings and threads that the library makes itself,
 * and that fail on request. They are told apart by the place that makes them.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { REFUSE_PLACES = 2048 };

struct refuse_place {
	uintptr_t offset;   /* of the instruction behind the call, in the library */
	const char *called; /* name of the function */
	unsigned int calls; /* since refuse_begin */
	int live; /* memory blocks that were allocated here and not freed yet */
};

/* Of the process, in the order in which they came. */
struct refuse_places {
	size_t count;
	struct refuse_place place[REFUSE_PLACES];
};

/* Find the library. Ends the program if it is not there. */
void refuse_init(void);

/* Count from here on. The call number @nth (from 1) of the place with @offset fails; 0:
 * none does. */
void refuse_begin(uintptr_t offset, unsigned int nth);

/* No call fails any more. Has one failed? */
bool refuse_end(void);

/* The places that were seen since the program began. */
const struct refuse_places *refuse_seen(void);

/* Path of the library's file. */
const char *refuse_library(void);

#endif
