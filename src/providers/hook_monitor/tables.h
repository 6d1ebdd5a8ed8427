/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_HOOK_MONITOR_TABLES_H
#define WF_HOOK_MONITOR_TABLES_H

#include "sys/copy_ops.h"

/* Replace one call of a copied table, unless the provider lacks it. */
#define MON_REPLACE(table, slot, call)                                                 \
	do {                                                                           \
		if ((table)->slot)                                                     \
			(table)->slot = (call);                                        \
	} while (0)

#endif
