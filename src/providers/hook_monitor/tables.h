/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef MON_TABLES_H
#define MON_TABLES_H

#include <stddef.h>
#include <string.h>

#include "sys/compiler.h"

/* Copy the table @below to @own, which has @capacity bytes. A provider of an older
 * interface has a shorter table: the first member is its size. */
static inline void mon_copy_table(void *own, const void *below, size_t capacity)
{
	size_t size = WF_MIN(*(const size_t *)below, capacity);

	memset(own, 0, capacity);
	memcpy(own, below, size);
	*(size_t *)own = size;
}

/* Replace one call of a copied table, unless the provider lacks it. */
#define MON_REPLACE(table, slot, call)                                                 \
	do {                                                                           \
		if ((table)->slot)                                                     \
			(table)->slot = (call);                                        \
	} while (0)

#endif
