/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "providers/coll/node/segment.h"
#include "sys/compiler.h"

#define NAME "weft-coll"

/* Accessing memory behind the end of a shrunken file raises SIGBUS. */
enum { SEALS = F_SEAL_SHRINK | F_SEAL_GROW };

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

static int set_size(int fd)
{
	const size_t size = sizeof(struct coll_segment);
	struct rlimit limit;

	/* Growing beyond the limit would raise SIGXFSZ instead of failing. */
	if (!getrlimit(RLIMIT_FSIZE, &limit) && limit.rlim_cur != RLIM_INFINITY &&
		limit.rlim_cur < size)
		return -EFBIG;
	return ftruncate(fd, (off_t)size) ? -errno : 0;
}

/* NULL with errno set: failed. */
static void *map(int fd, int prot)
{
	void *mem = mmap(NULL, sizeof(struct coll_segment), prot, MAP_SHARED, fd, 0);

	if (mem == MAP_FAILED)
		return NULL;
	/* The others would take the writes of a forked child for those of this process.
	 */
	(void)madvise(mem, sizeof(struct coll_segment), MADV_DONTFORK);
	return mem;
}

/* Nothing but the mapping of this process can write from now on. Kernels before 5.1 do
 * not know that seal, and the others suffice for the readers' safety. */
static int seal(int fd)
{
	if (!fcntl(fd, F_ADD_SEALS, SEALS | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL))
		return 0;
	return fcntl(fd, F_ADD_SEALS, SEALS | F_SEAL_SEAL) ? -errno : 0;
}

int coll_segment_new(uint64_t cookie, int *ret_fd, struct coll_segment **ret_segment)
{
	int fd = memfd_create(NAME, MFD_CLOEXEC | MFD_ALLOW_SEALING), ret;
	struct coll_segment *segment;

	if (fd < 0)
		return -errno;
	ret = set_size(fd);
	if (ret)
		goto err_close;
	segment = map(fd, PROT_READ | PROT_WRITE);
	if (!segment) {
		ret = -errno;
		goto err_close;
	}
	ret = seal(fd);
	if (ret)
		goto err_unmap;
	segment->cookie = cookie;
	segment->address = (uintptr_t)segment;
	*ret_fd = fd;
	*ret_segment = segment;
	return 0;

err_unmap:
	coll_segment_unmap(segment);
err_close:
	(void)close(fd);
	return ret;
}

/* The name is checked before the file is opened, because opening a device or a pipe may
 * do things. O_NONBLOCK: another file may have taken the number meanwhile. */
static int open_segment(const struct coll_card *card)
{
	char path[48], target[sizeof("/memfd:" NAME)];
	ssize_t len;
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%u/fd/%d", card->pid, card->fd);
	len = readlink(path, target, sizeof(target));
	if (len < 0)
		return -errno;
	if ((size_t)len < sizeof(target) - 1 ||
		memcmp(target, "/memfd:" NAME, sizeof(target) - 1) != 0)
		return -EINVAL;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

/* Is it of this user, of the right size for ever, and in ordinary memory? Pages of
 * other kinds may be missing when they are needed. */
static bool is_safe(int fd)
{
	int seals = fcntl(fd, F_GET_SEALS);
	struct statfs fs;
	struct stat st;

	return seals >= 0 && (seals & SEALS) == SEALS && !fstat(fd, &st) &&
	       st.st_uid == geteuid() && st.st_size == sizeof(struct coll_segment) &&
	       !fstatfs(fd, &fs) && (unsigned long)fs.f_type == TMPFS_MAGIC;
}

int coll_segment_map(
	const struct coll_card *card, const struct coll_segment **ret_segment)
{
	CLEANUP(wf_close) int fd = open_segment(card);
	const struct coll_segment *segment;

	if (fd < 0)
		return fd;
	if (!is_safe(fd))
		return -EINVAL;
	segment = map(fd, PROT_READ);
	if (!segment)
		return -errno;
	if (segment->cookie != card->cookie || coll_card_alive(card) != COLL_ALIVE) {
		coll_segment_unmap(segment);
		return -EINVAL;
	}
	*ret_segment = segment;
	return 0;
}

void coll_segment_unmap(const struct coll_segment *segment)
{
	(void)munmap((void *)(uintptr_t)segment, sizeof(*segment));
}
