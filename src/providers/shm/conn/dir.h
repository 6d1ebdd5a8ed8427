/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SHM_CONN_DIR_H
#define WF_SHM_CONN_DIR_H

#include <stdint.h>

/*
 * The directory with the sockets of this user: ROOT/weft-UID, with mode 700. Other
 * users may write to ROOT as well, and create that name first. Then the directory is
 * called ROOT/weft-UID.NUMBER, with a random number, and is found by its owner and
 * mode: no other user can create a directory that belongs to this user. Processes have
 * to share only ROOT; their environments and their other namespaces may differ.
 *
 * Processes that start at the same time may create a directory each, and a directory
 * with the plain name may be created after another user's was removed. So there may be
 * several: an endpoint's name is looked up in all of them, and a new name has to be
 * free in all. Directories other than the first in the order are removed when they are
 * empty.
 */
#define SHM_DIR_ROOT "/dev/shm"

enum { SHM_DIRS_MAX = 8, SHM_DIR_LEN = 64 };

struct shm_dirs {
	unsigned int count;
	char path[SHM_DIRS_MAX][SHM_DIR_LEN];
};

/* The usual case: only the directory with the plain name, if it belongs to this
 * user. */
void shm_dirs_plain(const char *root, struct shm_dirs *ret);
/* All directories of this user, in an order that is the same in every process. */
void shm_dirs_find(const char *root, struct shm_dirs *ret);

/* Time (CLOCK_REALTIME, nanoseconds) of the last change of the names in @root and in
 * the directory with the plain name: an endpoint's name that was not there before that
 * is not there now. It may be wrong by the time that a file system needs to see the
 * clock move, some milliseconds. UINT64_MAX: not known. */
uint64_t shm_dirs_changed_ns(const char *root);

/* Find all directories, create one if there is none, and lock them (flock) with the
 * descriptors of this open until shm_dirs_unlock: no other process removes a name that
 * is not its own meanwhile. Returns 0 or a negative errno, which was logged: @root is
 * full, read-only or does not exist. */
struct shm_dirs_lock {
	struct shm_dirs dirs;
	int fd[SHM_DIRS_MAX];
};
int shm_dirs_lock(const char *root, struct shm_dirs_lock *ret);
/* The same for directories that exist; -EWOULDBLOCK: another process has a lock. */
int shm_dirs_try_lock(const char *root, struct shm_dirs_lock *ret);
void shm_dirs_unlock(struct shm_dirs_lock *lock);

/* Remove the directory if it is empty. */
void shm_dir_remove(const char *path);

/* Could shm_dirs_lock find or create a directory? 0 or a negative errno; creates
 * nothing. */
int shm_dir_usable(const char *root);

#endif
