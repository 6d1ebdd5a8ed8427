/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_SYS_UNIT_H
#define TESTS_UNIT_SYS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#endif
