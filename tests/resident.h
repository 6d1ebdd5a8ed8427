/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_RESIDENT_H
#define TESTS_RESIDENT_H

#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

/* Bytes that this process has in memory. 0: the system does not tell. */
static inline size_t resident(void)
{
	FILE *file = fopen("/proc/self/statm", "r");
	unsigned long all, pages = 0;

	if (!file)
		return 0;
	if (fscanf(file, "%lu %lu", &all, &pages) != 2)
		pages = 0;
	fclose(file);
	return (size_t)pages * (size_t)sysconf(_SC_PAGESIZE);
}

#endif
