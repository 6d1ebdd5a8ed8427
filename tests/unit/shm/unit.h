/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_SHM_UNIT_H
#define TESTS_UNIT_SHM_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "providers/shm/log.h"
#include "sys/compiler.h"

#endif
