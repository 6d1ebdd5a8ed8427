/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/shm/conn/listen.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "providers/shm/conn/dir.h"
#include "providers/shm/conn/socket.h"
#include "sys/calls.h"
#include "sys/fds.h"

/*
 * Names of sockets in the directories of this user. A socket is bound to a draft, a
 * name that no endpoint can have, and gets its own name when it listens: so a name
 * without a socket belongs to a process that was killed, and many processes may start
 * without waiting for each other. Names of killed processes are removed with the
 * directory locked: of two processes, one might remove what the other has just created
 * anew. A draft whose socket is just being created may be removed with them; its
 * process then waits for the lock.
 */

enum { BACKLOG = 4096, TRIES = 100 };

/* Drafts begin with it. No other name has three of them (name.c). */
static const char draft_prefix[] = "%%%";

static int listen_address_in(const char *dir, const char *name, struct sockaddr_un *ret)
{
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	return shm_name_path(dir, name, ret->sun_path, sizeof(ret->sun_path));
}

/* Get the address of the socket @file in @dir. False: the path is too long for a socket
 * of this provider. */
static bool listen_address_of_file(
	const char *dir, const char *file, struct sockaddr_un *ret)
{
	size_t dir_len = strlen(dir), len = strlen(file);

	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (dir_len + 1 + len >= sizeof(ret->sun_path))
		return false;
	memcpy(ret->sun_path, dir, dir_len);
	ret->sun_path[dir_len] = '/';
	memcpy(ret->sun_path + dir_len + 1, file, len + 1);
	return true;
}

/* Does no process listen at the address any more? Connecting with a socket of another
 * type fails with another error if a process listens, and that process does not
 * notice. */
static bool listen_is_leftover(int probe, const struct sockaddr_un *addr)
{
	return wf_sys_connect(probe, (const struct sockaddr *)addr, sizeof(*addr)) &&
	       errno == ECONNREFUSED;
}

/* Remove the names of killed processes. @dir is locked. */
static void listen_remove_leftovers(const char *dir)
{
	int probe = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	DIR *list = opendir(dir);
	struct sockaddr_un addr;
	struct dirent *entry;

	while (list && probe >= 0 && (entry = readdir(list)))
		if (entry->d_type == DT_SOCK &&
			listen_address_of_file(dir, entry->d_name, &addr) &&
			listen_is_leftover(probe, &addr))
			(void)unlink(addr.sun_path);
	if (list)
		(void)closedir(list);
	if (probe >= 0)
		(void)wf_sys_close(probe);
}

/* Is @file the name of an endpoint, or of a port, of @node? A name that is too long for
 * a file is stored as a hash: only the whole name is found. */
static bool listen_goes_by(const char *file, const char *node)
{
	size_t len = strlen(node);

	return !strncmp(file, node, len) && (!file[len] || file[len] == ':');
}

static bool listen_knows_in(const char *dir, const char *node, int probe)
{
	struct sockaddr_un addr, wanted;
	bool known = false;
	struct dirent *entry;
	DIR *list = NULL;

	if (!listen_address_in(dir, node, &wanted))
		list = opendir(dir);
	while (list && !known && (entry = readdir(list)))
		known = listen_goes_by(
				entry->d_name, strrchr(wanted.sun_path, '/') + 1) &&
			listen_address_of_file(dir, entry->d_name, &addr) &&
			!listen_is_leftover(probe, &addr);
	if (list)
		(void)closedir(list);
	return known;
}

bool shm_socket_knows(const char *node)
{
	int probe = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct shm_dirs dirs;
	bool known = false;

	if (probe < 0)
		return false;
	shm_dirs_find(SHM_DIR_ROOT, &dirs);
	for (unsigned int i = 0; i < dirs.count && !known; i++)
		known = listen_knows_in(dirs.path[i], node, probe);
	(void)wf_sys_close(probe);
	return known;
}

/* Has the process ended? True for zombies as well. */
static bool listen_is_gone(pid_t pid)
{
	struct pollfd poll_fd = { .events = POLLIN };
	bool gone;

	poll_fd.fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (poll_fd.fd < 0)
		return errno == ESRCH;
	gone = wf_sys_poll(&poll_fd, 1, 0) > 0;
	(void)wf_sys_close(poll_fd.fd);
	return gone;
}

/* Has the listening process ended, while a child that it did not fork through libc
 * (sys/fds.h) has the socket open and will never accept? */
static bool listen_is_inherited(const struct sockaddr_un *addr)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	bool ret;
	pid_t pid = 0;

	if (fd < 0)
		return false;
	ret = !wf_sys_connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) &&
	      !shm_socket_peer(fd, &pid) && pid > 0 && listen_is_gone(pid);
	(void)wf_sys_close(fd);
	return ret;
}

/* Is the name in use? The directories are locked, and leftovers were removed. */
static bool listen_is_taken(const struct sockaddr_un *addr)
{
	if (access(addr->sun_path, F_OK))
		return false;
	if (!listen_is_inherited(addr))
		return true;
	(void)unlink(addr->sun_path);
	return false;
}

/* Find the address of @name in the first directory; -EADDRINUSE: the name exists in one
 * of the directories, which are locked. Removes other directories that are empty. */
static int listen_find_free(
	const struct shm_dirs *dirs, const char *name, struct sockaddr_un *ret)
{
	int err = 0;

	for (unsigned int i = dirs->count; i-- > 0 && !err;) {
		listen_remove_leftovers(dirs->path[i]);
		err = listen_address_in(dirs->path[i], name, ret);
		if (!err && listen_is_taken(ret))
			err = -EADDRINUSE;
		if (i)
			(void)rmdir(dirs->path[i]);
	}
	return err;
}

static int listen_new_socket(int *ret_fd)
{
	int fd = wf_socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	return fd < 0 ? -errno : shm_socket_own(fd, ret_fd);
}

static int listen_draft_in(const char *dir, struct sockaddr_un *ret)
{
	uint64_t number;

	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (wf_sys_getrandom(&number, sizeof(number), 0) < 0)
		return -errno;
	(void)snprintf(ret->sun_path, sizeof(ret->sun_path), "%s/%s%016" PRIx64, dir,
		draft_prefix, number);
	return 0;
}

/* Listen with @fd at a draft. */
static int listen_at_draft(int fd, const char *dir, struct sockaddr_un *ret)
{
	int err = listen_draft_in(dir, ret);

	if (!err && bind(fd, (const struct sockaddr *)ret, sizeof(*ret)))
		err = -errno;
	if (!err && listen(fd, BACKLOG)) {
		err = -errno;
		(void)unlink(ret->sun_path);
	}
	return err;
}

/* Listen at @addr in @dir. -EADDRINUSE: the name exists; -ENOENT: the directory was
 * removed. */
static int shm_listen_at(const char *dir, const struct sockaddr_un *addr, int *ret_fd)
{
	struct sockaddr_un draft;
	int fd = -1, ret = listen_new_socket(&fd);

	if (ret)
		return ret;
	ret = listen_at_draft(fd, dir, &draft);
	if (!ret) {
		if (link(draft.sun_path, addr->sun_path))
			ret = errno == EEXIST ? -EADDRINUSE : -errno;
		(void)unlink(draft.sun_path);
	}
	if (ret)
		shm_socket_close(fd);
	else
		*ret_fd = fd;
	return ret;
}

/* The usual case: the plain directory exists, and no file has the name. */
static int listen_unlocked(const char *name, int *ret_fd)
{
	struct shm_dirs plain, all;
	struct sockaddr_un addr;
	int ret;

	shm_dirs_plain(SHM_DIR_ROOT, &plain);
	shm_dirs_find(SHM_DIR_ROOT, &all);
	if (plain.count != 1 || all.count != 1)
		return -ENOENT;
	ret = listen_address_in(plain.path[0], name, &addr);
	return ret ? ret : shm_listen_at(plain.path[0], &addr, ret_fd);
}

static int listen_locked(const char *name, int *ret_fd)
{
	struct shm_dirs_lock lock;
	struct sockaddr_un addr;
	int ret = shm_dirs_lock(SHM_DIR_ROOT, &lock);

	if (ret)
		return ret;
	ret = listen_find_free(&lock.dirs, name, &addr);
	if (!ret)
		ret = shm_listen_at(lock.dirs.path[0], &addr, ret_fd);
	shm_dirs_unlock(&lock);
	return ret;
}

/* If another process does so, this one need not. */
static void listen_tidy(void)
{
	struct shm_dirs_lock lock;

	if (shm_dirs_try_lock(SHM_DIR_ROOT, &lock))
		return;
	for (unsigned int i = 0; i < lock.dirs.count; i++)
		listen_remove_leftovers(lock.dirs.path[i]);
	shm_dirs_unlock(&lock);
}

int shm_socket_listen(const char *name, int *ret_fd)
{
	int ret = listen_unlocked(name, ret_fd);

	if (!ret)
		listen_tidy();
	/* The last name that goes takes the directory along, locked or not. */
	for (int i = 0; ret && ret != -ENAMETOOLONG && i < TRIES; i++) {
		ret = listen_locked(name, ret_fd);
		if (ret != -ENOENT)
			break;
	}
	return ret;
}

void shm_socket_unlisten(int fd, const char *name)
{
	struct sockaddr_un draft = { .sun_family = AF_UNIX }, addr;
	socklen_t len = sizeof(draft);
	char *slash;

	/* The name belongs to this process as long as the socket listens. */
	if (!getsockname(fd, (struct sockaddr *)&draft, &len) &&
		(slash = strrchr(draft.sun_path, '/'))) {
		*slash = '\0';
		if (!listen_address_in(draft.sun_path, name, &addr))
			(void)unlink(addr.sun_path);
		shm_dir_remove(draft.sun_path);
	}
	shm_socket_close(fd);
}

static int listen_connect_in(const struct shm_dirs *dirs, const char *name, int fd)
{
	struct sockaddr_un addr;
	int ret = -ENOENT;

	for (unsigned int i = 0; i < dirs->count; i++) {
		ret = listen_address_in(dirs->path[i], name, &addr);
		if (!ret && wf_sys_connect(
				    fd, (const struct sockaddr *)&addr, sizeof(addr)))
			ret = -errno;
		if (ret != -ENOENT && ret != -ECONNREFUSED)
			break;
	}
	return ret;
}

int shm_socket_connect(const char *name, int *ret_fd)
{
	struct shm_dirs plain, all;
	int fd = -1, ret = listen_new_socket(&fd);

	if (ret)
		return ret;
	shm_dirs_plain(SHM_DIR_ROOT, &plain);
	ret = listen_connect_in(&plain, name, fd);
	if (ret == -ENOENT || ret == -ECONNREFUSED) {
		shm_dirs_find(SHM_DIR_ROOT, &all);
		if (all.count > plain.count)
			ret = listen_connect_in(&all, name, fd);
	}
	if (ret)
		shm_socket_close(fd);
	else
		*ret_fd = fd;
	return ret;
}
