/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef WF_SYS_SHM_H
#define WF_SYS_SHM_H

#include <stdbool.h>
#include <stddef.h>

/*
 * A named shared memory object between the processes of one user, with a lifetime
 * that survives kill -9.
 *
 * Whoever has the object open holds a lock on its first byte, shared once it is
 * ready and exclusive while its creator fills it; another byte is the lock of
 * writers. These are open file description locks: the kernel drops them when their
 * process dies, whatever it was doing, and nothing in the memory itself has to be
 * believed. (A robust pthread mutex would not do: the C library follows pointers
 * that are stored in the mutex, and every process that maps it may write those.)
 *
 *   - The creator unlinks the name when it closes; others keep their mapping.
 *   - After a creator died, the name stays as long as anyone has the object open,
 *     newcomers attach to it, and the last one to close unlinks it.
 *   - A name that nobody has open is a leftover: it is replaced by who may create,
 *     and does not exist for who may not.
 *
 * Objects of other users, or that other users could write, are refused. Functions
 * answer 0 or a negative errno.
 */
struct wf_shm {
	char *name;
	int fd;
	bool readonly;
	bool created; /* by this open: fill it, then wf_shm_ready */
	void *mem;
	size_t len;
};

enum wf_shm_mode {
	WF_SHM_READ,   /* must exist, mapped read-only */
	WF_SHM_CREATE, /* made unless it exists, mapped read-write */
};

/* @name begins with a slash and has no other. */
int wf_shm_open(struct wf_shm *shm, const char *name, enum wf_shm_mode mode);

/* For the creator: set the size. Pages that were not committed cost nothing. */
int wf_shm_resize(struct wf_shm *shm, size_t len);

/* Allocate a range, so that touching it cannot fail later for want of memory. */
int wf_shm_commit(struct wf_shm *shm, size_t offset, size_t len);

/* Map all of it, at @hint when that is not NULL and the range is free. */
int wf_shm_map(struct wf_shm *shm, void *hint);

/* The creator's content is complete: let others in. */
int wf_shm_ready(struct wf_shm *shm);

/* One writer at a time among all opens of the object. The threads that share one
 * open need a lock of their own around this. */
int wf_shm_lock(struct wf_shm *shm);
void wf_shm_unlock(struct wf_shm *shm);

void wf_shm_close(struct wf_shm *shm);

#endif
