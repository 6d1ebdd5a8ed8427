/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/lnx/stats.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

#include "providers/lnx/param.h"
#include "sys/calls.h"

static uint64_t stats_value(const _Atomic uint64_t *counter)
{
	return atomic_load_explicit(counter, memory_order_relaxed);
}

void lnx_rail_count(struct lnx_ep *ep, uint32_t rail, size_t len)
{
	atomic_fetch_add_explicit(&ep->rail[rail].ops, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&ep->rail[rail].bytes, len, memory_order_relaxed);
}

void lnx_stats_write(const char *format, ...)
{
	char line[512];
	va_list args;
	int len;

	va_start(args, format);
	len = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (len > 0)
		(void)!wf_sys_write(
			STDERR_FILENO, line, WF_MIN((size_t)len, sizeof(line) - 1));
}

void lnx_dump_stats(const struct lnx_ep *ep)
{
	if (!lnx_params.stats)
		return;
	for (unsigned int i = 0; i < ep->count; i++)
		lnx_stats_write("lnx %s: %s: %" PRIu64 " operations, %" PRIu64
				" bytes sent, %" PRIu64 " failed\n",
			ep->domain->wf->name, ep->domain->link->member[i].name,
			stats_value(&ep->rail[i].ops), stats_value(&ep->rail[i].bytes),
			stats_value(&ep->rail[i].failures));
}
