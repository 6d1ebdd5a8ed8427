/* SPDX-License-Identifier: BSD-2-Clause */
#include "match/compact.h"

#include "match/compact_is.h"
#include "match/table_body.h"
