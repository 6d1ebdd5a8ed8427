/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_SHM_FILE_H
#define WF_SYS_SHM_FILE_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A named shared memory object between the processes of one user, with a lifetime that
 * survives kill -9.
 *
 * The memory is a file without a name, whose size is sealed: no process can truncate
 * it, after which accesses would raise SIGBUS. The name is that of a small file, the
 * roster, which lists the processes that have the memory open: a new one opens it by
 * /proc of any of them. So they have to be in one process namespace. The roster is read
 * and written, never mapped, and nothing in it is trusted.
 *
 * Each process that has the object open holds a lock on its first byte: shared once the
 * object is ready, and exclusive while its creator fills it. Another byte is the
 * writers' lock. These are open file description locks: the kernel releases them when
 * the process dies, at any point, and no content of the memory has to be trusted. (A
 * robust pthread mutex would not do: the C library follows pointers that are stored in
 * the mutex, and every process that maps it may write those.)
 *
 *   - The creator unlinks the name when it closes the object; other processes keep
 *     their mapping.
 *   - After a creator died, the name stays while any process has the object open, new
 *     processes attach to it, and the last one to close it unlinks the name.
 *   - A name that no process has open is a leftover: WF_SHM_CREATE replaces it, and
 *     for WF_SHM_READ it does not exist.
 *
 * Objects of other users, or that other users could write, are refused. Functions
 * return 0 or a negative errno.
 */
struct wf_shm {
	char *name;
	int fd;     /* the roster */
	int mem_fd; /* the memory; -1: not open */
	int slot;   /* position in the roster; -1: none */
	bool readonly;
	bool created; /* this open created the object: fill it, then wf_shm_ready */
	void *mem;    /* the mapping of @len bytes; NULL: not mapped */
	size_t len;
};

enum wf_shm_mode {
	WF_SHM_READ,   /* must exist, mapped read-only */
	WF_SHM_CREATE, /* created unless it exists, mapped read-write */
};

/* @name begins with a slash and has no other. */
int wf_shm_open(struct wf_shm *shm, const char *name, enum wf_shm_mode mode);

/* For the creator: set the size. Pages that were not committed use no memory. */
int wf_shm_resize(struct wf_shm *shm, size_t len);

/* Allocate a range, so that touching it cannot fail later for want of memory. */
int wf_shm_commit(struct wf_shm *shm, size_t offset, size_t len);

/* Map the whole object; at @hint if that is not NULL and the range is free. -ESTALE: no
 * process that has the memory open is accessible. */
int wf_shm_map(struct wf_shm *shm, void *hint);

/* For the creator: the content is complete, and other processes may attach. */
int wf_shm_ready(struct wf_shm *shm);

/* Take the writers' lock, which excludes all other opens of the object. Threads that
 * share one open need a lock of their own around this. */
int wf_shm_lock(struct wf_shm *shm);
void wf_shm_unlock(struct wf_shm *shm);

void wf_shm_close(struct wf_shm *shm);

/* shm_memory.c, for wf_shm_close: leave the roster and free the memory. */
void wf_shm_forget(struct wf_shm *shm);

#endif
