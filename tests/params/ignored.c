/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Preloaded into the programs of a test: to them, the variable that WEFT_IGNORED names
 * is not set. See ignored.py.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *value_of(const char *name)
{
	size_t len = strlen(name);

	for (char **entry = environ; entry && *entry; entry++)
		if (!strncmp(*entry, name, len) && (*entry)[len] == '=')
			return *entry + len + 1;
	return NULL;
}

__attribute__((visibility("default"))) char *getenv(const char *name)
{
	const char *ignored = value_of("WEFT_IGNORED");

	return ignored && !strcmp(ignored, name) ? NULL : value_of(name);
}
