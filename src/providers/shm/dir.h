/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef SHM_DIR_H
#define SHM_DIR_H

/*
 * The directory that the sockets of this user are in: ROOT/weft-UID, with mode 700.
 * Other users may write to ROOT, too, and make that name first. Then the directory is
 * called ROOT/weft-UID.NUMBER, with a random number, and is found by its owner and
 * mode: no other user can make one that belongs to this user. All that processes have
 * to share is ROOT; their environments and their other namespaces may differ.
 *
 * Processes that start at the same time may make one each, and a directory of the plain
 * name may be made when the stranger's is gone. So there may be several: names are
 * looked up in all of them, and one that is free has to be free in all. Those that are
 * not the first in the order are removed when they are empty.
 */
#define SHM_DIR_ROOT "/dev/shm"

enum { SHM_DIRS_MAX = 8, SHM_DIR_LEN = 64 };

struct shm_dirs {
	unsigned int count;
	char path[SHM_DIRS_MAX][SHM_DIR_LEN];
};

/* The directory of the plain name alone, if it is ours, which is the usual case. */
void shm_dirs_plain(const char *root, struct shm_dirs *ret);
/* All that are ours, in the order in which every process takes them. */
void shm_dirs_find(const char *root, struct shm_dirs *ret);

/* All, one of which is made if there is none, and locked (flock) by this open until
 * they are unlocked: no other process adds or removes a name meanwhile. A negative
 * errno, logged:
 * @root is full, read-only or not there. */
struct shm_dirs_lock {
	struct shm_dirs dirs;
	int fd[SHM_DIRS_MAX];
};
int shm_dirs_lock(const char *root, struct shm_dirs_lock *ret);
void shm_dirs_unlock(struct shm_dirs_lock *lock);

/* Remove the directory if it is empty. */
void shm_dir_remove(const char *path);

/* May there be a directory? 0 or a negative errno; makes nothing. */
int shm_dir_usable(const char *root);

#endif
