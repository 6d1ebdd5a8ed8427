/* SPDX-License-Identifier: BSD-2-Clause */
#include "sys/mapping.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "sys/calls.h"
#include "sys/compiler.h"

/* A line of proc(5) maps: "start-end perms offset major:minor inode path". */
static bool mapping_parse(const char *line, struct wf_mapping *ret)
{
	char perms[5];
	int path = 0;

	if (sscanf(line,
		    "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %" SCNx32 ":%" SCNx32
		    " %" SCNu64 " %n",
		    &ret->start, &ret->end, perms, &ret->offset, &ret->major,
		    &ret->minor, &ret->inode, &path) < 7 ||
		!path)
		return false;
	ret->readable = perms[0] == 'r';
	ret->writable = perms[1] == 'w';
	ret->shared = perms[3] == 's';
	ret->sysv = ret->shared && !strncmp(line + path, "/SYSV", strlen("/SYSV")) &&
		    strstr(line + path, " (deleted)");
	return true;
}

/* The path of @name in the directory of process @pid, 0 for this one. */
static void mapping_path_of(pid_t pid, const char *name, char *path, size_t len)
{
	if (pid)
		(void)snprintf(path, len, "/proc/%d/%s", (int)pid, name);
	else
		(void)snprintf(path, len, "/proc/self/%s", name);
}

enum { PATH_LEN = 320 };

int wf_mapping_find(pid_t pid, uint64_t addr, size_t len, struct wf_mapping *ret)
{
	char *line = NULL, path[PATH_LEN];
	struct wf_mapping found;
	int err = -ENOENT;
	size_t size = 0;
	uint64_t end;
	FILE *maps;

	mapping_path_of(pid, "maps", path, sizeof(path));
	maps = fopen(path, "rce");
	if (!maps)
		return -errno;
	if (__builtin_add_overflow(addr, len, &end))
		end = 0;
	while (err && getline(&line, &size, maps) > 0) {
		if (!mapping_parse(line, &found) || addr < found.start ||
			addr >= found.end)
			continue;
		if (end < addr || end > found.end)
			break;
		*ret = found;
		err = 0;
	}
	free(line);
	(void)fclose(maps);
	return err;
}

static bool mapping_is_file(const struct wf_mapping *mapping, const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_ino == mapping->inode &&
	       major(st->st_dev) == mapping->major &&
	       minor(st->st_dev) == mapping->minor;
}

/* Open the file at @path if it is the mapped one. Another file, which may have effects
 * when it is opened, is opened only if it takes the place of the mapped one
 * meanwhile. */
static int mapping_open_at(
	const struct wf_mapping *mapping, const char *path, bool writable)
{
	struct stat st;
	int fd;

	if (stat(path, &st) || !mapping_is_file(mapping, &st))
		return -ENOENT;
	fd = wf_sys_open(path,
		(writable ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -ENOENT;
	if (!fstat(fd, &st) && mapping_is_file(mapping, &st))
		return fd;
	(void)wf_sys_close(fd);
	return -ENOENT;
}

/* Open the file through one of the descriptors of the process. */
static int mapping_open_by_descriptor(
	pid_t pid, const struct wf_mapping *mapping, bool writable)
{
	char path[PATH_LEN], name[NAME_MAX + 4];
	int fd = -ENOENT;
	struct dirent *entry;
	DIR *list;

	mapping_path_of(pid, "fd", path, sizeof(path));
	list = opendir(path);
	if (!list)
		return -ENOENT;
	while (fd == -ENOENT && (entry = readdir(list))) {
		if (*entry->d_name == '.')
			continue;
		(void)snprintf(name, sizeof(name), "fd/%s", entry->d_name);
		mapping_path_of(pid, name, path, sizeof(path));
		fd = mapping_open_at(mapping, path, writable);
	}
	(void)closedir(list);
	return fd;
}

/* Open the file through the mapping. The kernel allows that to privileged processes. */
static int mapping_open_by(pid_t pid, const struct wf_mapping *mapping, bool writable)
{
	char path[PATH_LEN], name[80];

	(void)snprintf(name, sizeof(name), "map_files/%" PRIx64 "-%" PRIx64,
		mapping->start, mapping->end);
	mapping_path_of(pid, name, path, sizeof(path));
	return mapping_open_at(mapping, path, writable);
}

int wf_mapping_open(pid_t pid, const struct wf_mapping *mapping, bool writable)
{
	int fd = mapping_open_by_descriptor(pid, mapping, writable);

	return fd == -ENOENT ? mapping_open_by(pid, mapping, writable) : fd;
}
