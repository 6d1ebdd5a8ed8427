/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_LNX_UNIT_H
#define TESTS_UNIT_LNX_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#endif
