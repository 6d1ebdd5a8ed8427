/* SPDX-License-Identifier: BSD-2-Clause */
#include "match/tight.h"

#include "match/tight_is.h"
#include "match/table_body.h"
