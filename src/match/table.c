/* SPDX-License-Identifier: BSD-2-Clause */
#include "match/table.h"

#include "match/table_is.h"
#include "match/table_body.h"

struct wf_match_node wf_match_behind;
