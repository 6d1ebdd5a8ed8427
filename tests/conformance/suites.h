/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_CONFORMANCE_SUITES_H
#define TESTS_CONFORMANCE_SUITES_H

#include "conformance.h"

struct cf_suite {
	const char *name;
	const struct cf_case *cases;
};

extern const struct cf_suite cf_suites[]; /* the last one has a NULL name */

#endif
