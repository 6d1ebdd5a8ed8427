/* SPDX-License-Identifier: BSD-2-Clause */
#include "confine.h"

#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <ftw.h>
#include <sys/mount.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>

#include "fault.h"

static bool write_file(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return ok;
}

static bool user_namespace(void)
{
	unsigned int uid = geteuid(), gid = getegid();
	char map[64];

	if (unshare(CLONE_NEWUSER))
		return false;
	snprintf(map, sizeof(map), "%u %u 1", uid, uid);
	CHECK(write_file("/proc/self/uid_map", map));
	CHECK(write_file("/proc/self/setgroups", "deny"));
	snprintf(map, sizeof(map), "%u %u 1", gid, gid);
	CHECK(write_file("/proc/self/gid_map", map));
	return true;
}

void own_user_namespace(void)
{
	if (!user_namespace())
		skip("no user namespaces");
}

/* In a user namespace of our own, if it is not permitted otherwise. */
static bool leave_namespace(int what)
{
	return !unshare(what) || (user_namespace() && !unshare(what));
}

static bool mount_shm(const char *options)
{
	return leave_namespace(CLONE_NEWNS) &&
	       !mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) &&
	       !mount("none", "/dev/shm", "tmpfs", 0, options) &&
	       !mount("none", "/tmp", "tmpfs", 0, NULL);
}

void own_shm(const char *options)
{
	if (!mount_shm(options))
		skip("no mounts");
}

bool own_shm_if_permitted(void)
{
	if (mount_shm(NULL))
		return true;
	printf("# no mounts: what is left behind is not looked at\n");
	return false;
}

static bool left;

static int tell(const char *path, const struct stat *st, int type, struct FTW *at)
{
	(void)st;
	(void)type;
	if (at->level) {
		printf("# left behind: %s\n", path);
		left = true;
	}
	return 0;
}

bool anything_left(void)
{
	left = false;
	CHECK(!nftw("/dev/shm", tell, 16, FTW_PHYS));
	CHECK(!nftw("/tmp", tell, 16, FTW_PHYS));
	return left;
}

/* From now on the system calls @one and @other fail with EPERM. */
static void refuse_calls(unsigned int one, unsigned int other)
{
	struct sock_filter filter[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, one, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, other, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { sizeof(filter) / sizeof(filter[0]), filter };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0))
		skip("no seccomp filters");
}

void refuse_cma(void)
{
	refuse_calls(SYS_process_vm_readv, SYS_process_vm_writev);
	CHECK(!cma_works(getpid()));
}

void refuse_memory_files(void)
{
	refuse_calls(SYS_memfd_create, SYS_memfd_create);
	CHECK(memfd_create("refused", 0) < 0);
}

bool cma_works(int pid)
{
	/* At the same address in every child of ours. */
	static char byte;
	char copy;
	struct iovec mine = { &copy, 1 }, theirs = { &byte, 1 };

	return process_vm_readv(pid, &mine, 1, &theirs, 1, 0) == 1;
}

void need_permitted(void (*confine)(void))
{
	pid_t pid = fork();
	int status;

	CHECK(pid >= 0);
	if (!pid) {
		confine();
		_exit(0);
	}
	CHECK(waitpid(pid, &status, 0) == pid);
	if (!WIFEXITED(status) || WEXITSTATUS(status))
		skip("not permitted here");
}

void become_nobody(void)
{
	enum { NOBODY = 65534 };

	if (geteuid() != 0 || setgroups(0, NULL))
		skip("needs root to become another user");
	CHECK(!setresgid(NOBODY, NOBODY, NOBODY));
	CHECK(!setresuid(NOBODY, NOBODY, NOBODY));
}

void own_process_namespace(void)
{
	if (!leave_namespace(CLONE_NEWPID))
		skip("no process namespaces");
}

_Noreturn void in_pid_namespace(void (*run)(void *), void *arg)
{
	own_process_namespace();
	join(child(run, arg, 60));
	/* No leak checker: its thread cannot be in the other namespace. */
	_exit(0);
}

int child_of(int pid)
{
	char path[64];
	FILE *children;
	int found = 0;

	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", pid, pid);
	children = fopen(path, "r");
	CHECK(children && fscanf(children, "%d", &found) == 1);
	fclose(children);
	return found;
}
