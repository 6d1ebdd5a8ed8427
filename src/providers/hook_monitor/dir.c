/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/hook_monitor/dir.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "providers/hook_monitor/param.h"
#include "sys/calls.h"
#include "sys/compiler.h"

enum {
	BASE_MODE = 01777, /* for all users, as /tmp */
	OPEN_DIR = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC,
	OPEN_FILE = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
	NAMES_MAX = 64, /* names of dead processes with this id that are passed over */
	OTHERS_WRITE = S_IWGRP | S_IWOTH,
};

/* Descriptor of the directory @name in @parent, which is made with @mode if it is
 * missing; or a negative errno. The mode is that of the parameter, whatever the
 * umask. */
static int dir_open(int parent, const char *name, mode_t mode)
{
	bool made = !mkdirat(parent, name, S_IRWXU);
	int err = made ? 0 : -errno, fd;

	if (err && err != -EEXIST)
		return err;
	fd = wf_sys_openat(parent, name, OPEN_DIR, 0);
	if (fd < 0)
		return -errno;
	if (made && fchmod(fd, mode)) {
		err = -errno;
		(void)wf_sys_close(fd);
		return err;
	}
	return fd;
}

/* Other users must not be able to replace files in the directory. */
static int dir_check_owner(int fd, mode_t mode)
{
	struct stat st;

	if (fstat(fd, &st))
		return -errno;
	if (st.st_uid != geteuid() || (st.st_mode & ~mode & OTHERS_WRITE))
		return -EPERM;
	return 0;
}

static int dir_open_own(int parent, const char *name)
{
	mode_t mode = (mode_t)mon_params.dir_mode;
	int fd = dir_open(parent, name, mode);
	int err = fd < 0 ? fd : dir_check_owner(fd, mode);

	if (err && fd >= 0)
		(void)wf_sys_close(fd);
	return err ? err : fd;
}

/* A component of a path: without a slash, and neither hidden nor empty. */
static void dir_make_component(char *text)
{
	if (!*text || *text == '.')
		*text = '_';
	for (; *text; text++)
		if (*text == '/' || iscntrl((unsigned char)*text))
			*text = '_';
}

static int dir_open_host(int user)
{
	char host[256] = "";

	(void)gethostname(host, sizeof(host) - 1);
	dir_make_component(host);
	return dir_open_own(user, host);
}

static int dir_open_user(int base)
{
	char user[16];

	(void)snprintf(user, sizeof(user), "%u", (unsigned int)geteuid());
	return dir_open_own(base, user);
}

static int dir_open_all(const char **ret_what)
{
	CLEANUP(wf_close) int base = -1, user = -1;
	int dir;

	*ret_what = "base directory";
	base = dir_open(AT_FDCWD, mon_params.basepath, BASE_MODE);
	if (base < 0)
		return base;
	*ret_what = "directory of the user, which must be safe from others";
	user = dir_open_user(base);
	if (user < 0)
		return user;
	*ret_what = "directory of the host, which must be safe from others";
	dir = dir_open_host(user);
	return dir;
}

static void dir_write_name(char *name, size_t size, const char *prov_name)
{
	static atomic_uint number;
	const char *job = getenv("SLURM_JOB_ID");

	(void)snprintf(name, size, "%d_%d_%u_%.64s_%.64s", (int)getppid(),
		(int)getpid(),
		atomic_fetch_add_explicit(&number, 1, memory_order_relaxed),
		job && *job ? job : "0", prov_name);
	dir_make_component(name);
}

static int dir_make_file(struct mon_path *path, const char *prov_name)
{
	int fd = -1;

	for (int i = 0; i < NAMES_MAX && fd < 0; i++) {
		dir_write_name(path->name, sizeof(path->name), prov_name);
		fd = wf_sys_openat(path->dir, path->name, OPEN_FILE, S_IRUSR | S_IWUSR);
		if (fd < 0 && errno != EEXIST)
			return -errno;
	}
	return fd < 0 ? -EEXIST : fd;
}

int mon_path_new(struct mon_path *ret, const char *prov_name, const char **ret_what)
{
	int err, fd;

	ret->dir = dir_open_all(ret_what);
	if (ret->dir < 0)
		return ret->dir;
	*ret_what = "file";
	fd = dir_make_file(ret, prov_name);
	err = fd < 0 ? fd : 0;
	if (!err && fchmod(fd, (mode_t)mon_params.file_mode)) {
		err = -errno;
		mon_path_remove(ret);
		(void)wf_sys_close(fd);
	}
	if (err)
		mon_path_done(ret);
	return err ? err : fd;
}

void mon_path_done(struct mon_path *path)
{
	(void)wf_sys_close(path->dir);
}

void mon_path_remove(const struct mon_path *path)
{
	(void)unlinkat(path->dir, path->name, 0);
}
