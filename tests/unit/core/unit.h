/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_TESTS_UNIT_CORE_UNIT_H
#define WF_TESTS_UNIT_CORE_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#endif
