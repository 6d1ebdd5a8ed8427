/* SPDX-License-Identifier: BSD-2-Clause */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/file_size.h"
#include "sys/shm_file.h"
#include "sys/calls.h"

/* The bytes of the file that are locked; their content is independent of the locks. */
enum { BYTE_ATTACHED, BYTE_WRITER };

/* Give up on a name that other processes replaced so many times. */
enum { MAX_TRIES = 100 };

static int shm_file_lock_byte(int fd, int byte, short type, bool wait)
{
	struct flock lock = {
		.l_type = type,
		.l_whence = SEEK_SET,
		.l_start = byte,
		.l_len = 1,
	};
	int ret;

	do {
		ret = fcntl(fd, wait ? F_OFD_SETLKW : F_OFD_SETLK, &lock);
	} while (ret < 0 && errno == EINTR);
	return ret < 0 ? -errno : 0;
}

static bool shm_file_attached_by_others(int fd)
{
	struct flock lock = {
		.l_type = F_WRLCK,
		.l_whence = SEEK_SET,
		.l_start = BYTE_ATTACHED,
		.l_len = 1,
	};

	return fcntl(fd, F_OFD_GETLK, &lock) < 0 || lock.l_type != F_UNLCK;
}

/* 0: the object still has its name, and only this user may access it; -ESTALE: the name
 * is gone. */
static int shm_file_check_owner(int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_uid != geteuid() || (st.st_mode & 077))
		return -EACCES;
	return st.st_nlink ? 0 : -ESTALE;
}

/* Create the object. -EEXIST: the name exists; -EAGAIN: another process removed it
 * before it was locked. */
static int shm_file_create_object(struct wf_shm *shm)
{
	int fd, ret;

	fd = shm_open(shm->name, O_RDWR | O_CREAT | O_EXCL, 0600);
	if (fd < 0)
		return -errno;
	/* Before this lock is held another process may take the object for a
	 * leftover. */
	ret = shm_file_lock_byte(fd, BYTE_ATTACHED, F_WRLCK, false);
	if (!ret)
		ret = shm_file_check_owner(fd);
	if (ret) {
		(void)wf_sys_close(fd);
		return ret == -EACCES ? ret : -EAGAIN;
	}
	shm->fd = fd;
	shm->created = true;
	return 0;
}

/* Attach to an object. -ENOENT: no process has one of this name open. */
static int shm_file_attach_object(struct wf_shm *shm)
{
	int fd, ret;

	/* Readers, too, are in the roster. */
	fd = shm_open(shm->name, O_RDWR, 0);
	if (fd < 0)
		return -errno;
	ret = shm_file_check_owner(fd);
	if (ret)
		goto err_close;
	if (shm->readonly) {
		if (!shm_file_attached_by_others(fd)) {
			ret = -ENOENT;
			goto err_close;
		}
	} else if (!shm_file_lock_byte(fd, BYTE_ATTACHED, F_WRLCK, false)) {
		/* A leftover, or unlinked meanwhile. The lock is exclusive, so no other
		 * process removes the object during the check. */
		if (!shm_file_check_owner(fd))
			(void)shm_unlink(shm->name);
		ret = -ENOENT;
		goto err_close;
	}
	/* Waits for a creator that is still filling it. */
	ret = shm_file_lock_byte(fd, BYTE_ATTACHED, F_RDLCK, true);
	if (!ret)
		ret = shm_file_check_owner(fd);
	if (ret)
		goto err_close;
	shm->fd = fd;
	return 0;

err_close:
	(void)wf_sys_close(fd);
	return ret == -ESTALE ? -ENOENT : ret;
}

int wf_shm_open(struct wf_shm *shm, const char *name, enum wf_shm_mode mode)
{
	int ret = -EAGAIN;

	*shm = (struct wf_shm){
		.fd = -1, .mem_fd = -1, .slot = -1, .readonly = mode == WF_SHM_READ
	};
	shm->name = strdup(name);
	if (!shm->name)
		return -ENOMEM;
	for (int i = 0; i < MAX_TRIES; i++) {
		ret = shm_file_attach_object(shm);
		if (ret != -ENOENT || mode == WF_SHM_READ)
			break;
		ret = shm_file_create_object(shm);
		if (ret != -EEXIST && ret != -EAGAIN)
			break;
	}
	if (!ret)
		return 0;
	free(shm->name);
	return ret;
}

int wf_shm_ready(struct wf_shm *shm)
{
	return shm_file_lock_byte(shm->fd, BYTE_ATTACHED, F_RDLCK, false);
}

int wf_shm_lock(struct wf_shm *shm)
{
	return shm_file_lock_byte(shm->fd, BYTE_WRITER, F_WRLCK, true);
}

void wf_shm_unlock(struct wf_shm *shm)
{
	(void)shm_file_lock_byte(shm->fd, BYTE_WRITER, F_UNLCK, false);
}

void wf_shm_close(struct wf_shm *shm)
{
	bool last = !shm->readonly &&
		    !shm_file_lock_byte(shm->fd, BYTE_ATTACHED, F_WRLCK, false);

	/* While this process holds its lock no other takes the object for a leftover,
	 * so the name, if it exists, still belongs to this object. */
	if ((shm->created || last) && !shm_file_check_owner(shm->fd))
		(void)shm_unlink(shm->name);
	wf_shm_forget(shm);
	(void)wf_sys_close(shm->fd);
	free(shm->name);
	*shm = (struct wf_shm){ .fd = -1, .mem_fd = -1, .slot = -1 };
}
