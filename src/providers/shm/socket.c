/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/shm/socket.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "sys/compiler.h"

/*
 * Names of sockets in a directory that only we may use. A process that was killed
 * leaves its name; whoever opens an endpoint next removes it, with the directory
 * locked, so that nobody takes a name that is being made for a leftover.
 */

enum { BACKLOG = 4096, TRIES = 1000 };

static int address_of(const char *name, struct sockaddr_un *ret)
{
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	return shm_name_path(name, ret->sun_path, sizeof(ret->sun_path));
}

/* A socket of another kind is refused in a different way than none, and the owner of
 * this one hears nothing of it. */
static bool is_leftover(int probe, const struct sockaddr_un *addr)
{
	return connect(probe, (const struct sockaddr *)addr, sizeof(*addr)) &&
	       errno == ECONNREFUSED;
}

/* @dir is locked. */
static void remove_leftovers(int dir)
{
	int probe = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	int copy = openat(dir, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *list = copy < 0 ? NULL : fdopendir(copy);
	struct sockaddr_un addr;
	struct dirent *entry;

	while (list && probe >= 0 && (entry = readdir(list))) {
		if (entry->d_type != DT_SOCK ||
			shm_name_at(
				entry->d_name, addr.sun_path, sizeof(addr.sun_path)))
			continue;
		addr.sun_family = AF_UNIX;
		if (is_leftover(probe, &addr))
			(void)unlinkat(dir, entry->d_name, 0);
	}
	if (list)
		(void)closedir(list);
	else if (copy >= 0)
		(void)close(copy);
	if (probe >= 0)
		(void)close(probe);
}

/* Of a name that is too long for a file only the whole is known. */
static bool goes_by(const char *file, const char *node)
{
	size_t len = strlen(node);

	return !strncmp(file, node, len) && (!file[len] || file[len] == ':');
}

bool shm_socket_knows(const char *node)
{
	int probe = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un addr, wanted;
	bool known = false;
	struct dirent *entry;
	DIR *list = NULL;

	if (probe >= 0 && !address_of(node, &wanted) &&
		!shm_name_at("", addr.sun_path, sizeof(addr.sun_path)))
		list = opendir(addr.sun_path);
	addr.sun_family = AF_UNIX;
	while (list && !known && (entry = readdir(list)))
		known = goes_by(entry->d_name, strrchr(wanted.sun_path, '/') + 1) &&
			!shm_name_at(
				entry->d_name, addr.sun_path, sizeof(addr.sun_path)) &&
			!is_leftover(probe, &addr);
	if (list)
		(void)closedir(list);
	if (probe >= 0)
		(void)close(probe);
	return known;
}

static int lock_fd(int dir)
{
	while (flock(dir, LOCK_EX))
		if (errno != EINTR)
			return -errno;
	return 0;
}

/* Whoever is last in it removes the directory, with the lock held: who waited for that
 * has a lock on nothing, and makes another directory. */
static int lock_dir(int *ret_dir)
{
	struct stat st;
	int dir, ret = -ENOENT;

	for (int i = 0; ret == -ENOENT && i < TRIES; i++) {
		dir = shm_name_dir();
		if (dir < 0) {
			ret = dir;
			continue;
		}
		ret = lock_fd(dir);
		if (!ret && (fstat(dir, &st) || !st.st_nlink))
			ret = -ENOENT;
		if (ret)
			(void)close(dir);
		else
			*ret_dir = dir;
	}
	return ret;
}

/* Zombies are gone, too. */
static bool is_gone(pid_t pid)
{
	struct pollfd poll_fd = { .events = POLLIN };
	bool gone;

	poll_fd.fd = (int)syscall(SYS_pidfd_open, pid, 0);
	if (poll_fd.fd < 0)
		return errno == ESRCH;
	gone = poll(&poll_fd, 1, 0) > 0;
	(void)close(poll_fd.fd);
	return gone;
}

/* Whoever listens there is gone, but a child of his has the socket open and will never
 * accept. */
static bool is_inherited(const struct sockaddr_un *addr)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	bool ret;
	pid_t pid = 0;

	if (fd < 0)
		return false;
	ret = !connect(fd, (const struct sockaddr *)addr, sizeof(*addr)) &&
	      !shm_socket_peer(fd, &pid) && pid > 0 && is_gone(pid);
	(void)close(fd);
	return ret;
}

/* The directory is locked. */
static int bind_name(int fd, const struct sockaddr_un *addr)
{
	int ret = bind(fd, (const struct sockaddr *)addr, sizeof(*addr));

	if (!ret || errno != EADDRINUSE)
		return ret;
	if (!is_inherited(addr)) {
		errno = EADDRINUSE;
		return -1;
	}
	(void)unlink(addr->sun_path);
	return bind(fd, (const struct sockaddr *)addr, sizeof(*addr));
}

int shm_socket_listen(const char *name, int *ret_fd)
{
	struct sockaddr_un addr;
	int fd, dir, ret = address_of(name, &addr);

	if (!ret)
		ret = lock_dir(&dir);
	if (ret)
		return ret;
	remove_leftovers(dir);
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0 || bind_name(fd, &addr) || listen(fd, BACKLOG))
		ret = -errno;
	(void)close(dir);
	if (ret && fd >= 0)
		(void)close(fd);
	if (!ret)
		*ret_fd = fd;
	return ret;
}

void shm_socket_unlisten(const char *name, int fd)
{
	struct sockaddr_un addr;
	int dir;

	/* While we listen the name is ours. */
	if (!address_of(name, &addr)) {
		(void)unlink(addr.sun_path);
		*strrchr(addr.sun_path, '/') = '\0';
		if (!lock_dir(&dir)) {
			(void)rmdir(addr.sun_path);
			(void)close(dir);
		}
	}
	(void)close(fd);
}

int shm_socket_connect(const char *name, int *ret_fd)
{
	struct sockaddr_un addr;
	int fd, ret = address_of(name, &addr);

	if (ret)
		return ret;
	fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -errno;
	if (connect(fd, (const struct sockaddr *)&addr, sizeof(addr))) {
		ret = -errno;
		(void)close(fd);
		return ret;
	}
	*ret_fd = fd;
	return 0;
}

int shm_socket_accept(int listener, int *ret_fd)
{
	int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);

	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

int shm_socket_peer(int fd, pid_t *ret_pid)
{
	struct ucred cred;
	socklen_t len = sizeof(cred);

	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &len))
		return -errno;
	if (cred.uid != geteuid())
		return -EACCES;
	*ret_pid = cred.pid;
	return 0;
}

bool shm_socket_ended(int fd)
{
	struct pollfd poll_fd = { .fd = fd, .events = POLLRDHUP };

	return poll(&poll_fd, 1, 0) > 0;
}

union control {
	struct cmsghdr align;
	char room[CMSG_SPACE(sizeof(int))];
};

int shm_hello_send(int fd, const struct shm_hello *hello, int pass)
{
	struct iovec iov = { (void *)(uintptr_t)hello, sizeof(*hello) };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	union control control = { 0 };
	struct cmsghdr *cmsg;

	if (pass >= 0) {
		msg.msg_control = &control;
		msg.msg_controllen = sizeof(control);
		cmsg = CMSG_FIRSTHDR(&msg);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(cmsg), &pass, sizeof(int));
	}
	return sendmsg(fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

/* Descriptors of one control message; @ret_fd keeps the first of all, further ones are
 * closed. How many there were. */
static size_t take_rights(const struct cmsghdr *c, int *ret_fd)
{
	size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	int fd;

	for (size_t i = 0; i < count; i++) {
		memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
		if (*ret_fd < 0)
			*ret_fd = fd;
		else
			(void)close(fd);
	}
	return count;
}

/* The descriptor that came along, or -1. False: there were several. The padding of the
 * control buffer has room for a second one, and the kernel drops what does not fit. */
static bool take_passed(struct msghdr *msg, int *ret_fd)
{
	size_t count = 0;

	*ret_fd = -1;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
			count += take_rights(c, ret_fd);
	return count <= 1 && !(msg->msg_flags & MSG_CTRUNC);
}

static bool is_hello(const struct shm_hello *hello, ssize_t len)
{
	return len == sizeof(*hello) && hello->magic == SHM_HELLO_MAGIC &&
	       hello->version == SHM_HELLO_VERSION &&
	       memchr(hello->name, '\0', sizeof(hello->name)) && *hello->name;
}

int shm_hello_recv(int fd, struct shm_hello *hello, int *ret_pass)
{
	struct iovec iov = { hello, sizeof(*hello) };
	union control control;
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t len = recvmsg(fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

	*ret_pass = -1;
	if (len < 0)
		return -errno;
	if (take_passed(&msg, ret_pass) && is_hello(hello, len))
		return 0;
	if (*ret_pass >= 0)
		(void)close(*ret_pass);
	*ret_pass = -1;
	return len ? -EPROTO : -ECONNRESET;
}
