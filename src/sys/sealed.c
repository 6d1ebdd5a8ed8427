/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "sys/calls.h"
#include "sys/compiler.h"
#include "sys/file_size.h"
#include "sys/sealed.h"

enum { NAME_MAX_LEN = 32 };

/* Accessing memory behind the end of a shrunken file raises SIGBUS. */
enum { SEALS = F_SEAL_SHRINK | F_SEAL_GROW };

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

/* NULL with errno set: failed. */
static void *sealed_map(int fd, size_t size, int prot)
{
	void *mem = mmap(NULL, size, prot, MAP_SHARED, fd, 0);

	if (mem == MAP_FAILED)
		return NULL;
	/* Other processes would take the writes of a forked child for those of this
	 * process. */
	(void)madvise(mem, size, MADV_DONTFORK);
	return mem;
}

/* Seal the size, and future writes if the kernel can (5.1). The seals of the size are
 * enough for the safety of readers. */
static int sealed_seal(int fd)
{
	if (!fcntl(fd, F_ADD_SEALS, SEALS | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL))
		return 0;
	return fcntl(fd, F_ADD_SEALS, SEALS | F_SEAL_SEAL) ? -errno : 0;
}

/* A file of @size bytes without seals, or a negative errno. */
static int sealed_sealable_file(const char *name, size_t size)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING), ret;

	if (fd < 0)
		return -errno;
	ret = wf_file_resize(fd, size);
	if (!ret)
		return fd;
	(void)wf_sys_close(fd);
	return ret;
}

int wf_sealed_check(void)
{
	int fd = sealed_sealable_file("weft-check", 1);

	if (fd >= 0)
		(void)wf_sys_close(fd);
	return fd < 0 ? fd : 0;
}

int wf_sealed_file(const char *name, size_t size)
{
	int fd = sealed_sealable_file(name, size), ret;

	if (fd < 0 || !fcntl(fd, F_ADD_SEALS, SEALS | F_SEAL_SEAL))
		return fd;
	ret = -errno;
	(void)wf_sys_close(fd);
	return ret;
}

int wf_sealed_new(const char *name, size_t size, int *ret_fd, void **ret_mem)
{
	int fd = sealed_sealable_file(name, size), ret;
	void *mem;

	if (fd < 0)
		return fd;
	mem = sealed_map(fd, size, PROT_READ | PROT_WRITE);
	if (!mem) {
		ret = -errno;
		goto err_close;
	}
	ret = sealed_seal(fd);
	if (ret)
		goto err_unmap;
	*ret_fd = fd;
	*ret_mem = mem;
	return 0;

err_unmap:
	wf_sealed_unmap(mem, size);
err_close:
	(void)wf_sys_close(fd);
	return ret;
}

/* The name is checked before the file is opened, because opening a device or a pipe may
 * have effects. O_NONBLOCK: another file may have taken the number meanwhile. */
static int sealed_open_named(const char *name, uint32_t pid, int of, int mode)
{
	char path[48], link[NAME_MAX_LEN + 16], wanted[NAME_MAX_LEN + 16];
	size_t wanted_len;
	ssize_t len;
	int fd;

	wanted_len = (size_t)snprintf(wanted, sizeof(wanted), "/memfd:%s", name);
	(void)snprintf(path, sizeof(path), "/proc/%u/fd/%d", pid, of);
	len = readlink(path, link, sizeof(link));
	if (len < 0)
		return -errno;
	if ((size_t)len < wanted_len || memcmp(link, wanted, wanted_len) != 0)
		return -EINVAL;
	fd = wf_sys_open(path, mode | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

/* Does the file belong to this user, with the right size, sealed, in ordinary memory?
 * Pages of other kinds of memory may be missing when they are accessed. */
static bool sealed_is_safe(int fd, size_t size)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct statfs fs;
	struct stat st;

	return seals >= 0 && (seals & SEALS) == SEALS && !fstat(fd, &st) &&
	       st.st_uid == geteuid() && st.st_size == (off_t)size &&
	       !fstatfs(fd, &fs) && (unsigned long)fs.f_type == TMPFS_MAGIC;
}

int wf_sealed_open(const char *name, uint32_t pid, int of, size_t size)
{
	int fd = sealed_open_named(name, pid, of, O_RDWR);

	if (fd < 0 || sealed_is_safe(fd, size))
		return fd;
	(void)wf_sys_close(fd);
	return -EINVAL;
}

int wf_sealed_map(
	const char *name, uint32_t pid, int of, size_t size, const void **ret_mem)
{
	CLEANUP(wf_close) int fd = sealed_open_named(name, pid, of, O_RDONLY);
	const void *mem;

	if (fd < 0)
		return fd;
	if (!sealed_is_safe(fd, size))
		return -EINVAL;
	mem = sealed_map(fd, size, PROT_READ);
	if (!mem)
		return -errno;
	*ret_mem = mem;
	return 0;
}

void wf_sealed_unmap(const void *mem, size_t size)
{
	(void)munmap((void *)(uintptr_t)mem, size);
}
