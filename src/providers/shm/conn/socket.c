/* SPDX-License-Identifier: BSD-2-Clause */
#include "providers/shm/conn/socket.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "providers/shm/log.h"
#include "sys/calls.h"
#include "sys/fds.h"

/* Connected sockets, and the packets of the exchange. */

int shm_socket_own(int fd, int *ret_fd)
{
	int ret, on = 1;

	/* Without it no process is known, whose memory could be accessed. */
	(void)setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof(on));
	wf_fds_note(fd);
	ret = wf_fds_own(fd);
	if (ret)
		(void)wf_sys_close(fd);
	else
		*ret_fd = fd;
	return ret;
}

void shm_socket_close(int fd)
{
	wf_fds_close(fd);
}

void shm_socket_log_full(void)
{
	FI_WARN_SPARSE(&shm_fi, FI_LOG_EP_CTRL,
		"no file descriptor is left: connections are being refused\n");
}

static int socket_accept_one(int listener)
{
	return wf_sys_accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
}

int shm_socket_accept(int listener, int *spare, int *ret_fd)
{
	int fd = socket_accept_one(listener);

	if (fd < 0 && errno == EMFILE && wf_fds_more())
		fd = socket_accept_one(listener);
	if (fd >= 0)
		return shm_socket_own(fd, ret_fd);
	if (errno != EMFILE && errno != ENFILE)
		return -errno;
	shm_socket_log_full();
	return wf_fds_refuse(listener, spare) ? -EMFILE : -EAGAIN;
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

	return wf_sys_poll(&poll_fd, 1, 0) > 0;
}

/* Space for the sender's process and one descriptor. */
union control {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(sizeof(struct ucred)) + CMSG_SPACE(sizeof(int))];
};

int shm_socket_send(int fd, const void *packet, size_t len, int pass)
{
	struct iovec iov = { (void *)(uintptr_t)packet, len };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	union control control = { 0 };
	struct cmsghdr *cmsg;

	if (pass >= 0) {
		msg.msg_control = &control;
		msg.msg_controllen = CMSG_SPACE(sizeof(int));
		cmsg = CMSG_FIRSTHDR(&msg);
		cmsg->cmsg_level = SOL_SOCKET;
		cmsg->cmsg_type = SCM_RIGHTS;
		cmsg->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(cmsg), &pass, sizeof(int));
	}
	return wf_sys_sendmsg(fd, &msg, MSG_NOSIGNAL | MSG_DONTWAIT) < 0 ? -errno : 0;
}

int shm_hello_send(int fd, const struct shm_hello *hello, int pass)
{
	return shm_socket_send(fd, hello, sizeof(*hello), pass);
}

/* Take the descriptors of one control message: *ret_fd becomes the first of all
 * messages, the others are closed. Returns their number. */
static size_t socket_take_rights(const struct cmsghdr *c, int *ret_fd)
{
	size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
	int fd;

	for (size_t i = 0; i < count; i++) {
		memcpy(&fd, CMSG_DATA(c) + i * sizeof(fd), sizeof(fd));
		if (*ret_fd < 0)
			*ret_fd = fd;
		else
			(void)wf_sys_close(fd);
	}
	return count;
}

/* Take the descriptor that came with a packet, or -1. 0; -EPROTO: there were several;
 * -EMFILE: this process has no number left for it. The padding of the control buffer
 * has space for a second one; the kernel drops further ones. */
static int socket_take_passed(struct msghdr *msg, int *ret_fd)
{
	size_t count = 0;

	*ret_fd = -1;
	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c))
		if (c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS)
			count += socket_take_rights(c, ret_fd);
	if (!(msg->msg_flags & MSG_CTRUNC))
		return count <= 1 ? 0 : -EPROTO;
	return count ? -EPROTO : -EMFILE;
}

static bool socket_is_hello(const struct shm_hello *hello, ssize_t len)
{
	return len == sizeof(*hello) && hello->magic == SHM_HELLO_MAGIC &&
	       hello->version == SHM_HELLO_VERSION &&
	       memchr(hello->name, '\0', sizeof(hello->name)) && *hello->name;
}

/* The process that sent a packet; 0: it is not in this PID namespace, or belongs to
 * another user. */
static pid_t socket_sender_of(struct msghdr *msg)
{
	struct ucred cred;

	for (struct cmsghdr *c = CMSG_FIRSTHDR(msg); c; c = CMSG_NXTHDR(msg, c)) {
		if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_CREDENTIALS ||
			c->cmsg_len != CMSG_LEN(sizeof(cred)))
			continue;
		memcpy(&cred, CMSG_DATA(c), sizeof(cred));
		return cred.uid == geteuid() ? cred.pid : 0;
	}
	return 0;
}

static ssize_t socket_recv_packet(
	int fd, void *packet, size_t size, int *ret_pass, pid_t *ret_sender)
{
	struct iovec iov = { packet, size };
	union control control;
	struct msghdr msg = {
		.msg_iov = &iov,
		.msg_iovlen = 1,
		.msg_control = &control,
		.msg_controllen = sizeof(control),
	};
	ssize_t len = wf_sys_recvmsg(fd, &msg, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
	int err;

	*ret_pass = -1;
	if (len < 0)
		return -errno;
	err = socket_take_passed(&msg, ret_pass);
	*ret_sender = socket_sender_of(&msg);
	if (!err)
		return len;
	if (*ret_pass >= 0)
		(void)wf_sys_close(*ret_pass);
	*ret_pass = -1;
	return err;
}

ssize_t shm_socket_recv(int fd, void *packet, size_t size, int *ret_pass)
{
	pid_t sender;

	return socket_recv_packet(fd, packet, size, ret_pass, &sender);
}

int shm_hello_recv(int fd, struct shm_hello *hello, int *ret_pass, pid_t *ret_sender)
{
	ssize_t len =
		socket_recv_packet(fd, hello, sizeof(*hello), ret_pass, ret_sender);

	if (len < 0)
		return (int)len;
	if (socket_is_hello(hello, len))
		return 0;
	if (*ret_pass >= 0)
		(void)wf_sys_close(*ret_pass);
	*ret_pass = -1;
	return len ? -EPROTO : -ECONNRESET;
}
