/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_TESTS_UNIT_TCP_UNIT_H
#define WF_TESTS_UNIT_TCP_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "../../hex.h"
#include "providers/tcp/log.h"

/* Stands in for the provider's own, which would pull in all of it. */
extern struct fi_provider tcp_fi;

#endif
