/* SPDX-License-Identifier: BSD-2-Clause */
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "providers/shm/conn/socket.h"
#include "providers/shm/copy/remote.h"
#include "sys/calls.h"
#include "sys/mapping.h"

/*
 * Mapping the memory of a peer's region. What kind of memory it is tells the kernel, by
 * /proc/PID/maps of the peer's process, and the descriptor of a file is opened through
 * one that the process has: that needs no more permission than to read its memory, and
 * nothing that the peer says has to be trusted.
 *
 * An access to memory that a peer could take away would raise SIGBUS, so only files
 * whose size is sealed and System V segments are mapped, and only in ordinary memory,
 * whose pages are always available.
 */

static bool remote_map_is_writable(const struct shm_window *window)
{
	return window->region.flags & SHM_MAY_WRITE;
}

/* Compute the section of the file that contains the region, which begins at @offset,
 * from the beginning of a page. False: the file is too short. */
static bool remote_map_measure(
	struct shm_window *window, uint64_t offset, uint64_t file_len)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), end;

	if (__builtin_add_overflow(offset, window->region.len, &end) || end > file_len)
		return false;
	window->map_len = end - offset / page * page;
	return true;
}

static const char *map_fd(struct shm_window *window, uint64_t offset, int fd)
{
	int prot = remote_map_is_writable(window) ? PROT_READ | PROT_WRITE : PROT_READ;
	int seals = fcntl(fd, F_GET_SEALS);
	struct statfs fs;
	struct stat st;
	size_t before;
	void *map;

	if (seals < 0 || !(seals & F_SEAL_SHRINK))
		return "its file may shrink (no F_SEAL_SHRINK)";
	if (fstatfs(fd, &fs) || (unsigned long)fs.f_type != TMPFS_MAGIC)
		return "its file is not in ordinary memory";
	if (fstat(fd, &st) || !remote_map_measure(window, offset, (uint64_t)st.st_size))
		return "its file is too short";
	before = offset % (uint64_t)sysconf(_SC_PAGESIZE);
	map = mmap(
		NULL, window->map_len, prot, MAP_SHARED, fd, (off_t)(offset - before));
	if (map == MAP_FAILED)
		return "its file cannot be mapped";
	(void)madvise(map, window->map_len, MADV_DONTFORK);
	window->map = map;
	window->at = (uint8_t *)map + before;
	return NULL;
}

static const char *map_file(const struct shm_conn *conn, struct shm_window *window,
	const struct wf_mapping *mapping, uint64_t offset)
{
	int fd = wf_mapping_open(
		conn->process.pid, mapping, remote_map_is_writable(window));
	const char *why;

	if (fd < 0)
		return "there is no descriptor of its memory";
	why = map_fd(window, offset, fd);
	(void)wf_sys_close(fd);
	return why;
}

/* Has the peer's process the same System V segments? */
static bool remote_map_shares_segments(const struct shm_conn *conn)
{
	struct stat mine, other;
	char path[40];

	(void)snprintf(path, sizeof(path), "/proc/%d/ns/ipc", (int)conn->process.pid);
	return !stat("/proc/self/ns/ipc", &mine) && !stat(path, &other) &&
	       mine.st_ino == other.st_ino && mine.st_dev == other.st_dev;
}

/* Is the memory of the same kind as the file of a connection? A System V segment may
 * have large pages, which can be missing when they are needed. */
static bool remote_map_is_ordinary(const struct shm_conn *conn, const void *mem)
{
	struct wf_mapping mine, other;

	return !wf_mapping_find(
		       0, (uintptr_t)conn->segment, sizeof(*conn->segment), &mine) &&
	       !wf_mapping_find(0, (uintptr_t)mem, 1, &other) &&
	       mine.major == other.major && mine.minor == other.minor;
}

static const char *remote_map_attach(const struct shm_conn *conn,
	struct shm_window *window, const struct wf_mapping *mapping, uint64_t offset)
{
	int id = (int)mapping->inode;
	struct shmid_ds segment;
	void *map;

	if (mapping->inode > INT32_MAX || !remote_map_shares_segments(conn))
		return "its segment is of another namespace";
	if (shmctl(id, IPC_STAT, &segment) || segment.shm_perm.uid != geteuid())
		return "its segment is of another user";
	if (!remote_map_measure(window, offset, segment.shm_segsz))
		return "its segment is too short";
	map = shmat(id, NULL, remote_map_is_writable(window) ? 0 : SHM_RDONLY);
	if (map == MAP_FAILED)
		return "its segment cannot be attached";
	/* Only now is it certain that the id still has this size. */
	if (shmctl(id, IPC_STAT, &segment) ||
		!remote_map_measure(window, offset, segment.shm_segsz) ||
		!remote_map_is_ordinary(conn, map)) {
		(void)shmdt(map);
		return "its segment is not in ordinary memory";
	}
	(void)madvise(map, segment.shm_segsz, MADV_DONTFORK);
	window->sysv = true;
	window->map = map;
	window->at = (uint8_t *)map + offset;
	return NULL;
}

/* Map the memory. Returns NULL, or the reason why it cannot be mapped. */
static const char *map_memory(struct shm_conn *conn, struct shm_window *window)
{
	const struct shm_described *region = &window->region;
	struct wf_mapping mapping;
	const char *why;
	uint64_t offset;

	if (region->count != 1 || !region->len)
		return "it has several pieces";
	if (wf_mapping_find(
		    conn->process.pid, region->piece[0].base, region->len, &mapping))
		return "it is not in one mapping";
	if (!mapping.shared)
		return "its memory is not shared";
	offset = mapping.offset + (region->piece[0].base - mapping.start);
	why = mapping.sysv ? remote_map_attach(conn, window, &mapping, offset)
			   : map_file(conn, window, &mapping, offset);
	/* The memory may be that of another process, which has its number. */
	if (why || !shm_socket_ended(conn->watch.fd))
		return why;
	/* The operation that looked for it still needs the description. */
	shm_window_unmap(window);
	return "the peer has ended";
}

void shm_window_map(struct shm_conn *conn, struct shm_window *window)
{
	const char *why = map_memory(conn, window);
	bool copied = conn->process.cma && conn->access.copied;

	window->is_examined = true;
	shm_log(FI_LOG_INFO, FI_LOG_MR, "region 0x%llx of %s is %s%s%s\n",
		(unsigned long long)window->region.key, shm_conn_name(conn),
		!why     ? "mapped"
		: copied ? "copied by the kernel: "
			 : "accessed by requests: ",
		why ? why : ", as ",
		why            ? ""
		: window->sysv ? "a System V segment"
			       : "a sealed file");
}
