/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/shm/conn/dir.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "providers/shm/log.h"
#include "sys/calls.h"
#include "sys/compiler.h"

enum { TRIES = 1000 };

static void dir_plain_path(const char *root, char path[SHM_DIR_LEN])
{
	(void)snprintf(
		path, SHM_DIR_LEN, "%s/weft-%lu", root, (unsigned long)geteuid());
}

/* Is @path a directory of this user with mode 700? Returns 0 or an errno. lstat,
 * because another user may change the target of a link. */
static int dir_check(const char *path)
{
	struct stat st;

	if (lstat(path, &st))
		return errno;
	return S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
			       (st.st_mode & 07777) == 0700
		       ? 0
		       : EACCES;
}

static bool dir_is_ours(const char *path)
{
	return !dir_check(path);
}

void shm_dirs_plain(const char *root, struct shm_dirs *ret)
{
	dir_plain_path(root, ret->path[0]);
	ret->count = dir_is_ours(ret->path[0]);
}

static uint64_t dir_mtime_ns(const struct stat *st)
{
	return (uint64_t)st->st_mtim.tv_sec * 1000000000u +
	       (uint64_t)st->st_mtim.tv_nsec;
}

uint64_t shm_dirs_changed_ns(const char *root)
{
	char path[SHM_DIR_LEN];
	struct stat all, plain;

	dir_plain_path(root, path);
	if (stat(root, &all))
		return UINT64_MAX;
	if (!lstat(path, &plain))
		return dir_is_ours(path)
			       ? WF_MAX(dir_mtime_ns(&all), dir_mtime_ns(&plain))
			       : UINT64_MAX;
	return errno == ENOENT ? dir_mtime_ns(&all) : UINT64_MAX;
}

/* Insert @path in the order of names, behind the first @first entries. If the table is
 * full, the last entry is dropped. */
static void dir_insert(struct shm_dirs *dirs, unsigned int first, const char *path)
{
	unsigned int at = dirs->count;

	while (at > first && strcmp(path, dirs->path[at - 1]) < 0)
		at--;
	if (at == SHM_DIRS_MAX)
		return;
	if (dirs->count < SHM_DIRS_MAX)
		dirs->count++;
	memmove(dirs->path[at + 1], dirs->path[at],
		(dirs->count - 1 - at) * sizeof(dirs->path[0]));
	(void)snprintf(dirs->path[at], sizeof(dirs->path[at]), "%s", path);
}

void shm_dirs_find(const char *root, struct shm_dirs *ret)
{
	char prefix[SHM_DIR_LEN], path[SHM_DIR_LEN];
	struct dirent *entry;
	unsigned int first;
	DIR *list = opendir(root);

	shm_dirs_plain(root, ret);
	first = ret->count;
	(void)snprintf(prefix, sizeof(prefix), "weft-%lu.", (unsigned long)geteuid());
	while (list && (entry = readdir(list))) {
		int n;

		if (strncmp(entry->d_name, prefix, strlen(prefix)) != 0)
			continue;
		n = snprintf(path, sizeof(path), "%s/%s", root, entry->d_name);
		if (n > 0 && (size_t)n < sizeof(path) && dir_is_ours(path))
			dir_insert(ret, first, path);
	}
	if (list)
		(void)closedir(list);
}

static int dir_refuse(const char *path, int err)
{
	shm_log(FI_LOG_WARN, FI_LOG_EP_CTRL,
		"refused: %s, the directory of our sockets: %s\n", path, strerror(err));
	return -err;
}

static void dir_tell_taken(const char *path)
{
	struct stat st;

	if (lstat(path, &st))
		return;
	FI_WARN_ONCE(&shm_fi, FI_LOG_EP_CTRL,
		"%s is not a directory of user %lu with mode 700, but of user %lu with "
		"mode %03o: the sockets are in another one, whose name has a number\n",
		path, (unsigned long)geteuid(), (unsigned long)st.st_uid,
		(unsigned int)st.st_mode & 07777);
}

/* Create a directory with mode 700, whatever the umask and inherited bits are. Another
 * process may remove it while it is empty, so ENOENT is no error. */
static int dir_make_one(const char *path)
{
	int err;

	if (mkdir(path, 0700))
		return errno;
	err = chmod(path, 0700) ? errno : dir_check(path);
	if (!err || err == ENOENT)
		return 0;
	(void)rmdir(path);
	return err;
}

static int dir_make_numbered(const char *root)
{
	char path[SHM_DIR_LEN];
	uint64_t number;
	int n, err;

	for (int i = 0; i < TRIES; i++) {
		if (wf_sys_getrandom(&number, sizeof(number), 0) < 0)
			return -errno;
		n = snprintf(path, sizeof(path), "%s/weft-%lu.%016" PRIx64, root,
			(unsigned long)geteuid(), number);
		if (n < 0 || (size_t)n >= sizeof(path))
			return -ENAMETOOLONG;
		err = dir_make_one(path);
		if (err != EEXIST)
			return err ? dir_refuse(path, err) : 0;
	}
	return -EEXIST;
}

/* Create the directory, unless another process has just done so. */
static int dir_make(const char *root)
{
	char path[SHM_DIR_LEN];

	int err;

	dir_plain_path(root, path);
	err = dir_make_one(path);
	if (!err || dir_is_ours(path))
		return 0;
	if (err != EEXIST)
		return dir_refuse(path, err);
	dir_tell_taken(path);
	return dir_make_numbered(root);
}

static int dir_lock_fd(int dir, int how)
{
	while (flock(dir, LOCK_EX | how))
		if (errno != EINTR)
			return -errno;
	return 0;
}

/* Not by closing alone: a child that another thread has forked meanwhile has the
 * descriptor, too. */
static void dir_unlock_fd(int dir)
{
	(void)flock(dir, LOCK_UN);
	(void)wf_sys_close(dir);
}

/* Lock one directory; @how: 0 or LOCK_NB. -ENOENT: it was removed, perhaps while this
 * process waited for its lock. */
static int dir_lock_one(const char *path, int how, int *ret_fd)
{
	int fd = wf_sys_open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC),
	    ret;
	struct stat st;

	if (fd < 0)
		return -errno;
	ret = dir_lock_fd(fd, how);
	if (!ret && (fstat(fd, &st) || !st.st_nlink))
		ret = -ENOENT;
	if (ret)
		(void)wf_sys_close(fd);
	else
		*ret_fd = fd;
	return ret;
}

void shm_dirs_unlock(struct shm_dirs_lock *lock)
{
	while (lock->dirs.count)
		dir_unlock_fd(lock->fd[--lock->dirs.count]);
}

/* Lock all, in the order of the list, so that two processes cannot wait for each
 * other. */
static int dir_lock_all(struct shm_dirs_lock *lock, int how)
{
	unsigned int count = lock->dirs.count;
	int ret = 0;

	lock->dirs.count = 0;
	while (!ret && lock->dirs.count < count) {
		ret = dir_lock_one(lock->dirs.path[lock->dirs.count], how,
			&lock->fd[lock->dirs.count]);
		lock->dirs.count += !ret;
	}
	if (ret)
		shm_dirs_unlock(lock);
	return ret;
}

/* The directories are listed again after one was created: of two processes that create
 * one each, the later one finds both and waits for the lock of the earlier one. */
int shm_dirs_lock(const char *root, struct shm_dirs_lock *ret)
{
	int err = -ENOENT;

	for (int i = 0; err == -ENOENT && i < TRIES; i++) {
		shm_dirs_find(root, &ret->dirs);
		if (!ret->dirs.count) {
			err = dir_make(root);
			if (err)
				return err;
			shm_dirs_find(root, &ret->dirs);
		}
		err = ret->dirs.count ? dir_lock_all(ret, 0) : -ENOENT;
	}
	return err;
}

int shm_dirs_try_lock(const char *root, struct shm_dirs_lock *ret)
{
	shm_dirs_find(root, &ret->dirs);
	return dir_lock_all(ret, LOCK_NB);
}

static bool dir_is_empty(const char *path)
{
	DIR *list = opendir(path);
	struct dirent *entry;
	bool empty = true;

	while (list && empty && (entry = readdir(list)))
		empty = !strcmp(entry->d_name, ".") || !strcmp(entry->d_name, "..");
	if (list)
		(void)closedir(list);
	return empty;
}

/* Remove the directory with its lock held: a process that waited for the lock finds
 * that the directory has no link left, and lists the directories once more. Of many
 * that end together only the last ones wait for the lock. */
void shm_dir_remove(const char *path)
{
	int fd = -1;

	if (!dir_is_empty(path) || dir_lock_one(path, 0, &fd))
		return;
	(void)rmdir(path);
	dir_unlock_fd(fd);
}

static int dir_access_to(const char *path, int mode)
{
	return faccessat(AT_FDCWD, path, mode, AT_EACCESS) ? -errno : 0;
}

int shm_dir_usable(const char *root)
{
	int err = dir_access_to(root, W_OK | X_OK);
	struct shm_dirs dirs;

	if (!err)
		return 0;
	shm_dirs_find(root, &dirs);
	return dirs.count && !dir_access_to(dirs.path[0], R_OK | W_OK | X_OK) ? 0 : err;
}
