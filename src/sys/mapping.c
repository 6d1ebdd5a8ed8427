/* SPDX-License-Identifier: BSD-2-Clause */
#include "sys/mapping.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "sys/calls.h"
#include "sys/compiler.h"

/* A line of proc(5) maps: "start-end perms offset major:minor inode path". */
static bool parse(const char *line, struct wf_mapping *ret)
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

int wf_mapping_find(const void *addr, size_t len, struct wf_mapping *ret)
{
	uint64_t from = (uintptr_t)addr, to;
	FILE *maps = fopen("/proc/self/maps", "rce");
	int err = -ENOENT;
	char *line = NULL;
	size_t size = 0;
	struct wf_mapping found;

	if (!maps)
		return -errno;
	if (__builtin_add_overflow(from, len, &to))
		to = 0;
	while (err && getline(&line, &size, maps) > 0) {
		if (!parse(line, &found) || from < found.start || from >= found.end)
			continue;
		if (to < from || to > found.end)
			break;
		*ret = found;
		err = 0;
	}
	free(line);
	(void)fclose(maps);
	return err;
}

/* Does @fd refer to the mapped file, open for reading, and for writing if @writable? */
static bool is_of(const struct wf_mapping *mapping, int fd, bool writable)
{
	int mode = fcntl(fd, F_GETFL);
	struct stat st;

	/* A path descriptor cannot be mapped. */
	if (mode < 0 || mode & O_PATH || fstat(fd, &st))
		return false;
	mode &= O_ACCMODE;
	return S_ISREG(st.st_mode) && st.st_ino == mapping->inode &&
	       major(st.st_dev) == mapping->major &&
	       minor(st.st_dev) == mapping->minor &&
	       (mode == O_RDWR || (mode == O_RDONLY && !writable));
}

/* A checked duplicate of @fd. The duplicate is checked because another thread may close
 * @fd and open another file meanwhile. */
static int copy_of(const struct wf_mapping *mapping, int fd, bool writable)
{
	int copy;

	if (!is_of(mapping, fd, writable))
		return -ENOENT;
	copy = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (copy < 0 || is_of(mapping, copy, writable))
		return copy < 0 ? -errno : copy;
	(void)wf_sys_close(copy);
	return -ENOENT;
}

static int find_descriptor(const struct wf_mapping *mapping, bool writable)
{
	DIR *list = opendir("/proc/self/fd");
	int fd = -ENOENT;
	struct dirent *entry;

	if (!list)
		return -errno;
	while (fd == -ENOENT && (entry = readdir(list)))
		if (*entry->d_name != '.')
			fd = copy_of(mapping, (int)strtol(entry->d_name, NULL, 10),
				writable);
	(void)closedir(list);
	return fd;
}

/* Open the file through /proc, for a process that has no descriptor of it. The kernel
 * allows that to privileged processes. */
static int open_by_proc(const struct wf_mapping *mapping, bool writable)
{
	char path[80];
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/self/map_files/%" PRIx64 "-%" PRIx64,
		mapping->start, mapping->end);
	fd = wf_sys_open(path, (writable ? O_RDWR : O_RDONLY) | O_CLOEXEC | O_NONBLOCK);
	if (fd < 0)
		return -ENOENT;
	if (is_of(mapping, fd, writable))
		return fd;
	(void)wf_sys_close(fd);
	return -ENOENT;
}

int wf_mapping_open(const struct wf_mapping *mapping, bool writable)
{
	int fd = find_descriptor(mapping, writable);

	return fd == -ENOENT ? open_by_proc(mapping, writable) : fd;
}
