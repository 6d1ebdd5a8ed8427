/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/calls.h"
#include "sys/file_size.h"
#include "sys/sealed.h"
#include "sys/shm_file.h"

/* The memory of a named object, and the roster by which other processes find it. */

#define MEMORY_NAME "weft-named"

enum { ENTRIES = 510 };

struct roster_entry {
	uint32_t pid; /* 0: the entry is free */
	int32_t fd;   /* descriptor of the memory in the process */
};

struct roster {
	uint64_t len; /* of the memory, in bytes */
	uint64_t unused;
	struct roster_entry entry[ENTRIES];
};

/* False: the file was truncated. */
static bool shm_memory_roster_read(const struct wf_shm *shm, struct roster *ret)
{
	return wf_sys_pread(shm->fd, ret, sizeof(*ret), 0) == (ssize_t)sizeof(*ret);
}

static int shm_memory_roster_write(
	struct wf_shm *shm, int slot, struct roster_entry entry)
{
	off_t at =
		(off_t)(offsetof(struct roster, entry) + (size_t)slot * sizeof(entry));

	errno = ENOSPC; /* the reason of a short write */
	if (wf_sys_pwrite(shm->fd, &entry, sizeof(entry), at) != (ssize_t)sizeof(entry))
		return -errno;
	return 0;
}

static struct roster_entry shm_memory_own_entry(const struct wf_shm *shm)
{
	return (struct roster_entry){ (uint32_t)getpid(), shm->mem_fd };
}

int wf_shm_resize(struct wf_shm *shm, size_t len)
{
	uint64_t wanted = len;
	int ret = wf_file_resize(shm->fd, sizeof(struct roster));

	if (ret)
		return ret;
	shm->mem_fd = wf_sealed_file(MEMORY_NAME, len);
	if (shm->mem_fd < 0)
		return shm->mem_fd;
	shm->len = len;
	errno = ENOSPC;
	if (wf_sys_pwrite(shm->fd, &wanted, sizeof(wanted),
		    offsetof(struct roster, len)) != (ssize_t)sizeof(wanted))
		return -errno;
	ret = shm_memory_roster_write(shm, 0, shm_memory_own_entry(shm));
	if (!ret)
		shm->slot = 0;
	return ret;
}

int wf_shm_commit(struct wf_shm *shm, size_t offset, size_t len)
{
	int ret;

	do {
		ret = wf_sys_posix_fallocate(shm->mem_fd, (off_t)offset, (off_t)len);
	} while (ret == EINTR);
	return -ret;
}

/* Open the memory by the processes that have it. */
static int shm_memory_find_memory(struct wf_shm *shm)
{
	struct roster roster;

	if (!shm_memory_roster_read(shm, &roster) || !roster.len)
		return -EINVAL;
	for (int i = 0; i < ENTRIES; i++) {
		const struct roster_entry *entry = &roster.entry[i];
		int fd = -1;

		if (entry->pid && entry->fd >= 0)
			fd = wf_sealed_open(
				MEMORY_NAME, entry->pid, entry->fd, roster.len);
		if (fd < 0)
			continue;
		shm->mem_fd = fd;
		shm->len = roster.len;
		return 0;
	}
	return -ESTALE;
}

static bool shm_memory_is_free(const struct roster_entry *entry)
{
	pid_t pid = (pid_t)entry->pid;

	return pid <= 0 || (kill(pid, 0) && errno == ESRCH);
}

/* Let other processes find the memory by this one. Without an entry, if the roster is
 * full, they find it by the others. */
static void shm_memory_enlist(struct wf_shm *shm)
{
	struct roster roster;

	if (wf_shm_lock(shm))
		return;
	for (int i = 0; shm_memory_roster_read(shm, &roster) && i < ENTRIES; i++) {
		if (!shm_memory_is_free(&roster.entry[i]))
			continue;
		if (!shm_memory_roster_write(shm, i, shm_memory_own_entry(shm)))
			shm->slot = i;
		break;
	}
	wf_shm_unlock(shm);
}

int wf_shm_map(struct wf_shm *shm, void *hint)
{
	int prot = shm->readonly ? PROT_READ : PROT_READ | PROT_WRITE;
	int ret = shm->mem_fd < 0 ? shm_memory_find_memory(shm) : 0;
	void *mem = MAP_FAILED;

	if (ret)
		return ret;
	if (hint)
		mem = mmap(hint, shm->len, prot, MAP_SHARED | MAP_FIXED_NOREPLACE,
			shm->mem_fd, 0);
	/* A kernel that does not know the flag may have used another address. */
	if (mem == MAP_FAILED)
		mem = mmap(NULL, shm->len, prot, MAP_SHARED, shm->mem_fd, 0);
	if (mem == MAP_FAILED)
		return -errno;
	shm->mem = mem;
	if (shm->slot < 0)
		shm_memory_enlist(shm);
	return 0;
}

void wf_shm_forget(struct wf_shm *shm)
{
	struct roster roster;

	/* A forked child leaves the entry to its parent. */
	if (shm->slot >= 0 && shm_memory_roster_read(shm, &roster) &&
		roster.entry[shm->slot].pid == (uint32_t)getpid())
		(void)shm_memory_roster_write(
			shm, shm->slot, (struct roster_entry){ .pid = 0 });
	if (shm->mem)
		(void)munmap(shm->mem, shm->len);
	if (shm->mem_fd >= 0)
		(void)wf_sys_close(shm->mem_fd);
}
