/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_LNX_STATS_H
#define WF_LNX_STATS_H

#include "providers/lnx/endpoint.h"

/* Statistics of the parameter FI_LNX_DUMP_STATS. */

/* An operation of @len bytes was started on @rail. Any thread, no lock. */
void lnx_rail_count(struct lnx_ep *ep, uint32_t rail, size_t len);

/* Write one line to the standard error. */
void lnx_stats_write(const char *format, ...) WF_PRINTF(1, 2);

/* Write the statistics of @ep, which is about to be closed, to the standard error if
 * FI_LNX_DUMP_STATS is set. */
void lnx_dump_stats(const struct lnx_ep *ep);

#endif
