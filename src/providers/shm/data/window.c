/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/shm/data/grant.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/shm.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "sys/mapping.h"
#include "sys/membarrier.h"

/*
 * Direct access at the initiator: which regions it asks for, and the checks of the
 * memory that it maps. An access to memory that a peer could take away would raise
 * SIGBUS, so only files whose size is sealed and System V segments are mapped, and only
 * in ordinary memory, whose pages are always available. Memory that is not mapped is
 * copied by the kernel, which finds out whether it is there.
 */

enum {
	/* Operations on a region before this endpoint asks for direct access. */
	ASK_AFTER = 16,
	/* Operations after which it asks once more, because another region may have the
	 * key. */
	ASK_AGAIN = 1 << 16,
};

static const char *what(const struct shm_window *window)
{
	if (window->remote)
		return "memory that the kernel copies";
	return window->sysv ? "a System V segment" : "a sealed file";
}

void shm_window_close(struct shm_window *window)
{
	if (!shm_window_is_open(window))
		return;
	if (window->at && window->sysv)
		(void)shmdt(window->map);
	else if (window->at)
		(void)munmap(window->map, window->map_len);
	window->at = NULL;
	window->remote = 0;
	window->count = 0;
}

void shm_windows_end(struct shm_conn *conn)
{
	for (unsigned int i = 0; conn->windows && i < SHM_WINDOWS; i++)
		shm_window_close(&conn->windows[i]);
	free(conn->windows);
	conn->windows = NULL;
}

/* Send a request, which the target answers by a packet. */
static void ask(struct shm_conn *conn, uint64_t key, uint64_t addr)
{
	shm_out_answer(conn, SHM_REC_ASK, key, &addr, sizeof(addr));
}

void shm_window_want(struct shm_conn *conn, const struct fi_rma_iov *seg)
{
	struct shm_window *window;

	if (shm_params.disable_mapping)
		return;
	if (!conn->windows)
		conn->windows = calloc(SHM_WINDOWS, sizeof(*conn->windows));
	if (!conn->windows)
		return;
	window = shm_window_at(conn->windows, seg->key);
	/* An open window is not used for another key. */
	if (shm_window_is_open(window))
		return;
	if (window->key != seg->key) {
		window->key = seg->key;
		window->count = 0;
	}
	window->count = window->count >= ASK_AGAIN ? 0 : window->count + 1;
	if (window->count == ASK_AFTER)
		ask(conn, seg->key, seg->addr);
}

/* Compute the section of the file that contains the region, from the beginning of a
 * page. False: the numbers are impossible. */
static bool measure(struct shm_window *window, const struct shm_grant_packet *packet,
	uint64_t file_len)
{
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), end;

	if (__builtin_add_overflow(packet->offset, packet->len, &end) || end > file_len)
		return false;
	window->map_len = end - packet->offset / page * page;
	return true;
}

static const char *map_file(
	struct shm_window *window, const struct shm_grant_packet *packet, int fd)
{
	int prot =
		packet->access & FI_REMOTE_WRITE ? PROT_READ | PROT_WRITE : PROT_READ;
	int seals = fd < 0 ? -1 : fcntl(fd, F_GET_SEALS);
	struct statfs fs;
	struct stat st;
	size_t before;

	if (seals < 0 || !(seals & F_SEAL_SHRINK))
		return "its file may shrink";
	if (fstatfs(fd, &fs) || (unsigned long)fs.f_type != TMPFS_MAGIC)
		return "its file is not in ordinary memory";
	if (fstat(fd, &st) || !measure(window, packet, (uint64_t)st.st_size))
		return "its file is too short";
	before = packet->offset % (uint64_t)sysconf(_SC_PAGESIZE);
	window->map = mmap(NULL, window->map_len, prot, MAP_SHARED, fd,
		(off_t)(packet->offset - before));
	if (window->map == MAP_FAILED)
		return "its file cannot be mapped";
	(void)madvise(window->map, window->map_len, MADV_DONTFORK);
	window->at = (uint8_t *)window->map + before;
	return NULL;
}

/* Is the memory of the same kind as the file of a connection? A System V segment may
 * have large pages, which can be missing when they are needed. */
static bool is_ordinary(const struct shm_conn *conn, const void *mem)
{
	struct wf_mapping mine, other;

	return !wf_mapping_find(conn->region, sizeof(*conn->region), &mine) &&
	       !wf_mapping_find(mem, 1, &other) && mine.major == other.major &&
	       mine.minor == other.minor;
}

static const char *attach(const struct shm_conn *conn, struct shm_window *window,
	const struct shm_grant_packet *packet)
{
	int id = (int)packet->shmid;
	bool writable = packet->access & FI_REMOTE_WRITE;
	struct shmid_ds segment;

	if (packet->shmid > INT32_MAX || packet->ipc_ns != shm_ipc_namespace())
		return "its segment is of another namespace";
	if (shmctl(id, IPC_STAT, &segment) || segment.shm_perm.uid != geteuid())
		return "its segment is of another user";
	if (!measure(window, packet, segment.shm_segsz))
		return "its segment is too short";
	window->map = shmat(id, NULL, writable ? 0 : SHM_RDONLY);
	if (window->map == MAP_FAILED)
		return "its segment cannot be attached";
	/* Only now is it certain that the id still has this size. */
	if (shmctl(id, IPC_STAT, &segment) ||
		!measure(window, packet, segment.shm_segsz) ||
		!is_ordinary(conn, window->map)) {
		(void)shmdt(window->map);
		return "its segment is not in ordinary memory";
	}
	(void)madvise(window->map, segment.shm_segsz, MADV_DONTFORK);
	window->at = (uint8_t *)window->map + packet->offset;
	return NULL;
}

static const char *allow_copies(struct shm_conn *conn, struct shm_window *window,
	const struct shm_grant_packet *packet)
{
	uint64_t end;

	if (!conn->cma)
		return "the kernel does not copy to its process";
	if (!packet->offset ||
		__builtin_add_overflow(packet->offset, packet->len - 1, &end) ||
		end > UINTPTR_MAX)
		return "the peer's answer makes no sense";
	window->remote = packet->offset;
	conn->copies_directly = true;
	return NULL;
}

static const char *open_window(struct shm_conn *conn, struct shm_window *window,
	const struct shm_grant_packet *packet, int fd)
{
	const uint64_t known = FI_REMOTE_READ | FI_REMOTE_WRITE;
	uint64_t end;

	if (packet->index >= SHM_GRANTS || !packet->serial || !packet->len ||
		packet->access & ~known || !(packet->access & known) ||
		__builtin_add_overflow(packet->base, packet->len - 1, &end))
		return "the peer's answer makes no sense";
	window->base = packet->base;
	window->len = packet->len;
	window->access = packet->access;
	window->index = packet->index;
	window->serial = packet->serial;
	window->fence = !wf_membarrier_join() || packet->fence;
	window->sysv = packet->how == SHM_GRANT_SYSV;
	if (packet->how == SHM_GRANT_COPY)
		return allow_copies(conn, window, packet);
	return window->sysv ? attach(conn, window, packet)
			    : map_file(window, packet, fd);
}

void shm_window_packet(
	struct shm_conn *conn, const struct shm_grant_packet *packet, int fd)
{
	struct shm_window *window;
	const char *why;

	if (packet->magic != SHM_GRANT_MAGIC || !conn->windows)
		return;
	window = shm_window_at(conn->windows, packet->key);
	/* Another region may use the window meanwhile. */
	if (window->key != packet->key || shm_window_is_open(window) ||
		window->count < ASK_AFTER)
		return;
	why = packet->how == SHM_GRANT_REFUSED ? "the peer says no"
					       : open_window(conn, window, packet, fd);
	shm_log(FI_LOG_INFO, FI_LOG_MR, "region 0x%llx of %s is accessed %s%s\n",
		(unsigned long long)packet->key, shm_conn_name(conn),
		why ? "by requests: " : "directly, as ", why ? why : what(window));
}
