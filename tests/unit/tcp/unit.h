/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_UNIT_TCP_UNIT_H
#define TESTS_UNIT_TCP_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../../hex.h"
#include "providers/tcp/log.h"

/* Replaces the provider's own definition, which would link all of the provider. */
extern struct fi_provider tcp_fi;

#endif
