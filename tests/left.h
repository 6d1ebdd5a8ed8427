/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_LEFT_H
#define TESTS_LEFT_H

/* What a process has that a test case has to give back: counted when the case begins,
 * and when it has closed everything. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "sanitizer.h"

struct left {
	int fds, threads;
	int files; /* mappings of memory files, of /dev/shm and of deleted files */
};

static inline int left_entries(const char *folder)
{
	DIR *dir = opendir(folder);
	int count = 0;

	if (!dir)
		return 0;
	while (readdir(dir))
		count++;
	(void)closedir(dir);
	return count;
}

static inline int left_files(void)
{
	FILE *maps = fopen("/proc/self/maps", "re");
	char line[512];
	int count = 0;

	while (maps && fgets(line, sizeof(line), maps))
		count += strstr(line, "/memfd:") || strstr(line, "/dev/shm/") ||
			 strstr(line, "(deleted)");
	if (maps)
		(void)fclose(maps);
	return count;
}

static inline struct left left_count(void)
{
	return (struct left){ left_entries("/proc/self/fd"),
		left_entries("/proc/self/task"), left_files() };
}

/* Is there more than @before and, of what lasts, @kept? Then a text says what. */
static inline const char *left_more(
	struct left before, struct left kept, char *text, size_t len)
{
	struct left now = left_count();
	/* ThreadSanitizer's own thread begins with the first other one. */
	int of_tools = THREAD_SANITIZER ? 1 : 0;

	if (now.fds <= before.fds + kept.fds &&
		now.threads <= before.threads + kept.threads + of_tools &&
		now.files <= before.files + kept.files)
		return NULL;
	(void)snprintf(text, len,
		"left open: %d descriptors, %d threads, %d mappings of files; before: "
		"%d, %d, %d",
		now.fds, now.threads, now.files, before.fds, before.threads,
		before.files);
	return text;
}

#endif
